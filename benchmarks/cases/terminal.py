"""Mail typed into an idle agent's pane: how long until it is seen; and what 50 panes cost at rest."""

import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, Values, spread

PANES = 50
SETTLE = 5.0
LIMIT = 60.0
MEGABYTE = 1_000_000
NAME, WRITER = "typed", "writer"

TITLE = f"Terminals: delivery to an idle pane, and {PANES} panes at rest"
COLUMNS = (
    Column("p50", "p50, ms"),
    Column("p95", "p95, ms"),
    Column("cpu", "CPU, % of a core", 3),
    Column("resident", "resident MB", 1),
)


def run(bench: Bench) -> Result:
    reason = _missing()
    if reason:
        bench.skipped["terminal"] = reason
        return Result("terminal", TITLE, COLUMNS, (), notes=(f"Not measured: {reason}.",))
    rounds, seconds = bench.pick(10, 50), bench.pick(10, 60)
    submitted, seen = _deliver(bench, rounds)
    bench.say(f"terminal: watching {PANES} panes for {seconds} s")
    rows = [
        Row("submitted", "send → submitted by the agent", submitted),
        Row("seen", "send → seen, with evidence", seen),
        Row("rest", f"the daemon of {PANES} panes without mail", _rest(bench, seconds)),
    ]
    return Result("terminal", TITLE, COLUMNS, rows, notes=(_note(rounds, seconds),))


def _missing() -> str:
    import shutil

    if not proc.supported():
        return "this needs Linux's `/proc`"
    return "" if shutil.which("tmux") else "tmux is not installed"


def _deliver(bench: Bench, rounds: int) -> tuple[Values, Values]:
    """One message at a time, each to an agent that waits with an empty composer."""
    import postroom
    from tests.tui.stage import Stage

    home = str(bench.folder / "terminal-home")
    product.create_room(home, (NAME, WRITER))
    submitted, seen = list[float](), list[float]()
    with ExitStack() as stack:
        stage = stack.enter_context(Stage())
        room = stack.enter_context(postroom.open(home, project=product.PROJECT))
        pane = stage.agent()
        _adopt(room, NAME, pane.pid, pane.target)
        stack.callback(_end, _daemon(home))
        for number in range(rounds + 1):
            began = time.monotonic()
            sent = room.send(NAME, f"message {number} for an agent in a pane", sender=WRITER)
            room.until(sent.id, "seen", timeout=LIMIT)
            seen.append(time.monotonic() - began)
            submitted.append(pane.log("submitted")[-1]["at"] - began)
    return spread(submitted[1:], 1e3), spread(seen[1:], 1e3)


def _rest(bench: Bench, seconds: float) -> Values:
    import postroom
    from tests.tui.stage import Stage

    home = str(bench.folder / "rest-home")
    names = [f"agent{number}" for number in range(PANES)]
    product.create_room(home, names)
    with ExitStack() as stack:
        stage = stack.enter_context(Stage())
        room = stack.enter_context(postroom.open(home, project=product.PROJECT))
        for name in names:
            pane = stage.run("cat")
            pid = int(stage.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
            _adopt(room, name, pid, f"{pane}@{stage.server}")
        daemon = _daemon(home)
        stack.callback(_end, daemon)
        time.sleep(SETTLE)
        before = proc.cpu_ns(daemon.pid)
        time.sleep(seconds)
        spent = proc.cpu_ns(daemon.pid) - before
        return {"cpu": spent * 100 / 1e9 / seconds, "resident": proc.resident_bytes(daemon.pid) / MEGABYTE}


def _adopt(room: Any, name: str, pid: int, pane: str) -> None:
    from postroom import host
    from postroom.bridges import manifest

    agent = room.who(name)
    manifest.put(room.home, manifest.Manifest(agent.id, agent.address, "tmux", host.identity_of(pid), pane))


def _daemon(home: str) -> "subprocess.Popen[bytes]":
    """One that knows how the fake agent's terminal looks, and answers."""
    from postroom.daemon import control

    process = subprocess.Popen([sys.executable, "-m", "tests.tui.daemon", home])
    deadline = time.monotonic() + LIMIT
    while not control.ping(home):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the daemon did not start; its errors are above")
        time.sleep(0.05)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(LIMIT)


def _note(rounds: int, seconds: float) -> str:
    return (
        f"{rounds} messages, one after the other, to a fake agent in a real tmux that has the timing of real "
        "ones; of each the time until the agent has taken it, and until the store says `seen`. At rest: one "
        f"daemon, {PANES} panes, for {seconds} s after {SETTLE:.0f} s; tmux itself is not counted."
    )
