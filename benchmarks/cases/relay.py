"""The WebSocket relay: fan-out to 1,000 clients, 20 agents × 100 messages, and one message at a time."""

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.ear import Crowd, Ear
from benchmarks.result import Column, Result, Row, Values, spread

CLIENTS = 1000
AGENTS, MESSAGES = 20, 100
LIMIT = 60.0
MILLISECONDS = 1e-6
DURABILITIES = ("normal", "full")
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
    "The daemon in one process, all clients in another. Fan-out: one message to @all, until each of "
    f"{CLIENTS} clients has it; they note when it comes, say that they have seen it, and cost as little as "
    "they can; the next begins when all of that is noted. Beside it a bare `websockets` server that commits "
    "the text and broadcasts it to the same clients. There and back: "
    f"{AGENTS} agents send {MESSAGES} each to a neighbour, who answers. One at a time: from `send` by one "
    "client until another has it, against a bare `websockets` server that commits the text to SQLite, as "
    "durable as the room, and echoes it: `full` outlasts a loss of power, `normal` the end of any process. "
    "A reader has mail when it is committed, with `full` before it is on the disk; a sender is told when it "
    "is there."
)


class Door(NamedTuple):
    """Where a client comes in, and by what right."""

    url: str
    headers: dict[str, str]

    def connect(self) -> Any:
        import websockets

        return websockets.connect(
            self.url, additional_headers=self.headers, compression=None, open_timeout=LIMIT
        )


class Daemon(NamedTuple):
    home: str
    url: str
    tokens: dict[str, str]

    def door(self, name: str) -> Door:
        return Door(f"{self.url}?agent={name}", {"Authorization": f"Bearer {self.tokens[name]}"})


def run(bench: Bench) -> Result:
    try:
        import websockets  # noqa: F401 - whether it is there
    except ModuleNotFoundError:
        return Result("relay", TITLE, COLUMNS, (), notes=("The Python package websockets is not installed.",))
    if not proc.supported():
        return Result("relay", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    rows, rounds = [*_crowd(bench)], dict[str, list[Values]]()
    for durability in DURABILITIES:
        for name, label, taken in _latency(bench, durability):
            rows.append(Row(name, label, spread([one for some in taken for one in some], MILLISECONDS)))
            rounds[name] = [spread(some, MILLISECONDS) for some in taken]
    found = Result("relay", TITLE, COLUMNS, rows, rounds, (NOTE,))
    for durability in DURABILITIES:
        for name in ("relay", "told"):
            found = found.with_ratios(f"echo-{durability}", "p50", only=f"{name}-{durability}")
    return found


def _crowd(bench: Bench) -> list[Row]:
    clients = bench.pick(100, CLIENTS)
    bench.say(f"relay: {clients} clients")
    import postroom

    names = [f"c{number}" for number in range(clients)]
    with ExitStack() as stack:
        daemon, rounds = _served(stack, bench, "crowd", names), bench.pick(3, 10)
        readers, said = [daemon.door(name) for name in names], {"to": "@all", "body": BODY, "confirm": True}
        look = stack.enter_context(postroom.open(daemon.home)).store.look()
        text, is_at_rest = json.dumps({"op": "send", **said}), lambda: not look.recipients_offered()
        sent = asyncio.run(_fan_out(readers, daemon.door("writer"), text, rounds, is_at_rest))
        bare = Door(_bare(stack, bench, "broadcast"), {})
        frame = json.dumps({"type": "mail", "cursor": "bare.1", "mail": {**said, "more": BODY}})
        thrown = asyncio.run(_fan_out([bare] * clients, bare, frame, rounds))
    bench.say(f"relay: {AGENTS} agents × {MESSAGES}")
    with ExitStack() as stack:
        daemon = _served(stack, bench, "agents", names[:AGENTS])
        seconds, lost = asyncio.run(_round_trips(daemon, names[:AGENTS]))
    return [
        Row("broadcast", f"one commit and a bare broadcast to {clients}", spread(thrown, MILLISECONDS)),
        Row("fanout", f"one message to {clients} clients", spread(sent, MILLISECONDS)),
        Row("agents", f"{AGENTS} agents × {MESSAGES} there and back", {"seconds": seconds, "lost": lost}),
    ]


async def _fan_out(
    readers: list[Door], writer: Door, said: str, rounds: int, is_at_rest: Callable[[], bool] = lambda: True
) -> list[int]:
    """How long it takes until each has what the writer says; the first round warms up.

    The next begins when it is noted of all that they have seen it.
    """
    loop, crowd, arrived = asyncio.get_running_loop(), Crowd(len(readers)), list[int]()
    async with asyncio.timeout(LIMIT), writer.connect() as speaker:
        for first in range(0, len(readers), 50):
            ears = [Ear(one.url, one.headers, crowd) for one in readers[first : first + 50]]
            await asyncio.gather(
                *(loop.create_connection(lambda ear=ear: ear, *_place(writer.url)) for ear in ears)
            )
        await crowd.gathered()
        for number in range(rounds + 1):
            crowd.listen()
            began = time.monotonic_ns()
            await speaker.send(said)
            taken = [at - began for at in await crowd.heard()]
            arrived += taken if number else []
            while not is_at_rest():
                await asyncio.sleep(0.01)
    return arrived


def _place(url: str) -> tuple[str, int]:
    found = urlsplit(url)
    return str(found.hostname), int(found.port or 0)


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


def _latency(bench: Bench, durability: str) -> list[tuple[str, str, list[list[int]]]]:
    count, rounds = bench.pick(50, 200), bench.pick(3, 10)
    with ExitStack() as stack:
        daemon = _served(stack, bench, f"latency-{durability}", ["reader"], durability)
        url = _bare(stack, bench, "echo", durability)
        bench.say(f"relay: one at a time, {rounds} rounds, {durability}")
        echoed, relayed, told = asyncio.run(_one_at_a_time(daemon, url, count, rounds))
    return [
        (f"echo-{durability}", f"bare echo and one commit, {durability}", echoed),
        (f"relay-{durability}", f"send → another client has it, {durability}", relayed),
        (f"told-{durability}", "… and its sender was told that it is stored", told),
    ]


async def _one_at_a_time(
    daemon: Daemon, url: str, count: int, rounds: int
) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    import websockets

    spent: tuple[list[list[int]], ...] = ([], [], [])
    async with (
        websockets.connect(url, compression=None) as bare,
        daemon.door("writer").connect() as writer,
        daemon.door("reader").connect() as reader,
    ):
        for number in range(rounds + 1):
            some = (
                [await _echo(bare) for _ in range(count)],
                [await _relay(writer, reader) for _ in range(count)],
                [await _relay(writer, reader, told=True) for _ in range(count)],
            )
            if number:  # the first one warms up
                for taken, each in zip(spent, some, strict=True):
                    taken.append(each)
    return spent[0], spent[1], spent[2]


async def _echo(link: Any) -> int:
    began = time.monotonic_ns()
    await link.send(json.dumps({"op": "send", "to": "reader", "body": BODY}))
    json.loads(await link.recv())
    return time.monotonic_ns() - began


async def _relay(writer: Any, reader: Any, *, told: bool = False) -> int:
    """`told`: its sender waits for the answer, too."""
    said = {"op": "send", "to": "reader", "body": BODY, **({"id": 1} if told else {})}
    began = time.monotonic_ns()
    await writer.send(json.dumps(said))
    while (frame := json.loads(await reader.recv()))["type"] != "mail":
        pass
    while told and json.loads(await writer.recv()).get("id") != 1:
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
            some = [
                stack.enter_async_context(daemon.door(name).connect()) for name in names[first : first + 50]
            ]
            links += await asyncio.gather(*some)
        yield links


def _bare(stack: ExitStack, bench: Bench, act: str, *more: str) -> str:
    """A server of `websockets` alone."""
    path = str(bench.folder / "-".join(("relay", act, *more)))
    words = [sys.executable, "-m", f"benchmarks.{act}", path, *more]
    server = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    stack.callback(server.kill)
    assert server.stdout is not None
    return f"ws://127.0.0.1:{int(server.stdout.readline())}"


def _served(
    stack: ExitStack, bench: Bench, place: str, names: list[str], durability: str = "normal"
) -> Daemon:
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
    environment = {**product.environment(home), **limits, "POSTROOM_DURABILITY": durability}
    daemon = subprocess.Popen([sys.executable, "-m", "postroom.daemon", home], env=environment)
    stack.callback(_end, daemon)
    _await(f"http://127.0.0.1:{port}/healthz")
    return Daemon(home, f"ws://127.0.0.1:{port}/ws/projects/{product.PROJECT}", tokens)


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
