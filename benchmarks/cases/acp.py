"""Mail over ACP: what it takes longer until it is seen than a bare prompt, in the same run."""

import asyncio
import importlib.util
import statistics
import sys
import threading
import time
from contextlib import ExitStack
from typing import Any

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, spread

LIMIT = 60.0
NAME, WRITER = "spoken", "writer"
TEXT = "message {} for an agent that speaks ACP"

TITLE = "ACP: mail, and a bare prompt"
COLUMNS = (Column("p50", "p50, ms", 1), Column("p95", "p95, ms", 1))


def run(bench: Bench) -> Result:
    if importlib.util.find_spec("acp") is None:
        bench.skipped["acp"] = "agent-client-protocol is not installed"
        return Result(
            "acp", TITLE, COLUMNS, (), notes=("Not measured: agent-client-protocol is not installed.",)
        )
    rounds = bench.pick(30, 200)
    bare, ours = _measure(bench, rounds)
    more = statistics.median(ours) - statistics.median(bare)
    rows = [
        Row("bare", "prompt → end of the turn, by the library alone", spread(bare, 1e3)),
        Row("seen", "send → seen, with evidence", spread(ours, 1e3)),
        Row("more", "what mail takes longer", {"p50": more * 1e3}),
    ]
    return Result("acp", TITLE, COLUMNS, rows, notes=(_note(rounds),))


def _measure(bench: Bench, rounds: int) -> tuple[list[float], list[float]]:
    """By turns: one prompt, one message."""
    import postroom

    home = str(bench.folder / "acp-home")
    product.create_room(home, (NAME, WRITER))
    bare, ours = list[float](), list[float]()
    with ExitStack() as stack:
        room = stack.enter_context(postroom.open(home, project=product.PROJECT))
        client = stack.enter_context(_Bare(str(bench.folder / "bare")))
        stack.callback(_stop, home)
        _spawn(room, str(bench.folder / "kept"))
        for number in range(rounds + 1):
            began = time.monotonic()
            client.prompt(TEXT.format(number))
            bare.append(time.monotonic() - began)
            began = time.monotonic()
            sent = room.send(NAME, TEXT.format(number), sender=WRITER)
            room.until(sent.id, "seen", timeout=LIMIT)
            ours.append(time.monotonic() - began)
    return bare[1:], ours[1:]


def _command(path: str) -> list[str]:
    return [sys.executable, "-m", "tests.acting", path]


def _spawn(room: Any, path: str) -> None:
    """As `postroom spawn --bridge acp` does."""
    import os

    from postroom.daemon.launch import Plan, launch

    launch(room, room.who(NAME), Plan("acp", _command(path), os.getcwd(), dict(os.environ)))


def _stop(home: str) -> None:
    from postroom.daemon import control

    control.ask(home, "down")


class _Bare:
    """A client of the library's own, and nothing else."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "_Bare":
        self._thread.start()
        self._call(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._spawned.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT)
        self._loop.close()

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(LIMIT)

    async def _begin(self) -> None:
        import acp

        ear: Any = _Ear()  # which offers nothing
        self._spawned: Any = acp.spawn_agent_process(ear, *_command(self._path))
        self._agent, _ = await self._spawned.__aenter__()
        await self._agent.initialize(acp.PROTOCOL_VERSION)
        self._session = (await self._agent.new_session(cwd="/", mcp_servers=[])).session_id

    def prompt(self, text: str) -> None:
        import acp

        self._call(self._agent.prompt(self._session, [acp.text_block(text)]))


class _Ear:
    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        pass


def _note(rounds: int) -> str:
    return (
        f"{rounds} prompts by a client that is nothing but the library, and as many messages by the daemon, "
        "by turns, each to an agent of its own, which answers at once: so the time is that of the way. Of "
        "mail it has all that the room notes: stored, claimed, handed over, seen when the turn has ended."
    )
