"""Tells clients which resources have changed: those that listen, and those that have subscribed.

The room's events are read by one task, and only while somebody wants to know.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from postroom.mcp_server.exhibit import Change, followed
from postroom.model.message import Event
from postroom.room.aio import AsyncRoom

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from postroom.mcp_server.port import Caller, Host
    from postroom.mcp_server.visit import Arrival, Visit

_log = logging.getLogger("postroom.daemon")
_PAUSE = 1.0  # seconds, before the room's events are read again


class Reader:
    """Somebody who wants to know."""

    def __init__(self, caller: "Caller", tell: Callable[[str], Awaitable[None]]) -> None:
        self.party, self.sees_all = caller.agent.id, caller.sees_all
        self.tell = tell


class News:
    """One for each server."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self._readers: set[Reader] = set()
        self._subscribed: dict[Visit, tuple[Reader, _Following]] = {}
        self._turns: WeakKeyDictionary[Visit, asyncio.Lock] = WeakKeyDictionary()
        self._listening: set[ListenHandler] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """One stream of the newer protocol. Each has a bus of its own: an inbox is not everyone's."""
        caller = await self._host.do(arrival_of(ctx).admit)
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        asked = params.notifications.resource_subscriptions or []
        wanted = await self._host.do(lambda: {uri: followed(caller, uri) for uri in asked})

        async def tell(changed: str) -> None:
            for uri in _named(wanted, changed):
                await bus.publish(ResourceUpdated(uri=uri))

        reader = Reader(caller, tell)
        await self._add(reader)
        self._listening.add(handler)
        try:
            return await handler(ctx, params)
        finally:
            self._listening.discard(handler)
            self._remove(reader)

    async def subscribe(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """The older way: the client's own channel is told, as long as its visit lasts."""
        arrival, uri = arrival_of(ctx), str(params.uri)
        async with self._turn(arrival.visit):
            caller = await self._host.do(arrival.admit)
            meant = await self._host.do(followed, caller, uri)
            known = self._subscribed.get(arrival.visit)
            if known is not None:
                known[1].wanted[uri] = meant
                return types.EmptyResult()
            following = _Following(ctx.session)
            following.wanted[uri] = meant
            reader = Reader(caller, following.tell)
            self._subscribed[arrival.visit] = known = reader, following
            await self._add(reader)
            if self._subscribed.get(arrival.visit) is not known:  # the visit has ended meanwhile
                self._remove(reader)
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        visit = arrival_of(ctx).visit
        async with self._turn(visit):
            known = self._subscribed.get(visit)
            if known is not None:
                known[1].wanted.pop(str(params.uri), None)
        return types.EmptyResult()

    def _turn(self, visit: "Visit") -> asyncio.Lock:
        """What a visit wishes is done in the order in which it says so: the last word counts."""
        return self._turns.setdefault(visit, asyncio.Lock())

    def follows(self, visit: "Visit") -> bool:
        """Whether a visit has subscribed to something."""
        return visit in self._subscribed

    def leave(self, visit: "Visit") -> None:
        """A visit has ended."""
        known = self._subscribed.pop(visit, None)
        if known is not None:
            self._remove(known[0])
            known[1].close()

    async def _add(self, reader: Reader) -> None:
        if self._task is None:
            room = self._host.room
            cursor = await self._host.do(lambda: room.store.look().last_cursor())
            if self._task is None:
                self._task = asyncio.create_task(self._follow(cursor))
        self._readers.add(reader)

    def _remove(self, reader: Reader) -> None:
        self._readers.discard(reader)
        if not self._readers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _follow(self, cursor: str) -> None:
        """It goes on after whatever keeps it from the store: who wants to know would never hear of that."""
        room = AsyncRoom(self._host.room, self._host.pool)
        last: Event | None = None
        while True:
            try:
                cursor = await self._host.do(self._after, last) if last else cursor
                async for event in room.events(follow=True, after=cursor):
                    last = event
                    await self._tell(await self._host.do(self._change, event))
            except Exception:
                _log.exception("changes cannot be followed")
            await asyncio.sleep(_PAUSE)

    def _after(self, event: Event) -> str:
        return self._host.room.store.look().cursor(event)

    async def _tell(self, change: Change) -> None:
        for reader in list(self._readers):
            for uri in change.seen_by(reader.party, sees_all=reader.sees_all):
                await reader.tell(uri)

    def _change(self, event: Event) -> Change:
        return Change(self._host.room.store.look(), event)

    def close(self) -> None:
        for handler in self._listening:
            handler.close()
        if self._task is not None:
            self._task.cancel()


class _Following:
    """What one client has subscribed to. Nobody waits for it: a client that does not read is told later, and
    of each resource once.
    """

    def __init__(self, session: "ServerSession") -> None:
        self._session = session
        self.wanted: dict[str, str] = {}  # as the client names it: as what it is told of
        self._due: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None

    async def tell(self, changed: str) -> None:
        if due := _named(self.wanted, changed):
            self._due |= dict.fromkeys(due)
            if self._telling is None or self._telling.done():
                self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        try:
            while self._due:
                uri = next(iter(self._due))
                del self._due[uri]
                await self._session.send_resource_updated(uri)
        except Exception:
            _log.exception("a client cannot be told of changes")

    def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()


def _named(wanted: dict[str, str], changed: str) -> list[str]:
    """What has changed, by the names that a client has given it."""
    return [uri for uri, meant in wanted.items() if meant == changed]


def arrival_of(ctx: "ServerRequestContext[Any, Any]") -> "Arrival":
    """The request that a handler is called for, as its door has noted it."""
    found: Any = ctx.request
    return found.scope[KEY] if hasattr(found, "scope") else found


KEY = "postroom.arrival"  # in the scope of an HTTP request
