"""The WebSocket relay: fan-out to 1,000 clients, 20 agents × 100 messages, and one message at a time."""

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any, NamedTuple

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, Values, spread

CLIENTS = 1000
AGENTS, MESSAGES = 20, 100
LIMIT = 60.0
MILLISECONDS = 1e-6
BODY = "x" * 256

TITLE = "The WebSocket relay"
COLUMNS = (
    Column("p50", "p50 ms", 3),
    Column("p95", "p95 ms", 3),
    Column("ratio", "× echo and commit", 2),
    Column("seconds", "seconds", 2),
    Column("lost", "lost"),
)
NOTE = (
    "Clients of `websockets` in one process, the daemon in another. Fan-out: one message to @all, until each "
    f"of {CLIENTS} clients has it. There and back: {AGENTS} agents send {MESSAGES} each to a neighbour, who "
    "answers. One at a time: from `send` by one client until another has it, against a bare `websockets` "
    "server that commits the text to SQLite, as durable as the room, and echoes it."
)


class Daemon(NamedTuple):
    url: str
    tokens: dict[str, str]

    def connect(self, name: str) -> Any:
        import websockets

        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        return websockets.connect(
            f"{self.url}?agent={name}", additional_headers=headers, compression=None, open_timeout=LIMIT
        )


def run(bench: Bench) -> Result:
    try:
        import websockets  # noqa: F401 - whether it is there
    except ModuleNotFoundError:
        return Result("relay", TITLE, COLUMNS, (), notes=("The Python package websockets is not installed.",))
    if not proc.supported():
        return Result("relay", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    rows, rounds = [*_crowd(bench)], dict[str, list[Values]]()
    for name, label, taken in _latency(bench):
        rows.append(Row(name, label, spread([one for some in taken for one in some], MILLISECONDS)))
        rounds[name] = [spread(some, MILLISECONDS) for some in taken]
    return Result("relay", TITLE, COLUMNS, rows, rounds, (NOTE,)).with_ratios("echo", "p50")


def _crowd(bench: Bench) -> list[Row]:
    clients = bench.pick(100, CLIENTS)
    bench.say(f"relay: {clients} clients")
    names = [f"c{number}" for number in range(clients)]
    with ExitStack() as stack:
        daemon = _served(stack, bench, "crowd", names)
        arrived = asyncio.run(_fan_out(daemon, names, bench.pick(3, 10)))
    bench.say(f"relay: {AGENTS} agents × {MESSAGES}")
    with ExitStack() as stack:
        daemon = _served(stack, bench, "agents", names[:AGENTS])
        seconds, lost = asyncio.run(_round_trips(daemon, names[:AGENTS]))
    return [
        Row("fanout", f"one message to {clients} clients", spread(arrived, MILLISECONDS)),
        Row("agents", f"{AGENTS} agents × {MESSAGES} there and back", {"seconds": seconds, "lost": lost}),
    ]


async def _fan_out(daemon: Daemon, names: list[str], rounds: int) -> list[int]:
    arrived: list[int] = []
    async with _linked(daemon, names) as links, daemon.connect("writer") as writer:
        hearing = [asyncio.create_task(_hear(link, rounds + 1)) for link in links]
        for number in range(rounds + 1):
            began = time.monotonic_ns()
            await _ask(writer, "send", to="@all", body=BODY, confirm=True)
            taken = [(await asyncio.wait_for(_nth(task, number), LIMIT)) - began for task in hearing]
            arrived += taken if number else []  # the first one warms up
        await asyncio.gather(*hearing)
    return arrived


_heard: dict[Any, list[int]] = {}


async def _hear(link: Any, count: int) -> None:
    """Note when each message came, and say that it was seen."""
    heard = _heard.setdefault(asyncio.current_task(), [])
    while len(heard) < count:
        frame = json.loads(await asyncio.wait_for(link.recv(), LIMIT))
        if frame["type"] == "mail":
            heard.append(time.monotonic_ns())
            await link.send(json.dumps({"op": "seen", "cursor": frame["cursor"]}))


async def _nth(task: Any, number: int) -> int:
    while len(_heard.get(task, ())) <= number:
        if task.done() and task.exception():
            raise task.exception()
        await asyncio.sleep(0.005)
    return _heard[task][number]


async def _round_trips(daemon: Daemon, names: list[str]) -> tuple[float, int]:
    """Everybody writes to a neighbour, and is answered; how long, and how many answers never came."""
    async with _linked(daemon, names) as links:
        began = time.monotonic()
        answers = await asyncio.gather(
            *(_converse(link, names[(n + 1) % len(names)]) for n, link in enumerate(links))
        )
        return time.monotonic() - began, len(names) * MESSAGES - sum(answers)


async def _converse(link: Any, other: str) -> int:
    """How many of its messages were answered; it also answers what it is asked."""
    for number in range(MESSAGES):
        await link.send(json.dumps({"op": "send", "to": other, "body": f"{number} {BODY}"}))
    answered, asked = set[str](), set[str]()
    while len(answered) < MESSAGES or len(asked) < MESSAGES:
        try:
            frame = json.loads(await asyncio.wait_for(link.recv(), LIMIT))
        except TimeoutError:
            break
        if frame.get("type") != "mail":
            continue
        mail = frame["mail"]
        if mail["reply_to"]:
            answered.add(mail["reply_to"])
            await link.send(json.dumps({"op": "seen", "cursor": frame["cursor"]}))
        else:
            asked.add(mail["id"])
            await link.send(json.dumps({"op": "reply", "ref": mail["id"], "body": "yes"}))
    return len(answered)


def _latency(bench: Bench) -> list[tuple[str, str, list[list[int]]]]:
    count, rounds = bench.pick(50, 200), bench.pick(3, 10)
    with ExitStack() as stack:
        daemon = _served(stack, bench, "latency", ["reader"])
        path = str(bench.folder / "relay-echo.db")
        echo = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.echo", path], stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(echo.kill)
        assert echo.stdout is not None
        url = f"ws://127.0.0.1:{int(echo.stdout.readline())}"
        bench.say(f"relay: one at a time, {rounds} rounds")
        echoed, relayed = asyncio.run(_one_at_a_time(daemon, url, count, rounds))
    return [
        ("echo", "bare echo and one commit", echoed),
        ("relay", "send → another client has it", relayed),
    ]


async def _one_at_a_time(
    daemon: Daemon, url: str, count: int, rounds: int
) -> tuple[list[list[int]], list[list[int]]]:
    import websockets

    echoed, relayed = list[list[int]](), list[list[int]]()
    async with (
        websockets.connect(url, compression=None) as bare,
        daemon.connect("writer") as writer,
        daemon.connect("reader") as reader,
    ):
        for number in range(rounds + 1):
            some = (
                [await _echo(bare) for _ in range(count)],
                [await _relay(writer, reader) for _ in range(count)],
            )
            if number:  # the first one warms up
                echoed.append(some[0])
                relayed.append(some[1])
    return echoed, relayed


async def _echo(link: Any) -> int:
    began = time.monotonic_ns()
    await link.send(json.dumps({"op": "send", "to": "reader", "body": BODY}))
    json.loads(await link.recv())
    return time.monotonic_ns() - began


async def _relay(writer: Any, reader: Any) -> int:
    began = time.monotonic_ns()
    await writer.send(json.dumps({"op": "send", "to": "reader", "body": BODY}))
    while (frame := json.loads(await asyncio.wait_for(reader.recv(), LIMIT)))["type"] != "mail":
        pass
    spent = time.monotonic_ns() - began
    await _ask(reader, "seen", cursor=frame["cursor"])
    return spent


async def _ask(link: Any, op: str, **args: Any) -> Any:
    await link.send(json.dumps({"id": op, "op": op, **args}))
    while True:
        frame = json.loads(await asyncio.wait_for(link.recv(), LIMIT))
        if frame.get("id") == op:
            if "ok" not in frame:
                raise RuntimeError(frame)
            return frame["ok"]


@asynccontextmanager
async def _linked(daemon: Daemon, names: list[str]) -> AsyncIterator[list[Any]]:
    async with AsyncExitStack() as stack:
        links: list[Any] = []
        for first in range(0, len(names), 50):
            some = [stack.enter_async_context(daemon.connect(name)) for name in names[first : first + 50]]
            links += await asyncio.gather(*some)
        yield links


def _served(stack: ExitStack, bench: Bench, place: str, names: list[str]) -> Daemon:
    """A room whose daemon serves it at a port."""
    import postroom
    from postroom.room.token import issue

    home = str(bench.folder / f"relay-{place}")
    product.create_room(home, ("writer", *names))
    with postroom.open(home, project=product.PROJECT) as room:
        local: Any = room
        tokens = {name: issue(local, local.known(name), ()) for name in ("writer", *names)}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    limits = {"POSTROOM_HTTP_PORT": str(port), "POSTROOM_HTTP_RATE": "0", "POSTROOM_SENDER_RATE": "0"}
    environment = {**product.environment(home), **limits}
    daemon = subprocess.Popen([sys.executable, "-m", "postroom.daemon", home], env=environment)
    stack.callback(_end, daemon)
    _await(f"http://127.0.0.1:{port}/healthz")
    return Daemon(f"ws://127.0.0.1:{port}/ws/projects/{product.PROJECT}", tokens)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(LIMIT)


def _await(url: str) -> None:
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            with urllib.request.urlopen(url, timeout=LIMIT):
                return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
