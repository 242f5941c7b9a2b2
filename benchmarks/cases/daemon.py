"""The daemon of a room with 100 agents, at rest: its CPU and its memory, before and after somebody came."""

import http.client
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, Values

AGENTS, LETTERS, BOXES = 100, 10, 20
SETTLE = 3.0
LIMIT = 60.0
MEGABYTE = 1_000_000

TITLE = f"The daemon at rest, {AGENTS} agents known"
COLUMNS = (
    Column("cpu", "CPU, % of a core", 3),
    Column("wakes", "wake-ups/s", 1),
    Column("resident", "resident MB", 1),
)


def run(bench: Bench) -> Result:
    if not proc.supported():
        return Result("daemon", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    seconds = bench.pick(10, 60)
    home, tree = str(bench.folder / "daemon-home"), bench.folder / "daemon-tree"
    tree.mkdir()
    names = [f"agent{number}" for number in range(AGENTS)]
    _fill(home, names)
    rows: list[Row] = []
    with ExitStack() as stack:
        port = _free()
        daemon = _daemon(home, port)
        stack.callback(_end, daemon)
        bench.say(f"daemon: watching it for {seconds} s, three times")
        rows.append(Row("unserved", "nobody has come for the page", _rest(daemon.pid, seconds)))
        _come(port)
        rows.append(Row("known", "its server is loaded", _rest(daemon.pid, seconds)))
        _serve(home, str(tree), names[:BOXES])
        label = f"its server is loaded, and it serves {BOXES} file mailboxes"
        rows.append(Row("boxes", label, _rest(daemon.pid, seconds)))
    note = (
        f"A room with {AGENTS} agents, {LETTERS} messages waiting for each. CPU over {seconds} s, after "
        f"{SETTLE:.0f} s of settling, from `/proc/PID/task/*/schedstat`; then its resident memory."
    )
    return Result("daemon", TITLE, COLUMNS, rows, notes=(note,))


def _fill(home: str, names: list[str]) -> None:
    import postroom

    product.create_room(home, names)
    with postroom.open(home, project=product.PROJECT) as room:
        for number, name in enumerate(names):
            for _ in range(LETTERS):
                room.send(name, "x" * 1024, sender=names[number - 1])


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def _daemon(home: str, port: int) -> "subprocess.Popen[bytes]":
    from postroom.daemon import control

    env = {**product.environment(home), "POSTROOM_HTTP_PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-m", "postroom.daemon", home], env=env)
    _await(lambda: control.ping(home))
    return process


def _come(port: int) -> None:
    """As whoever looks whether it is well; it loads all that the page needs."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    for path in ("/healthz", "/", "/metrics"):
        link.request("GET", path)
        link.getresponse().read()
    link.close()


def _serve(home: str, tree: str, names: list[str]) -> None:
    import postroom
    from postroom.bridges.files import tree as trees
    from postroom.daemon import control

    with postroom.open(home, project=product.PROJECT) as room:
        for name in names:
            trees.add(room, tree, name, room.scope)
    control.ask(home, "reload")


def _rest(pid: int, seconds: float) -> Values:
    time.sleep(SETTLE)
    cpu, switches = proc.cpu_ns(pid), proc.switches(pid)
    time.sleep(seconds)
    return {
        "cpu": (proc.cpu_ns(pid) - cpu) * 100 / 1e9 / seconds,
        "wakes": (proc.switches(pid) - switches) / seconds,
        "resident": proc.resident_bytes(pid) / MEGABYTE,
    }


def _await(condition: Any) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("it never became so")
        time.sleep(0.02)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(LIMIT)
