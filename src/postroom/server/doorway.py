"""How a client comes to a WebSocket: who it is and what it asks for is known before it is accepted."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from postroom.errors import PostroomError, Refused, StoreError, UnknownProject
from postroom.model.message import Agent
from postroom.protocol.operation import MAIL, OBSERVE
from postroom.room.local import LocalRoom
from postroom.server import login, problem
from postroom.server.desk import Desk
from postroom.server.guard import credentials, refuse
from postroom.server.principal import Credentials, Principal

Stay = Callable[[Receive, Send], Awaitable[None]]

RESUMED = 4001  # the code with which a connection is closed that its client has left for another

LATER = 1013  # the same, for one that could not be let in now
NOBODY = 4401  # the same, for one whose token was revoked, or whose page was logged out
_LOOK = 30.0  # seconds after which it is asked again who somebody is


class Visitor(NamedTuple):
    """Who is connected, and as whom."""

    who: Principal
    room: LocalRoom  # as it has it, standing in the project
    project: str
    agent: Agent | None  # whose mailbox; None: nobody's, it only looks on


class Doorway:
    """An ASGI application for one kind of WebSocket. Whatever is wrong is told before it is accepted."""

    def __init__(
        self,
        desk: Desk,
        names: tuple[str, ...],
        enter: Callable[[Scope, dict[str, str]], Awaitable[Stay]],
    ) -> None:
        self._desk = desk
        self._names = names
        self._enter = enter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # that it would like to connect
        try:
            stay = await self._enter(scope, self._query(scope))
        except PostroomError as exc:
            await refuse(scope, send, exc)
            return
        await send({"type": "websocket.accept"})
        with suppress(OSError):  # whom it was sent to is gone
            try:
                await stay(receive, send)
            except PostroomError as exc:
                code = NOBODY if isinstance(exc, Refused) else LATER
                await send({"type": "websocket.close", "code": code, "reason": str(exc)[:100]})

    def _query(self, scope: Scope) -> dict[str, str]:
        found = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        for name in found:
            if name not in self._names:
                raise problem.no_field(name, self._names, "there is no parameter")
        return found


def visitor(desk: Desk, scope: Scope, project: str, name: str, *, joins: bool = False) -> Visitor:
    """Who comes; off the event loop. `joins`: a program of the same user may bring a new name."""
    brought: Credentials = credentials(scope)
    who = desk.identify(brought)
    who.check(MAIL if name else OBSERVE)
    if desk.room.store.look().project(project) is None:
        raise UnknownProject(f"there is no project {project[:80]!r}", project=project[:80])
    if who.agent is None and name:
        who = who._replace(name=name)
    room = desk.view(who, project)
    if joins and who.agent is None and name:
        room.join(name)
    return Visitor(who, room, project, room.who(name) if name else None)


async def still_known(desk: Desk, brought: Credentials) -> None:
    """For ever, or until who came is nobody any more, which is raised."""
    while True:
        await asyncio.sleep(_LOOK)
        with suppress(StoreError):  # that says nothing of who it is
            await desk.do(desk.identify, brought)


class Known:
    """Who came, for as long as that is so."""

    def __init__(self, desk: Desk, brought: Credentials) -> None:
        self._desk, self._brought = desk, brought
        self._stamp: int = login.stamp(desk.room.home)
        self._looked = time.monotonic()

    async def still(self) -> bool:
        """Whether nobody has logged it out; whether its token is still good is looked at now and then."""
        stamp = login.stamp(self._desk.room.home)
        now = time.monotonic()
        if now - self._looked < _LOOK and stamp == self._stamp:
            return True
        self._stamp, self._looked = stamp, now
        try:
            with suppress(StoreError):
                await self._desk.do(self._desk.identify, self._brought)
        except Refused:
            return False
        return True


async def first_of(*work: Awaitable[Any]) -> None:
    """Until the first of them ends; raises what ended it, if that is an error of ours."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def told(exc: Exception) -> dict[str, Any]:
    """An error as a frame has it."""
    return (exc if isinstance(exc, PostroomError) else problem.unexpected(exc)).as_json()
