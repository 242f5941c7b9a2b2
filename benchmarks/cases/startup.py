"""Start-up: the whole process of `postroom send`, `postroom inbox` and the no-mail hook check."""

import shutil
import sys

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.launch import Launch, seconds
from benchmarks.result import Column, Result, Row, Values, spread

MILLISECONDS = 1e3
SHELL, PYTHON, ISOLATED = "sh", "python", "isolated"
BARE = "import sqlite3, json"

COLUMNS = (
    Column("p50", "p50 ms", 2),
    Column("p95", "p95 ms", 2),
    Column("p99", "p99 ms", 2),
    Column("ratio", "× its reference", 2),
)
NOTES = (
    f"Wall time from spawn to exit, interleaved. The stub is held against `sh -c :`, the hook against "
    f"`python -I -S`, the commands against `python`, with `-c '{BARE}'`, of the same environment; ratio of "
    "medians.",
)


def run(bench: Bench) -> Result:
    rounds = bench.pick(20, 150)
    launches = _references() + _own(bench)
    for launch in launches:
        seconds(launch)
    spent: dict[str, list[float]] = {launch.name: [] for launch in launches}
    for number in range(rounds):
        if number % 10 == 0:
            bench.say(f"start-up: round {number + 1} of {rounds}")
        for launch in bench.shuffled(launches):
            spent[launch.name].append(seconds(launch))
    rows = [Row(launch.name, launch.label, _values(launch, spent)) for launch in launches]
    return Result("startup", "Starting a process", COLUMNS, rows, notes=NOTES)


def _references() -> list[Launch]:
    environment = product.environment("")
    return [
        Launch(SHELL, "`sh -c :`", [_sh(), "-c", ":"], environment),
        Launch(PYTHON, f"`python -c '{BARE}'`", [sys.executable, "-c", BARE], environment),
        Launch(ISOLATED, "the same with `-I -S`", [sys.executable, "-I", "-S", "-c", BARE], environment),
    ]


def _own(bench: Bench) -> list[Launch]:
    if not product.command():
        return []
    home = str(bench.folder / "startup")
    product.create_room(home, ("planner", "builder", "reviewer"))
    environment = product.environment(home)
    postroom = product.command()
    send = [postroom, "send", "builder", "The parser is ready for review.", "--as", "planner"]
    inbox = [postroom, "inbox", "--as", "reviewer"]
    return [
        Launch(
            "stub",
            "no-mail hook check",
            [_sh(), "-c", product.quiet_stub(home, "reviewer")],
            environment,
            SHELL,
        ),
        _hook(bench),
        Launch("send", "`postroom send`", send, environment, PYTHON),
        Launch("inbox", "`postroom inbox`", inbox, environment, PYTHON),
    ]


def _hook(bench: Bench) -> Launch:
    """A hook that shows one message; the ends of turns before it, which prove the last one, are not timed.

    In a room of its own: where this process hosts a session, all that it starts is that agent.
    """
    home = str(bench.folder / "hooks")
    product.create_room(home, ("builder", "hooked"))
    told = str(bench.folder / "hook.json")
    with open(told, "w", encoding="utf-8") as file:
        file.write('{"session_id": "bench", "cwd": "/"}')
    mine = {"POSTROOM_AGENT": "hooked", "POSTROOM_PROJECT": product.PROJECT}
    environment = {**product.environment(home), **mine}
    shown, settled = (product.hook(home, "claude", event, "bench") for event in ("UserPromptSubmit", "Stop"))
    settle = Launch("settle", "settle", settled, environment, stdin=told)

    def before() -> None:
        seconds(settle)
        product.send(home, "builder", "hooked", "The parser is ready for review.")

    return Launch("hook", "hook that shows mail", shown, environment, ISOLATED, told, before)


def _values(launch: Launch, spent: dict[str, list[float]]) -> Values:
    values = spread(spent[launch.name], MILLISECONDS)
    if not launch.reference:
        return values
    return {**values, "ratio": values["p50"] / spread(spent[launch.reference], MILLISECONDS)["p50"]}


def _sh() -> str:
    return shutil.which("sh") or "/bin/sh"
