"""The tools over HTTP: the streamable transport of both eras, inside the daemon's own guard.

A visit is a session of the older protocol. The newer has none: there it is all that one caller does with one
program, until that program begins anew, or is silent for half an hour.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
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

    from postroom.mcp_server.port import Guest, Host

_SILENCE = 1800.0  # seconds after which nobody is there any more
_ANEW = "server/discover"  # what a program asks first


class Http:
    """An ASGI application for one server."""

    def __init__(
        self, server: "Server[Any]", host: "Host", guest: "Callable[[Scope], Guest]",
        leave: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """`guest`: who is at the door; blocks. `leave` is told of visits that end."""
        self._host = host
        self._guest = guest
        self._leave = leave
        self._visits: dict[tuple[str, str], Visit] = {}
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._manager = StreamableHTTPSessionManager(server, session_idle_timeout=_SILENCE)

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        async with self._manager.run():
            yield
        for key in list(self._visits):
            await self._end(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guest = await self._host.do(self._guest, scope)
        key = _key(scope, guest)
        if scope["method"] == "DELETE" or Headers(scope=scope).get("mcp-method") == _ANEW:
            await self._end(key)
        visit = self._visits.get(key)
        if visit is None:
            visit = self._visits[key] = Visit(ids.nonce(), guest.process)
        scope[KEY] = arrival = Arrival(visit, guest.admit)
        token = AccessToken(token="", client_id=guest.key, scopes=[])
        scope["user"] = AuthenticatedUser(token)  # a session is nobody's but whose who began it

        async def sending(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                arrival.written(self._host)

        self._restart(key)
        try:
            await self._manager.handle_request(scope, receive, sending)
        finally:
            await asyncio.shield(arrival.lost(self._host))
            self._restart(key)

    def _restart(self, key: tuple[str, str]) -> None:
        if key in self._timers:
            self._timers.pop(key).cancel()
        if key in self._visits:
            loop = asyncio.get_running_loop()
            self._timers[key] = loop.call_later(_SILENCE, lambda: asyncio.ensure_future(self._end(key)))

    async def _end(self, key: tuple[str, str]) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()
        if visit := self._visits.pop(key, None):
            self._leave(visit.name)
            await visit.handed()
            await self._host.do(visit.end, self._host.room)


def _key(scope: Scope, guest: "Guest") -> tuple[str, str]:
    headers = Headers(scope=scope)
    return guest.key, headers.get("mcp-session-id") or f"program {headers.get('user-agent', '')}"
