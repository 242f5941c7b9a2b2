"""Start-up: the whole process of `postroom send`, `postroom inbox`, and of an installed hook after a tool.

Each is measured right beside its own reference, which has the same environment, first one and then the other.
"""

import statistics
import sys
from collections.abc import Mapping

from benchmarks import product
from benchmarks.agent import KINDS, Agent, Kind
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
    "Wall time from spawn to exit. A hook is the command that `postroom setup` has installed, run by `sh -c` "
    "with what was recorded of the real agent on its standard input, and a transcript; the one with mail "
    "settles the message before and shows the next. No mail is held against `sh -c :`, mail against `python "
    f"-I -S`, the commands against `python`, with `-c '{BARE}'`. Each runs beside its reference in the same "
    "environment, by turns before and after it; the ratio is the median of the pairs' ratios.",
)


def run(bench: Bench) -> Result:
    rounds = bench.pick(20, 150)
    references, agents = _references(), _agents(bench)
    own = _own(bench, agents)
    pairs = [(launch, _beside(launch, references)) for launch in own]
    spent: dict[str, list[float]] = {launch.name: [] for launch in own}
    beside: dict[str, list[float]] = {launch.name: [] for launch in own}
    for number in range(rounds + 1):
        if number % 10 == 0:
            bench.say(f"start-up: round {number} of {rounds}")
        for launch, reference in bench.shuffled(pairs):
            if launch.before is not None:
                launch.before()
            turns = (launch, reference) if number % 2 else (reference, launch)
            times = {each.name: seconds(each) for each in turns}
            if number:  # the first warms up
                spent[launch.name].append(times[launch.name])
                beside[launch.name].append(times[reference.name])
    for agent in agents.values():
        agent.check()
    rows = [Row(one.name, one.label, _common(one.name, own, beside)) for one in references.values()]
    rows += [Row(one.name, one.label, _values(one, spent[one.name], beside[one.name])) for one in own]
    return Result("startup", "Starting a process", COLUMNS, rows, notes=NOTES)


def _references() -> dict[str, Launch]:
    environment = product.environment("")
    found = (
        Launch(SHELL, "`sh -c :`", [product.shell(), "-c", ":"], environment),
        Launch(PYTHON, f"`python -c '{BARE}'`", [sys.executable, "-c", BARE], environment),
        Launch(ISOLATED, "the same with `-I -S`", [sys.executable, "-I", "-S", "-c", BARE], environment),
    )
    return {launch.name: launch for launch in found}


def _beside(launch: Launch, references: Mapping[str, Launch]) -> Launch:
    """Its reference, with all that is not the program the same."""
    stdout = f"{launch.stdout}.reference" if launch.is_kept else launch.stdout
    return references[launch.reference]._replace(
        environment=launch.environment, stdin=launch.stdin, stdout=stdout
    )


def _agents(bench: Bench) -> dict[tuple[Kind, bool], Agent]:
    """For each runtime one that gets no mail, and one that does."""
    return {
        (kind, mail): Agent(str(bench.folder / f"{kind.runtime}-{'mail' if mail else 'quiet'}"), kind)
        for kind in KINDS
        for mail in (False, True)
    }


def _own(bench: Bench, agents: Mapping[tuple[Kind, bool], Agent]) -> list[Launch]:
    home = str(bench.folder / "startup")
    product.create_room(home, ("planner", "builder", "reviewer"))
    environment = product.environment(home)
    postroom = product.command()
    send = [postroom, "send", "builder", "The parser is ready for review.", "--as", "planner"]
    inbox = [postroom, "inbox", "--as", "reviewer"]
    return [
        *(_hook(kind, agent, mail) for (kind, mail), agent in agents.items()),
        Launch("send", "`postroom send`", send, environment, PYTHON),
        Launch("inbox", "`postroom inbox`", inbox, environment, PYTHON),
    ]


def _hook(kind: Kind, agent: Agent, mail: bool) -> Launch:
    what, reference = ("mail", ISOLATED) if mail else ("no mail", SHELL)
    return agent.hook()._replace(
        name=f"{kind.runtime}-{'mail' if mail else 'quiet'}",
        label=f"{kind.runtime} `{kind.event}`, {what}",
        reference=reference,
        before=agent.send if mail else agent.expect_quiet,
    )


def _common(reference: str, own: list[Launch], beside: Mapping[str, list[float]]) -> Values:
    """Of a reference, beside whomever it ran."""
    times = [time for launch in own if launch.reference == reference for time in beside[launch.name]]
    return spread(times, MILLISECONDS)


def _values(launch: Launch, spent: list[float], beside: list[float]) -> Values:
    values = spread(spent, MILLISECONDS)
    ratio = statistics.median(mine / its for mine, its in zip(spent, beside, strict=True))
    if ratio < 1:  # each does all that its reference does, and more
        raise RuntimeError(
            f"{launch.label} was faster than what it contains: the pairs were not treated alike"
        )
    return {**values, "ratio": ratio}
