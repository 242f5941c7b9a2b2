"""The room's events, read once for all who follow them.

Who follows holds a cursor and no queue: whoever is slow falls behind, and reads from the store what the feed
has forgotten. While nobody follows, nothing is read.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice
from typing import NamedTuple

from postroom.bell.contract import Waiter
from postroom.bell.polling import SECONDS
from postroom.model.message import Event, Json
from postroom.protocol import record
from postroom.room.history import concerns
from postroom.room.identity import is_of
from postroom.room.unit import EVERYONE
from postroom.server.desk import Desk

_KEPT = 4096  # events in mind
_PAGE = 500
_SLICE = 32  # events that are read at once, whatever their size
HEAVY = 16 << 20  # characters in mind, and a fourth of that in a page
_SWEEP = 5.0  # seconds between two looks though nothing rang


class Item(NamedTuple):
    """One event, ready to be told."""

    event: Event
    cursor: str
    document: Json
    author: str  # of the message that it is about, by id
    project: str  # that it belongs to; empty: to none, or to all
    size: int  # in characters, more or less

    def concerns(self, party: str) -> bool:
        """Whether it is about somebody, or about what they wrote."""
        return concerns(self.event, party) or is_of(self.event.party, party) or is_of(self.author, party)


class Feed:
    """One for each server."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._recent: deque[Item] = deque()
        self._size = 0  # of what is in there
        self._last = ""  # the cursor up to which `_recent` goes
        self._news = asyncio.Event()
        self._followers = 0
        self._task: asyncio.Task[None] | None = None

    async def cursor(self) -> str:
        """That of the latest event there is."""
        return await self._desk.do(lambda: self._desk.room.store.look().last_cursor())

    async def follow(
        self, after: str | None = None, pause: float | None = None
    ) -> AsyncIterator[Item | None]:
        """Every event after a cursor (None: from now on), for ever; None after a `pause` without one."""
        cursor = await self.cursor() if after is None else after
        await self._begin()
        try:
            while True:
                news = self._news
                page = await self._after(cursor)
                for item in page:
                    cursor = item.cursor
                    yield item
                if not page and not await _within(news, pause):
                    yield None
        finally:
            self._end()

    async def _begin(self) -> None:
        self._followers += 1
        if self._task is None:
            self._last = await self.cursor()
            self._task = asyncio.create_task(self._run())

    def _end(self) -> None:
        self._followers -= 1
        if not self._followers and self._task is not None:
            self._task.cancel()
            self._task = None
            self._recent.clear()
            self._size = 0

    def _keep(self, page: list[Item]) -> None:
        for item in page:
            if len(self._recent) == _KEPT:
                self._size -= self._recent.popleft().size
            self._recent.append(item)
            self._size += item.size
        while self._size > HEAVY:
            self._size -= self._recent.popleft().size

    async def _after(self, cursor: str) -> list[Item]:
        """What comes next: from memory where that reaches back so far."""
        if cursor == self._last:
            return []
        for newer, item in enumerate(reversed(self._recent)):
            if item.cursor == cursor:
                return list(islice(self._recent, len(self._recent) - newer, None))
        return await self._desk.do(self._read, cursor)

    def _read(self, cursor: str) -> list[Item]:
        look = self._desk.room.store.look()
        found, size = list[Item](), 0
        while len(found) < _PAGE and size <= HEAVY // 4:
            items = [self._item(event) for event in look.events(cursor, _SLICE)]
            found += items
            size += sum(item.size for item in items)
            if len(items) < _SLICE:
                break
            cursor = items[-1].cursor
        return found

    def _item(self, event: Event) -> Item:
        """With the delivery as it is now, where it is about one."""
        look = self._desk.room.store.look()
        cursor = look.cursor(event)
        document = record.event(event, cursor)
        seq, author, project = event.refs.get("seq"), "", str(event.payload.get("project") or "")
        if seq is None:
            party = look.agent(event.party) if event.party else None
            project = party.project if party else project
        else:
            message = event.message or look.message_at(seq)
            author, project = (message.sender_id, message.project) if message else ("", "")
            if event.type.startswith("delivery.") and (mail := look.mail(seq, event.party)):
                document["delivery"] = record.delivery(mail.delivery)
            elif event.type == "message.sent" and message is not None:
                document["deliveries"] = [record.delivery(one) for one in look.deliveries(seq)]
        return Item(event, cursor, document, author, project, _size(event))

    async def _run(self) -> None:
        """Read what is new, whenever the bell rings."""
        waiter = self._desk.room.bell.waiter(EVERYONE)
        try:
            while True:
                while page := await self._desk.do(self._read, self._last):
                    self._keep(page)
                    self._last = page[-1].cursor
                    self._news.set()
                    self._news = asyncio.Event()
                await _rung(waiter)
        finally:
            waiter.close()


def _size(event: Event) -> int:
    message = event.message
    told = len(message.body) + len(repr(message.payload)) if message else 0
    return told + len(repr(event.payload))


async def _within(news: asyncio.Event, seconds: float | None) -> bool:
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _rung(waiter: Waiter) -> None:
    """Sleep until the bell rings; where there is none, or a ring was missed, for a while."""
    loop, rung = asyncio.get_running_loop(), asyncio.Event()
    if waiter.fileno() < 0:
        await asyncio.sleep(SECONDS)
        return
    loop.add_reader(waiter.fileno(), rung.set)
    try:
        await _within(rung, _SWEEP)
    finally:
        loop.remove_reader(waiter.fileno())
    waiter.renew()
    waiter.drain()
