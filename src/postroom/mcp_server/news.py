"""Tells clients which resources have changed: those that listen, and those that have subscribed.

The room's events are read by one task, and only while somebody wants to know.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from postroom.mcp_server.exhibit import Change
from postroom.model.message import Event
from postroom.room.aio import AsyncRoom

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from postroom.mcp_server.port import Caller, Host
    from postroom.mcp_server.visit import Arrival

_log = logging.getLogger("postroom.daemon")


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
        self._subscribed: dict[str, tuple[Reader, set[str]]] = {}  # by the name of the visit
        self._listening: set[ListenHandler] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """One stream of the newer protocol. Each has a bus of its own: an inbox is not everyone's."""
        caller = await self._host.do(arrival_of(ctx).admit)
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        reader = Reader(caller, lambda uri: bus.publish(ResourceUpdated(uri=uri)))
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
        arrival = arrival_of(ctx)
        known = self._subscribed.get(arrival.visit.name)
        if known is None:
            caller = await self._host.do(arrival.admit)
            wanted: set[str] = set()
            known = Reader(caller, _telling(ctx.session, wanted)), wanted
            self._subscribed[arrival.visit.name] = known
            await self._add(known[0])
        known[1].add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        known = self._subscribed.get(arrival_of(ctx).visit.name)
        if known is not None:
            known[1].discard(str(params.uri))
        return types.EmptyResult()

    def follows(self, visit: str) -> bool:
        """Whether a visit has subscribed to something."""
        return visit in self._subscribed

    def leave(self, visit: str) -> None:
        """A visit has ended."""
        known = self._subscribed.pop(visit, None)
        if known is not None:
            self._remove(known[0])

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
        room = AsyncRoom(self._host.room, self._host.pool)
        async for event in room.events(follow=True, after=cursor):
            change = await self._host.do(self._change, event)
            for reader in list(self._readers):
                for uri in change.seen_by(reader.party, sees_all=reader.sees_all):
                    try:
                        await reader.tell(uri)
                    except Exception:
                        _log.exception("a client cannot be told of changes")

    def _change(self, event: Event) -> Change:
        return Change(self._host.room.store.look(), event)

    def close(self) -> None:
        for handler in self._listening:
            handler.close()
        if self._task is not None:
            self._task.cancel()


def _telling(session: "ServerSession", wanted: set[str]) -> Callable[[str], Awaitable[None]]:
    async def tell(uri: str) -> None:
        if uri in wanted:
            await session.send_resource_updated(uri)

    return tell


def arrival_of(ctx: "ServerRequestContext[Any, Any]") -> "Arrival":
    """The request that a handler is called for, as its door has noted it."""
    found: Any = ctx.request
    return found.scope[KEY] if hasattr(found, "scope") else found


KEY = "postroom.arrival"  # in the scope of an HTTP request
