"""The async face of a room: the same object, its calls made on one worker thread.

Waiting costs no thread: the loop watches the bell's descriptor, and the worker only looks when it rings.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.bell.contract import Waiter
from postroom.model.message import AgentStatus, Delivery, Mail, Receipts, Sent
from postroom.room.local import LocalRoom
from postroom.room.wait import sweep_pause

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.options import ReplyOptions, SendOptions

T = TypeVar("T")


class AsyncRoom:
    """`async with AsyncRoom(postroom.open(agent="builder")) as room`."""

    def __init__(self, room: LocalRoom) -> None:
        self.room = room
        self._worker = ThreadPoolExecutor(1, "postroom-async")

    async def _call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, partial(function, *args, **kwargs)
        )

    async def send(self, to: str, body: str, **options: "Unpack[SendOptions]") -> Sent:
        return await self._call(self.room.send, to, body, **options)

    async def peek(self, agent: str | None = None, *, limit: int = 50) -> list[Mail]:
        return await self._call(self.room.peek, agent, limit=limit)

    async def take(
        self, agent: str | None = None, *, id: str | None = None, timeout: float | None = 0.0
    ) -> Mail | None:
        look = partial(self.room.take, agent, id=id)
        return await self._watch(agent, look, 0.0 if id is not None else timeout)

    async def settle(self, mail: Mail) -> Delivery:
        return await self._call(self.room.settle, mail)

    async def ack(self, what: Mail | str, *, agent: str | None = None) -> Delivery:
        return await self._call(self.room.ack, what, agent=agent)

    async def nack(self, what: Mail | str, reason: str, *, agent: str | None = None) -> Delivery:
        return await self._call(self.room.nack, what, reason, agent=agent)

    async def reply(self, what: Mail | str, body: str, **options: "Unpack[ReplyOptions]") -> Sent:
        return await self._call(self.room.reply, what, body, **options)

    async def ask(self, to: str, body: str, **options: "Unpack[SendOptions]") -> Mail:
        """Blocks its own thread, so that other calls go on meanwhile."""
        return await asyncio.to_thread(self.room.ask, to, body, **options)

    async def wait(self, agent: str | None = None, *, timeout: float | None = None) -> list[Mail]:
        return await self._watch(agent, partial(self.room.peek, agent), timeout)

    async def listen(self, agent: str | None = None) -> AsyncIterator[Mail]:
        """As `Room.listen`: holds the mailbox until the loop is left."""
        listening = await self._call(self.room.listen, agent)
        try:
            while True:
                yield await asyncio.to_thread(next, listening)
        finally:
            await asyncio.to_thread(listening.close)  # type: ignore[attr-defined]

    async def receipts(self, ref: str) -> Receipts:
        return await self._call(self.room.receipts, ref)

    async def withdraw(self, ref: str, *, sender: str | None = None) -> list[Delivery]:
        return await self._call(self.room.withdraw, ref, sender=sender)

    async def agents(self) -> list[AgentStatus]:
        return await self._call(self.room.agents)

    async def _watch(self, agent: str | None, look: Callable[[], T], timeout: float | None) -> T:
        """As `wait.watch`: bind, look, sleep until rung, look again."""
        if timeout is not None and timeout <= 0:
            return await self._call(look)
        party = (await self._call(self.room.who, agent)).id
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        waiter = self.room.bell.waiter(party)
        try:
            while not (found := await self._call(look)):
                left = None if deadline is None else deadline - asyncio.get_running_loop().time()
                if left is not None and left <= 0:
                    break
                due = await self._call(lambda: self.room.store.look().next_due(party))
                await self._rung(waiter, left, due)
            return found
        finally:
            waiter.close()

    async def _rung(self, waiter: Waiter, left: float | None, due: int | None) -> None:
        from postroom.clock import wall  # noqa: PLC0415

        pause = sweep_pause(self.room.settings.sweep_seconds)
        pause = min(
            pause, pause if left is None else left, pause if due is None else max(0.0, (due - wall()) / 1000)
        )
        loop = asyncio.get_running_loop()
        if waiter.fileno() < 0:
            await asyncio.sleep(min(0.1, pause))
        else:
            rung = asyncio.Event()
            loop.add_reader(waiter.fileno(), rung.set)
            try:
                await asyncio.wait_for(rung.wait(), pause)
            except TimeoutError:
                pass
            finally:
                loop.remove_reader(waiter.fileno())
            waiter.drain()
        await self._call(self.room.sweep)

    async def __aenter__(self) -> "AsyncRoom":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._call(self.room.close)
        self._worker.shutdown()
