"""A mailbox held for a program elsewhere: `GET /api/v1/inbox/listen`, as events.

The connection is the program's sign of life: while it stands, nobody else can take from the mailbox, and when
it ends, what was given and not called seen is offered again, labelled. One message is given at a time; who
says that it was `heard` has seen it, and gets the next.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from postroom.errors import Refused
from postroom.model import ids
from postroom.model.message import Mail
from postroom.protocol import record
from postroom.protocol.operation import MAIL, PREFIX
from postroom.room.aio import AsyncRoom
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.server import problem
from postroom.server.desk import Desk
from postroom.server.doorway import first_of, still_known
from postroom.server.guard import credentials
from postroom.server.line import lasts
from postroom.server.stream import HEADERS, PING, frame

PATH = f"{PREFIX}/inbox/listen"
_PARAMETERS = ("agent", "project")


def route(desk: Desk) -> Route:
    worker = ThreadPoolExecutor(1, "listen")  # one for all, so that what one has begun ends before the next

    async def listen(request: Request) -> Response:
        query = request.query_params
        for name in query:
            if name not in _PARAMETERS:
                raise problem.no_field(name, _PARAMETERS, "there is no parameter")
        who = await desk.do(desk.identify, credentials(request.scope))
        who.check(MAIL)
        room = desk.view(who, query.get("project"))
        held = Held(room, worker, who.claimer)
        await held.begin(query.get("agent"))
        return _Streamed(desk, held)

    async def end() -> None:
        for held in list(desk.held.values()):
            await held.end()
        worker.shutdown(wait=False)

    desk.endings.append(end)
    return Route(PATH, listen, methods=["GET"], name="listen")


class Held(AsyncRoom):
    """A mailbox that one connection holds."""

    def __init__(self, room: LocalRoom, worker: ThreadPoolExecutor, claimer: str) -> None:
        super().__init__(room, worker)
        self.id, self.claimer = ids.nonce(), claimer
        self.over = asyncio.Event()
        self._heard = asyncio.Event()
        self._lease: Listening | None = None

    @property
    def lease(self) -> Listening:
        assert self._lease is not None, "it has begun"
        return self._lease

    async def begin(self, agent: str | None) -> None:
        """Raises `MailboxLeased` while another listens there."""
        self._lease = await self.call(Listening, self.room, agent, None, enclosures=False)

    async def next(self) -> Mail:
        """The next message, once there is one."""
        look = partial(self.call, self.lease.look)
        mail = await self._watch_with(self.lease.waiter, self.lease.agent, look, None)
        assert mail is not None, "it waits for ever"
        self._heard.clear()  # whatever was said before was not of this one
        return mail

    async def heard(self) -> None:
        """What was given has been seen."""
        await self.call(self.lease.settle)
        self._heard.set()

    async def until_heard(self) -> None:
        await self._heard.wait()

    async def end(self) -> None:
        """What is in hand is offered again, labelled."""
        if not self.over.is_set():
            self.over.set()
            await self.call(self.lease.close)


class _Streamed(Response):
    """Mail, one after another, for as long as somebody reads it."""

    def __init__(self, desk: Desk, held: Held) -> None:
        self._desk, self._held = desk, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held, headers = self._held, {**HEADERS, "content-type": "text/event-stream; charset=utf-8"}
        self._desk.held[held.id] = held
        lasts(scope)
        try:
            start = [(name.encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": 200, "headers": start})
            await _say(send, frame(held.id, "hello", {"listener": held.id}))
            known = still_known(self._desk, credentials(scope))
            with suppress(Refused, OSError):  # whose token it was is nobody any more, or has gone
                await first_of(self._tell(send), _ping(send), _gone(receive), held.over.wait(), known)
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b""})
        finally:
            await held.end()
            del self._desk.held[held.id]

    async def _tell(self, send: Send) -> None:
        while True:
            mail = await self._held.next()
            await _say(send, frame(mail.id, "mail", record.mail(mail)))
            await self._held.until_heard()


async def _say(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _ping(send: Send) -> None:
    while True:
        await asyncio.sleep(PING)
        await _say(send, ": ping\n\n")


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
