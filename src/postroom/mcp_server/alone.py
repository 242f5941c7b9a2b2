"""The tools with no daemon: this process opens the room itself, and serves one client over its pipes."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from postroom import host
from postroom.errors import NoIdentity
from postroom.mcp_server import rpc
from postroom.mcp_server.around import around
from postroom.mcp_server.port import Caller, Guest
from postroom.mcp_server.whole import Stream, made
from postroom.model import ids
from postroom.model.message import Agent, Json
from postroom.room import directory
from postroom.room.guest import Talk, evidence, settle_in, talk
from postroom.room.identity import Witness, of_process
from postroom.room.token import VARIABLE

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

T = TypeVar("T")
_AFTER = 5.0  # seconds for what is still to be answered when the client has said its last


class Alone:
    """The host of one client."""

    def __init__(self, room: "LocalRoom", project: str) -> None:
        self.room = room
        self.pool = ThreadPoolExecutor(4, "mcp")
        self._project = project

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(function, *args, **kwargs))

    def admit(self, meta: Json | None = None) -> Caller:
        """Whose session this process runs in, or who it was said to be; else one begins.

        `meta`: what the request says of itself.
        """
        room = self.room
        witness = room.scope.witness
        inherited = witness.inherited if witness else ""
        claimed = room.agent if room.agent != inherited else None
        one = talk(os.getpid(), meta) if meta and not claimed and not os.environ.get(VARIABLE) else None
        if one is not None:
            return Caller(*self._among(one, inherited))
        found = directory.evident(room.store.look(), claimed, room.scope)
        if found is None and claimed:
            found = room.join(claimed)
        if found is None:
            found, room = self._settled(inherited)
        return Caller(found, room)

    def _among(self, one: Talk, name: str) -> "tuple[Agent, LocalRoom]":
        """One conversation of several that a process may host."""
        look = self.room.store.look
        if (found := evidence(look(), one)) is None:
            place = around(one, os.getcwd(), name)
            settle_in(self.room, os.getpid(), os.getcwd(), project=self._project, among=one, around=place)
            found = evidence(look(), one)
        agent = look().agent(found.agent) if found else None
        if found is None or agent is None:
            raise NoIdentity
        return agent, self.room.on_behalf(agent.address, agent.project, Witness(evidence=found))

    def _settled(self, name: str) -> "tuple[Agent, LocalRoom]":
        """Known from now on by the process that has started this one."""
        found = settle_in(self.room, os.getpid(), os.getcwd(), name=name, project=self._project)
        known = of_process(self.room.store.look(), os.getpid())[1]
        if known is None:
            raise NoIdentity
        return found, self.room.on_behalf(found.address, found.project, Witness(evidence=known))


def serve(room: "LocalRoom", project: str, heard: bytes, given: set[Any]) -> None:
    """Until the client has said its last. `heard`: what it said so far; `given`: which answers it has."""
    room.store.look()  # whoever finishes with the room does it in this thread
    asyncio.run(_serve(Alone(room, project), heard, given))


async def _serve(alone: Alone, heard: bytes, given: set[Any]) -> None:
    tools, server = made(alone)
    guest = Guest("", alone.admit, host.identity())
    pipes = ThreadPoolExecutor(2, "pipe")

    async def write(text: str) -> None:
        if given:
            said = json.loads(text)
            if "method" not in said and said.get("id") in given:
                given.discard(said["id"])
                return
        await asyncio.get_running_loop().run_in_executor(pipes, rpc.write, text.encode() + b"\n")

    stream = Stream(server, alone, guest, ids.nonce(), write)
    try:
        await stream.serve(_lines(pipes, heard, stream))
    finally:
        tools.news.close()


async def _lines(pipes: ThreadPoolExecutor, heard: bytes, stream: Stream) -> AsyncIterator[bytes]:
    parts: list[bytes] = []
    loop = asyncio.get_running_loop()
    while data := heard or await loop.run_in_executor(pipes, os.read, 0, 1 << 16):
        heard = b""
        parts.append(data)
        if b"\n" in data:
            *lines, rest = b"".join(parts).split(b"\n")
            parts = [rest]
            for line in lines:
                yield line
    yield b"".join(parts)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stream.answered(), _AFTER)
