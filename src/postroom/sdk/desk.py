"""The mailbox of an agent that is a part of this program: its tools, and what its model is shown unasked.

Who runs the agent says when its model is about to be asked, and when it has answered. What was in the request
is seen by the answer; what had none waits again when the run ends, or the process.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from postroom.errors import PostroomError
from postroom.mcp_server.act import ACTS, BUDGET, begun
from postroom.mcp_server.fault import told
from postroom.mcp_server.port import Caller
from postroom.mcp_server.tool import ABOUT, BY_NAME
from postroom.mcp_server.visit import Arrival, Visit
from postroom.model import ids
from postroom.model.ladder import Evidence
from postroom.model.message import Json, Mail
from postroom.room.aio import AsyncRoom
from postroom.room.bundle import Bundle, take_bundle
from postroom.room.local import LocalRoom

ROUTE = "sdk"
_ABOUT = f"{ABOUT} Where the mail below says `postroom reply ID` or the like, call the tool of that name.\n\n"
T = TypeVar("T")


class Desk:
    """One agent's. Its room is named for it: `postroom.open(agent="builder")`."""

    def __init__(self, room: LocalRoom) -> None:
        self.room = room
        self.pool = ThreadPoolExecutor(4, "postroom-sdk")
        self._run: ContextVar[Run | None] = ContextVar("run", default=None)
        self._outside = Run(self)  # for tools that are called while nobody tells of runs
        self._waiting = AsyncRoom(room, self.pool)

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(function, *args, **kwargs))

    def admit(self) -> Caller:
        return Caller(self.room.who(), self.room)

    async def wait(self, timeout: float | None = None) -> list[Mail]:
        """Sleep until mail comes, and look at it; nothing is taken."""
        return await self._waiting.wait(timeout=timeout)

    async def call(self, name: str, args: Json) -> tuple[Json, str]:
        """What a tool gives back, or words that tell why it does not."""
        arrival = (self._run.get() or self._outside).arrival()
        try:
            found = await ACTS[name](await begun(self, arrival, BY_NAME[name], args))
        except PostroomError as exc:
            await arrival.lost(self)
            return {}, told(exc, name)
        except BaseException:
            await arrival.lost(self)
            raise
        arrival.written(self)
        return found, ""

    def begin(self) -> "Run":
        """A run of the agent begins, here and in what is started from here."""
        run = Run(self, 0)
        run.token = self._run.set(run)
        return run

    async def end(self, run: "Run") -> None:
        """It is over: what its model was shown, and has not answered, waits again."""
        if run.token is not None:
            self._run.reset(run.token)
        await run.visit.handed()
        await self.do(run.visit.end, self.room)

    async def close(self) -> None:
        await self.end(self._outside)
        self.pool.shutdown()


class Run:
    """From what somebody wants of an agent to its answer: several requests to the model, one by one."""

    def __init__(self, desk: Desk, since: int | None = None) -> None:
        """`since`: the number of the latest request to the model; None where nobody tells of those."""
        self.visit = Visit(ids.nonce())
        self.token: Any = None
        self._desk = desk
        self._since = since

    def arrival(self) -> Arrival:
        """A call of a tool. It proves what was in the request that its model has answered by it, and nothing
        that another tool of the same answer has given since.
        """
        return Arrival(self.visit, self._desk.admit, number=self._since)

    async def ask(self) -> str:
        """The model is about to be asked: what waits is to be in the request. Empty: nothing does."""
        desk = self._desk
        arrival = Arrival(self.visit, desk.admit)
        bundle = await desk.do(self._take, arrival)
        arrival.written(desk)
        await self.visit.handed()
        self._since = next(self.visit.count)
        return "" if bundle is None else _ABOUT + bundle.frame.text

    def _take(self, arrival: Arrival) -> Bundle | None:
        room = self._desk.room
        bundle = take_bundle(room, None, budget=BUDGET, route=ROUTE, claimer=self.visit.claimer)
        if bundle is not None:
            arrival.keep(room, bundle.mails, bundle.frame.missing)
        return bundle

    async def answered(self) -> None:
        """It has answered: all that was in the request, it has been shown."""
        await self._desk.do(self._prove)

    def _prove(self) -> None:
        self.visit.prove(self._desk.admit(), self._since or 0, Evidence.RUNTIME_ACK)
