"""The async face of a room: the same object, its calls made on one worker thread.

Waiting costs no thread: the loop watches the bell's descriptor, and the worker only looks when it rings.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.bell.contract import Waiter
from postroom.bell.polling import SECONDS
from postroom.model.conversation import Attachment
from postroom.model.message import Agent, AgentStatus, Delivery, Mail, Message, Receipts, Sent
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.wait import next_due, sweep_pause

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.options import About, ReplyOptions, SendOptions

T = TypeVar("T")


class AsyncRoom:
    """`async with AsyncRoom(postroom.open(agent="builder")) as room`."""

    def __init__(self, room: LocalRoom) -> None:
        self.room = room
        self._worker = ThreadPoolExecutor(1, "postroom-async")
        self._listening: set[Listening] = set()

    async def _call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, partial(function, *args, **kwargs)
        )

    async def send(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        confirm: bool = False,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        return await self._call(self.room.send, to, body, sender=sender, confirm=confirm, **options)

    async def peek(self, agent: str | None = None, *, limit: int = 50) -> list[Mail]:
        return await self._call(self.room.peek, agent, limit=limit)

    async def take(
        self, agent: str | None = None, *, id: str | None = None, timeout: float | None = 0.0
    ) -> Mail | None:
        async def look() -> Mail | None:
            return await self._claim(agent, id)

        return await self._watch(agent, look, 0.0 if id is not None else timeout)

    async def _claim(self, agent: str | None, id: str | None) -> Mail | None:
        """Take now. Who is cancelled meanwhile never got it: it goes back to the queue."""
        claim: Future[Mail | None] = self._worker.submit(self.room.take, agent, id=id)
        try:
            return await asyncio.shield(asyncio.wrap_future(claim))
        except asyncio.CancelledError:
            if not claim.cancel():
                self._worker.submit(self._give_up, claim)
            raise

    def _give_up(self, claim: "Future[Mail | None]") -> None:
        if claim.exception() is None and (mail := claim.result()) is not None:
            self.room.give_up(mail)

    async def attachments(self, ref: str) -> list[Attachment]:
        return await self._call(self.room.attachments, ref)

    async def spill(self, mail: Mail) -> str | None:
        return await self._call(self.room.spill, mail)

    async def settle(self, mail: Mail) -> Delivery:
        return await self._call(self.room.settle, mail)

    async def ack(self, what: Mail | str, *, agent: str | None = None) -> Delivery:
        return await self._call(self.room.ack, what, agent=agent)

    async def nack(self, what: Mail | str, reason: str, *, agent: str | None = None) -> Delivery:
        return await self._call(self.room.nack, what, reason, agent=agent)

    async def reply(
        self, what: Mail | str, body: str, *, agent: str | None = None, **options: "Unpack[ReplyOptions]"
    ) -> Sent:
        return await self._call(self.room.reply, what, body, agent=agent, **options)

    async def ask(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        timeout: float | None = 30.0,
        **options: "Unpack[SendOptions]",
    ) -> Mail:
        """Blocks its own thread, so that other calls go on meanwhile."""
        return await asyncio.to_thread(self.room.ask, to, body, sender=sender, timeout=timeout, **options)

    async def wait(self, agent: str | None = None, *, timeout: float | None = None) -> list[Mail]:
        return await self._watch(agent, partial(self._call, self.room.peek, agent), timeout)

    async def listen(self, agent: str | None = None, *, timeout: float | None = None) -> AsyncIterator[Mail]:
        """As `Room.listen`: holds the mailbox until the loop is left."""
        listening = await self._call(Listening, self.room, agent, timeout, enclosures=False)
        self._listening.add(listening)
        try:
            while True:
                await self._call(listening.settle)
                look = partial(self._call, listening.look)
                mail = await self._watch_with(listening.waiter, listening.agent, look, timeout)
                if mail is None:
                    return
                yield mail
        finally:
            await self._close(listening)

    async def _close(self, listening: Listening) -> None:
        """Once: the loop may finish a listening that was left long after the room itself was."""
        if listening in self._listening:
            self._listening.discard(listening)
            await self._call(listening.close)

    async def receipts(self, ref: str) -> Receipts:
        return await self._call(self.room.receipts, ref)

    async def withdraw(self, ref: str, *, sender: str | None = None) -> list[Delivery]:
        return await self._call(self.room.withdraw, ref, sender=sender)

    async def join(self, name: str, **about: "Unpack[About]") -> Agent:
        return await self._call(self.room.join, name, **about)

    async def idle(self, agent: str | None = None) -> list[Message]:
        return await self._call(self.room.idle, agent)

    async def agents(self) -> list[AgentStatus]:
        return await self._call(self.room.agents)

    async def _watch(self, agent: str | None, look: Callable[[], Awaitable[T]], timeout: float | None) -> T:
        """As `wait.watch`: bind, look, sleep until rung, look again."""
        if timeout is not None and timeout <= 0:
            return await look()
        party = (await self._call(self.room.who, agent)).id
        waiter = self.room.bell.waiter(party)
        try:
            return await self._watch_with(waiter, party, look, timeout)
        finally:
            waiter.close()

    async def _watch_with(
        self, waiter: Waiter, party: str, look: Callable[[], Awaitable[T]], timeout: float | None
    ) -> T:
        now = asyncio.get_running_loop().time
        deadline = None if timeout is None else now() + timeout
        while not (found := await look()):
            left = None if deadline is None else deadline - now()
            if left is not None and left <= 0:
                break
            due = await self._call(next_due, self.room, party)
            await self._rung(waiter, left, due)
        return found

    async def _rung(self, waiter: Waiter, left: float | None, due: int | None) -> None:
        pause = sweep_pause(self.room.settings.sweep_seconds)
        if left is not None:
            pause = min(pause, left)
        if due is not None:
            pause = min(pause, max(0.0, (due - self.room.store.clock()) / 1000))
        if waiter.fileno() < 0:
            await asyncio.sleep(min(SECONDS, pause))
        else:
            await _readable(waiter, pause)
        await self._call(self.room.sweep)

    async def __aenter__(self) -> "AsyncRoom":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        for listening in list(self._listening):
            await self._close(listening)
        await self._call(self.room.close)
        self._worker.shutdown()


async def _readable(waiter: Waiter, pause: float) -> None:
    """Sleep until the bell's descriptor says something, or for so long."""
    loop, rung = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(waiter.fileno(), rung.set)
    try:
        await asyncio.wait_for(rung.wait(), pause)
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(waiter.fileno())
    waiter.drain()
