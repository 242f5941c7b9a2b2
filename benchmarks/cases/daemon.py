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
PERSON = "human:bench"
PAGE = ("/healthz", "/")
ACTS = ("/api/v1/agents", "/api/v1/messages?limit=50", "/api/v1/inbox", "/api/v1/metrics", "/metrics")

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
        _come(home, port)
        rows.append(Row("known", "its server is loaded", _rest(daemon.pid, seconds)))
        _serve(home, str(tree), names[:BOXES])
        label = f"its server is loaded, and it serves {BOXES} file mailboxes"
        rows.append(Row("boxes", label, _rest(daemon.pid, seconds)))
    note = (
        f"A room with {AGENTS} agents, {LETTERS} messages waiting for each. CPU over {seconds} s, after "
        f"{SETTLE:.0f} s of settling, from `/proc/PID/task/*/schedstat`; then its resident memory. "
        "Its server is loaded when the page, lists of agents and messages, an inbox, the metrics, an event "
        "stream and a WebSocket were each asked for once, with a token."
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


def _come(home: str, port: int) -> None:
    """As a browser and programs do, by each door once, and they go again; what that loads stays loaded."""
    import websockets.sync.client as websockets

    token = _token(home)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    for path in PAGE:
        _answered(link, path).read()
    for path in ACTS:
        _answered(link, path, token).read()
    with _answered(link, "/api/v1/stream", token) as stream:
        _expect(stream.readline().startswith(b"id: "), "the stream says nothing")
    link.close()
    url = f"ws://127.0.0.1:{port}/ws/projects/{product.PROJECT}"
    headers = {"Authorization": f"Bearer {token}"}
    with websockets.connect(url, additional_headers=headers, open_timeout=LIMIT) as relay:
        _expect('"hello"' in str(relay.recv(timeout=LIMIT)), "the relay says nothing")


def _token(home: str) -> str:
    """A person's, who may see all of the room."""
    import postroom
    from postroom.room.token import issue

    with postroom.open(home, project=product.PROJECT) as room:
        room.join(PERSON)
        return issue(room, room.known(PERSON), ())


def _answered(link: http.client.HTTPConnection, path: str, token: str = "") -> http.client.HTTPResponse:
    link.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = link.getresponse()
    _expect(answer.status == 200, f"{path} is answered with {answer.status}")
    return answer


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise RuntimeError(otherwise)


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
