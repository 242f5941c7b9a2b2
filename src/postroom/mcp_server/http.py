"""The tools over HTTP: the streamable transport of both eras, inside the daemon's own guard.

A visit is a session of the older protocol. The newer has none: there it is all that one caller does with one
program, until that program begins anew, or is silent for half an hour.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from postroom.mcp_server.news import KEY
from postroom.mcp_server.visit import Arrival, Visit
from postroom.model import ids

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from postroom.mcp_server.news import News
    from postroom.mcp_server.port import Guest, Host

Key = tuple[str, str]  # who calls, and its session or its program

_SILENCE = 1800.0  # seconds after which nobody is there any more
_ANEW = "server/discover"  # what a program asks first


class _Place:
    """A visit, how many of its requests are under way, and when it ends if there are none."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.busy = 0
        self.timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self.busy += 1
        self.stop()

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Http:
    """An ASGI application for one server."""

    def __init__(
        self,
        server: "Server[Any]",
        host: "Host",
        guest: "Callable[[Scope], Guest]",
        news: "News",
        lasting: "Callable[[Scope], contextlib.AbstractContextManager[None]]",
    ) -> None:
        """`guest`: who is at the door; blocks. `news` is told of visits that end. `lasting`: within it a
        request waits for something to happen.
        """
        self._host = host
        self._guest = guest
        self._news = news
        self._lasting = lasting
        self._places: dict[Key, _Place] = {}
        self._endings: set[asyncio.Task[None]] = set()
        self._manager = StreamableHTTPSessionManager(server, session_idle_timeout=_SILENCE)

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        async with self._manager.run():
            yield
        for key in list(self._places):
            await self._end(key)
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guest = await self._host.do(self._guest, scope)
        key = _key(scope, guest)
        if scope["method"] == "DELETE" or Headers(scope=scope).get("mcp-method") == _ANEW:
            await self._end(key)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _Place(Visit(ids.nonce(), guest.process))
        place.begin()
        waiting = partial(self._lasting, scope)
        scope[KEY] = arrival = Arrival(place.visit, guest.admit, waiting=waiting)
        token = AccessToken(token="", client_id=guest.key, scopes=[])
        scope["user"] = AuthenticatedUser(token)  # a session is nobody's but whose who began it

        async def sending(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                arrival.written(self._host)

        try:
            await self._manager.handle_request(scope, receive, sending)
        finally:
            await asyncio.shield(arrival.lost(self._host))
            self._leave(key, place)

    def _leave(self, key: Key, place: _Place) -> None:
        """One request is done with. A visit that holds nothing is forgotten at once, any other later."""
        place.busy -= 1
        if place.busy:
            return
        if self._places.get(key) is not place:  # it was ended while this was under way
            self._end_later(place)
            return
        if not place.visit.is_holding and not self._news.follows(place.visit):
            del self._places[key]
            return
        loop = asyncio.get_running_loop()
        place.timer = loop.call_later(_SILENCE, self._end_silent, key, place)

    def _end_silent(self, key: Key, place: _Place) -> None:
        if self._places.get(key) is place:
            del self._places[key]
        self._end_later(place)

    def _end_later(self, place: _Place) -> None:
        task = asyncio.ensure_future(self._finish(place))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def _end(self, key: Key) -> None:
        if place := self._places.pop(key, None):
            await self._finish(place)

    async def _finish(self, place: _Place) -> None:
        place.stop()
        self._news.leave(place.visit)
        await place.visit.handed()
        await self._host.do(place.visit.end, self._host.room)


def _key(scope: Scope, guest: "Guest") -> Key:
    headers = Headers(scope=scope)
    return guest.key, headers.get("mcp-session-id") or f"program {headers.get('user-agent', '')}"
