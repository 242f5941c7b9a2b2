"""The async face of a room: the same object, its calls made on one worker thread.

Waiting costs no thread: the loop watches the bell's descriptor, and the worker only looks when it rings.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from postroom.bell.contract import Waiter
from postroom.bell.polling import SECONDS
from postroom.errors import NoAnswer
from postroom.model.message import Delivery, Event, Mail
from postroom.room import ask as asked
from postroom.room import asking
from postroom.room.ask import Question
from postroom.room.contract import Room
from postroom.room.history import concerns
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE
from postroom.room.wait import Climb, next_due, sweep_pause

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.options import SendOptions

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Room, P], T],
) -> "Callable[Concatenate[AsyncRoom, P], Coroutine[Any, Any, T]]":
    """A method of the room as it is, made on the worker thread."""

    @wraps(method)
    async def call(self: "AsyncRoom", *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.call(getattr(self.room, method.__name__), *args, **kwargs)

    return call


class AsyncRoom:
    """`async with AsyncRoom(postroom.open(agent="builder")) as room`: every method of `Room`, to be awaited.

    `listen` and `events` are for `async for`.
    """

    def __init__(self, room: LocalRoom, worker: Executor | None = None) -> None:
        """`worker`: whose threads make the calls, if not one of its own; who gave it ends it."""
        self.room = room
        self._worker = worker or ThreadPoolExecutor(1, "postroom-async")
        self._is_own = worker is None
        self._listening: set[Listening] = set()

    @property
    def agent(self) -> str | None:
        return self.room.agent

    # What does not wait for anybody. What does is written out below.

    send = _awaited(Room.send)
    peek = _awaited(Room.peek)
    settle = _awaited(Room.settle)
    take_bundle = _awaited(Room.take_bundle)
    settle_all = _awaited(Room.settle_all)
    manners = _awaited(Room.manners)
    held = _awaited(Room.held)
    may_write = _awaited(Room.may_write)
    idle = _awaited(Room.idle)
    ack = _awaited(Room.ack)
    nack = _awaited(Room.nack)
    reply = _awaited(Room.reply)
    frame = _awaited(Room.frame)
    message = _awaited(Room.message)
    receipts = _awaited(Room.receipts)
    withdraw = _awaited(Room.withdraw)
    sent = _awaited(Room.sent)
    thread = _awaited(Room.thread)
    attachments = _awaited(Room.attachments)
    spill = _awaited(Room.spill)
    search = _awaited(Room.search)
    stats = _awaited(Room.stats)
    agents = _awaited(Room.agents)
    projects = _awaited(Room.projects)
    join = _awaited(Room.join)
    leave = _awaited(Room.leave)
    rename = _awaited(Room.rename)
    threads = _awaited(Room.threads)
    forward = _awaited(Room.forward)
    gates = _awaited(Room.gates)
    gate = _awaited(Room.gate)
    decide = _awaited(Room.decide)
    groups = _awaited(Room.groups)
    subscribe = _awaited(Room.subscribe)
    unsubscribe = _awaited(Room.unsubscribe)
    topics = _awaited(Room.topics)
    subscribers = _awaited(Room.subscribers)
    topic_history = _awaited(Room.topic_history)

    async def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Anything else that is done with `room.room`, made on the same thread: `call(room.room.dead)`."""
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, partial(function, *args, **kwargs)
        )

    async def take(
        self, agent: str | None = None, *, id: str | None = None, timeout: float | None = 0.0
    ) -> Mail | None:
        async def look() -> Mail | None:
            return await self._claim(agent, id)

        return await self._watch(agent, look, 0.0 if id is not None else timeout)

    async def _claim(self, agent: str | None, id: str | None) -> Mail | None:
        """Take now. Who is cancelled meanwhile never got it: it goes back to the queue."""
        claim: Future[Mail | None] = self._worker.submit(self._take, agent, id)
        try:
            return await asyncio.shield(asyncio.wrap_future(claim))
        except asyncio.CancelledError:
            if not claim.cancel():
                self._worker.submit(self._give_up, claim)
            raise

    def _take(self, agent: str | None, id: str | None) -> Mail | None:
        return self.room.take(agent, id=id)

    def _give_up(self, claim: "Future[Mail | None]") -> None:
        if claim.exception() is None and (mail := claim.result()) is not None:
            self.room.give_up(mail)

    async def ask(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        timeout: float | None = 30.0,
        **options: "Unpack[SendOptions]",
    ) -> Mail:
        question = await self.call(Question, self.room, to, body, sender, options)
        return await self._answer(question, timeout)

    async def _answer(
        self, question: Question, timeout: float | None, see: Callable[[Mail], None] | None = None
    ) -> Mail:
        """To what was asked; `see` as in `Question.answered`."""
        note = asking.noted(self.room, question.sent)
        await self.call(note.__enter__)
        try:
            await self.call(asking.check_circle, self.room, question.sent)
            found = await self._attend(question, timeout)
        except NoAnswer:
            await self.call(question.despair)
            raise
        finally:
            await self.call(note.__exit__, None, None, None)
        return await self.call(question.answered, found, timeout, see)

    async def _attend(self, question: asked.Awaiting, timeout: float | None) -> Mail | None:
        """As `ask.wait_for`."""
        now = asyncio.get_running_loop().time
        deadline = None if timeout is None else now() + timeout
        look, waiter = partial(self.call, question.look), self.room.bell.waiter(question.party)
        try:
            while True:
                left = None if deadline is None else deadline - now()
                pause = asked.GLANCE if left is None else min(left, asked.GLANCE)
                if (found := await self._watch_with(waiter, None, look, pause)) is not None:
                    return found
                await self.call(question.check_hope)
                if left is not None and left <= pause:
                    return None
        finally:
            waiter.close()

    async def wait_for_reply(
        self, ref: str, *, agent: str | None = None, timeout: float | None = None
    ) -> Mail:
        from postroom.room.reply_wait import Awaited  # noqa: PLC0415 - only who waits

        awaited = await self.call(Awaited, self.room, ref, agent)
        found = await self._attend(awaited, timeout)
        return await self.call(awaited.replied, found, timeout)

    async def wait(
        self, agent: str | None = None, *, timeout: float | None = None, limit: int = 50
    ) -> list[Mail]:
        return await self._watch(agent, partial(self.call, self.room.peek, agent, limit=limit), timeout)

    async def until(self, ref: str, rung: str, *, timeout: float | None = None) -> list[Delivery]:
        climb = await self.call(Climb, self.room, ref, rung)
        look = partial(self.call, climb.done)
        waiter = self.room.bell.waiter(climb.party)
        try:
            found = await self._watch_with(waiter, None, look, timeout)
        finally:
            waiter.close()
        return found or await self.call(climb.deliveries)

    async def events(
        self, *, follow: bool = False, agent: str | None = None, after: str | None = None
    ) -> AsyncIterator[Event]:
        """As `Room.events`; who follows needs no thread."""
        party = (await self.call(self.room.who, agent)).id if agent else None
        waiter = self.room.bell.waiter(EVERYONE) if follow else None
        cursor = after or ""
        try:
            while page := await self._page(waiter, cursor):
                for event in page:
                    if concerns(event, party):
                        yield event
                cursor = await self.call(self._after, page[-1])
        finally:
            if waiter is not None:
                waiter.close()

    async def _page(self, waiter: Waiter | None, cursor: str) -> list[Event]:
        look = partial(self.call, self._events, cursor)
        return await look() if waiter is None else await self._watch_with(waiter, None, look, None)

    def _events(self, cursor: str) -> list[Event]:
        return self.room.store.look().events(cursor)

    def _after(self, event: Event) -> str:
        return self.room.store.look().cursor(event)

    async def listen(self, agent: str | None = None, *, timeout: float | None = None) -> AsyncIterator[Mail]:
        """As `Room.listen`: holds the mailbox until the loop is left."""
        listening = await self.call(Listening, self.room, agent, timeout, enclosures=False)
        self._listening.add(listening)
        try:
            while True:
                await self.call(listening.settle)
                look = partial(self.call, listening.look)
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
            await self.call(listening.close)

    async def _watch(self, agent: str | None, look: Callable[[], Awaitable[T]], timeout: float | None) -> T:
        """As `wait.watch`: bind, look, sleep until rung, look again."""
        if timeout is not None and timeout <= 0:
            return await look()
        party = (await self.call(self.room.who, agent)).id
        waiter = self.room.bell.waiter(party)
        try:
            return await self._watch_with(waiter, party, look, timeout)
        finally:
            waiter.close()

    async def _watch_with(
        self, waiter: Waiter, party: str | None, look: Callable[[], Awaitable[T]], timeout: float | None
    ) -> T:
        """As `wait.watch_with`; no `party` when what is waited for depends on what others do."""
        now = asyncio.get_running_loop().time
        deadline = None if timeout is None else now() + timeout
        while not (found := await look()):
            left = None if deadline is None else deadline - now()
            if left is not None and left <= 0:
                break
            due = await self.call(next_due, self.room, party)
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
            waiter.renew()
        await self.call(self.room.sweep)

    async def close(self) -> None:
        """Give back what is held of the room, and end the worker; `async with` does it by itself."""
        for listening in list(self._listening):
            await self._close(listening)
        if self._is_own:
            await self.call(self.room.close)
            self._worker.shutdown()

    async def __aenter__(self) -> "AsyncRoom":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()


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
