"""The agents' own tools in the daemon's web server: who comes in by which door. What serves them is loaded
when the first of them comes.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send

from postroom import host
from postroom.daemon import log
from postroom.errors import NoIdentity, PostroomError, Refused
from postroom.mcp_server.around import around
from postroom.mcp_server.place import LINES, LONGEST, PATH
from postroom.mcp_server.port import Caller, Guest
from postroom.model import ids
from postroom.model.message import Json
from postroom.protocol.operation import MAIL, OBSERVE
from postroom.room.guest import Talk, evidence, may_settle_in, settle_in, talk
from postroom.server.desk import Desk
from postroom.server.doorway import NOBODY, first_of, still_known
from postroom.server.guard import credentials, refuse
from postroom.server.line import lasting, lasts
from postroom.server.principal import Credentials, Principal, scopes
from postroom.server.rate import Rates

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from postroom.mcp_server.http import Http
    from postroom.mcp_server.server import Tools

T = TypeVar("T")

_LISTENS = "subscriptions/listen"  # as a GET in the older protocol: for as long as somebody reads


class Agency:
    """One for each server."""

    def __init__(self, desk: Desk, make: "Callable[[Any], tuple[Tools, Server[Any]]] | None" = None) -> None:
        """`make`: what makes the server, if not the usual one."""
        self._desk = desk
        self._make = make
        self.room, self.pool = desk.room, desk.pool
        self._loading: asyncio.Task[None] | None = None
        self._http: Http | None = None
        desk.endings.append(self.end)

    @property
    def routes(self) -> list[BaseRoute]:
        # Starlette calls an object that is no function as an application.
        return [Route(PATH, endpoint=_Door(self._post)), WebSocketRoute(LINES, endpoint=_Door(self._lines))]

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self._desk.do(function, *args, **kwargs)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._load()
        assert self._http is not None
        if scope["method"] == "GET" or Headers(scope=scope).get("mcp-method") == _LISTENS:
            lasts(scope)
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await first_of(self._http(scope, receive, sending), still_known(self._desk, credentials(scope)))
        except Refused:  # whose token it was is nobody any more
            if not began:
                raise
            with contextlib.suppress(OSError, RuntimeError):
                await send({"type": "http.response.body", "body": b""})

    async def _lines(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # that it would like to connect
        said = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        try:
            guest = await self.do(self._guest, scope, said)
        except PostroomError as exc:
            await refuse(scope, send, exc)
            return
        await self._load()
        await send({"type": "websocket.accept"})

        async def write(text: str) -> None:
            await send({"type": "websocket.send", "text": text + "\n"})

        visit = said.get("visit", "")
        name = visit if visit.isalnum() and len(visit) < 40 else ids.nonce()
        stream = self._stream(guest, name, write, confirms="confirms" in said)
        code = 1001
        try:
            lines = _paced(_lines_of(receive), Rates(self.room.settings.http_rate))
            await first_of(stream.serve(lines), still_known(self._desk, credentials(scope)))
        except* OSError:
            pass  # whom it was sent to is gone
        except* Refused:  # whose token it was is nobody any more
            code = NOBODY
        finally:
            self._tools.news.leave(stream.visit)
        with contextlib.suppress(OSError, RuntimeError):
            await send({"type": "websocket.close", "code": code})

    async def _load(self) -> None:
        if self._loading is None:
            self._loading = asyncio.create_task(self._begin())
        loading = self._loading
        try:
            await asyncio.shield(loading)
        except Exception:  # a machine out of memory or files: whoever comes next tries again
            self._loading = None if self._loading is loading else self._loading
            raise

    async def _begin(self) -> None:
        await self.do(__import__, "postroom.mcp_server.whole", fromlist=["made"])
        from postroom.mcp_server.whole import Http, Stream, made  # noqa: PLC0415 - a second and a half

        self._tools, server = (self._make or made)(self)
        self._http = Http(server, self, partial(self._guest, said={}), self._tools.news, lasting)
        self._stream: Callable[..., Stream] = partial(Stream, server, self)
        self._running = asyncio.create_task(self._run(self._http, begun := asyncio.Event()))
        await begun.wait()
        log.note("tools loaded")

    async def _run(self, http: "Http", begun: asyncio.Event) -> None:
        """In a task of its own: what is entered there must be left there."""
        self._ends = asyncio.Event()
        async with http.run():
            begun.set()
            await self._ends.wait()

    async def end(self) -> None:
        if self._http is not None:
            self._tools.news.close()
            self._ends.set()
            await asyncio.gather(self._running, return_exceptions=True)

    def _guest(self, scope: Scope, said: dict[str, str]) -> Guest:
        brought = credentials(scope)
        who = self._desk.identify(brought)
        who.check(MAIL)
        process = host.identity_of(brought.pid) if brought.is_local and brought.pid > 0 else ""
        return Guest(who.key, partial(self._admit, brought, said), process)

    def _admit(self, brought: Credentials, said: dict[str, str], meta: Json | None = None) -> Caller:
        """Asked again with each call: hooks may have told of a session since, and tokens can be revoked.

        `meta`: what the request says of itself.
        """
        who = self._desk.identify(brought)
        who.check(MAIL)
        is_known_by_process = brought.is_local and not brought.bearer and not who.name
        if meta and is_known_by_process and (one := talk(brought.pid, meta)):
            who = self._among(who, one, brought, said)
        if who.agent is None:
            who = self._named(who, brought, said)
        assert who.agent is not None
        return Caller(who.agent, self._desk.view(who, said.get("project")), who.has(OBSERVE))

    def _among(self, who: Principal, one: Talk, brought: Credentials, said: dict[str, str]) -> Principal:
        """One conversation of several that a process may host."""
        found = evidence(self.room.store.look(), one)
        if found is None and "cwd" in said:
            place, project = around(one, said["cwd"], said.get("name", "")), said.get("project", "")
            settle_in(self.room, brought.pid, said["cwd"], project=project, among=one, around=place)
            found = evidence(self.room.store.look(), one)
        agent = self.room.store.look().agent(found.agent) if found else None
        if found is None or agent is None:
            return who
        return Principal(agent, scopes(agent, ()), found.verified, found, key=who.key)

    def _named(self, who: Principal, brought: Credentials, said: dict[str, str]) -> Principal:
        """A program of the same user: by the name that it claims, or by the process that has started it."""
        if who.name:
            room = self._desk.view(who, said.get("project"))
            return who._replace(agent=room.join(who.name))
        if "cwd" not in said or not may_settle_in(self.room.store.look(), brought.pid):
            raise NoIdentity
        settle_in(
            self.room, brought.pid, said["cwd"], name=said.get("name", ""), project=said.get("project", "")
        )
        found = self._desk.identify(brought)
        if found.agent is None:
            raise NoIdentity
        return found


class _Door:
    def __init__(self, app: Callable[[Scope, Receive, Send], Any]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _paced(lines: AsyncIterator[bytes], rates: Rates) -> AsyncIterator[bytes]:
    """As a frame of the relay, each counts as a request: who says more than it may is read more slowly."""
    async for line in lines:
        while (wait := rates.take("")) > 0:
            await asyncio.sleep(wait)
        yield line


async def _lines_of(receive: Receive) -> AsyncIterator[bytes]:
    """A line may come in several frames. Each is looked through once, and what is held is never copied for
    the next: a client could have a line of 8 MB copied for each of its frames of two bytes.
    """
    held = bytearray()
    while (message := await receive())["type"] == "websocket.receive":
        first, *lines = (message.get("bytes") or (message.get("text") or "").encode()).split(b"\n")
        held += first
        if lines:
            *whole, rest = bytes(held), *lines
            held = bytearray(rest)
            for line in whole:
                yield line
        if len(held) > LONGEST:
            return
