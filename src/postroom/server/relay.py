"""Mail over a WebSocket: `/ws/projects/{project}?agent=…`.

What is pushed is *offered* in the connection's own context; it is *seen* when the client says so,
acknowledges or answers. A client that names no agent looks on.
"""

import asyncio
import base64
import json
import logging
from functools import partial
from typing import Any, NoReturn, cast

from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send

from postroom.errors import InvalidValue, PostroomError, RateLimited, StoreBusy, UsageError
from postroom.model.message import Json, Mail, make
from postroom.protocol import record
from postroom.protocol.operation import BY_NAME, OPERATIONS, Operation
from postroom.room.handout import Cursor, cursor
from postroom.room.identity import is_of
from postroom.server.acts.looking import checked_cursor
from postroom.server.acts.writing import post
from postroom.server.calling import ACTS, checked, is_patient
from postroom.server.connection import WIDEST, WINDOW, Connection
from postroom.server.desk import Call, Desk
from postroom.server.doorway import RESUMED, Doorway, Stay, Visitor, first_of, still_known, told, visitor
from postroom.server.exchange import Exchange
from postroom.server.feed import Feed
from postroom.server.guard import credentials
from postroom.server.line import line
from postroom.server.principal import Credentials
from postroom.server.rate import Rates
from postroom.server.stream import Sieve
from postroom.text import encode

PATH = "/ws/projects/{project}"
PARAMETERS = ("agent", "cursor", "window", "receipts")
SEEN, PING = "seen", "ping"
_POSTS = frozenset(("send", "reply", "forward", "decide", "ack", "nack", "withdraw"))
_AT_ONCE = frozenset(("send", "reply", "ack", "nack"))  # each is one transaction, unless files come with it
_PROVES = frozenset(("ack", "nack", "reply", "decide"))
_AUTHORS = {  # by operation, what names whose act it is
    one.name: [
        part.name for part in one.parameters if part.name in ("agent", "sender") and one.method != "GET"
    ]
    for one in OPERATIONS
}
_BY_ID = frozenset(one.name for one in OPERATIONS if any(part.name == "id" for part in one.parameters))
_MOST_PATIENT = 16  # calls that wait, of one client
_log = logging.getLogger("postroom.daemon")


def route(desk: Desk, feed: Feed, exchange: Exchange) -> WebSocketRoute:
    async def enter(scope: Scope, query: dict[str, str]) -> Stay:
        project, name = scope["path_params"]["project"], query.get("agent", "")
        guest = await desk.do(visitor, desk, scope, project, name)
        if guest.agent is None:
            after = checked_cursor(query["cursor"]) if query.get("cursor") else await feed.cursor()
            return Onlooker(desk, feed, guest, after, credentials(scope)).stay
        upto = cursor(query["cursor"]) if query.get("cursor") else None
        one = Connection(guest.agent, _dressed, exchange.presence(project), _window(query.get("window", "")))
        one.wants_receipts = query.get("receipts", "") in ("1", "true")
        return Client(desk, exchange, guest, one).staying(scope, feed, upto)

    return WebSocketRoute(PATH, Doorway(desk, PARAMETERS, enter), name="relay")


def _window(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= WIDEST):
        raise InvalidValue(f"window must be from 0 to {WIDEST}", field="window")
    return int(text or WINDOW)


def _dressed(mail: Mail, texts: dict[int, str]) -> str:
    """The message itself is written once, however many get it."""
    delivery = mail.delivery
    shared = texts.get(delivery.seq)
    if shared is None:
        shared = texts[delivery.seq] = record.spelt(mail.message)[:-1]
    shown = "true" if delivery.shown_before else "false"
    return (
        f'{{"type":"mail","cursor":"{delivery.nonce}","mail":{shared},"state":"offered",'
        f'"shown_before":{shown},"recipient":{encode(delivery.recipient)}}}}}'
    )


class Client:
    """An agent's or a person's connection: the incoming half."""

    def __init__(self, desk: Desk, exchange: Exchange, guest: Visitor, one: Connection) -> None:
        self._desk, self._exchange, self._guest, self._one = desk, exchange, guest, one
        self._rates = Rates(desk.room.settings.http_rate)
        self._patient: set[asyncio.Task[None]] = set()
        self._is_free = False  # whether no frame is waited for
        self._is_counted = False  # whether the next frame counts already

    def staying(self, scope: Scope, feed: Feed, upto: Cursor | None) -> Stay:
        async def stay(receive: Receive, send: Send) -> None:
            one = self._one
            following = [self._follow(feed)] if one.wants_receipts else []
            try:
                self.greet()
                one.line = line(scope)
                if one.window:  # else it only asks, and nobody can reach it here
                    await self._exchange.enter(one, upto)
                if one.line is not None:
                    one.line.hear = self.heard
                still = still_known(self._desk, credentials(scope))
                await first_of(one.write(send), self._read(receive), one.closed.wait(), still, *following)
                if one.closed.is_set():
                    await send({"type": "websocket.close", "code": RESUMED, "reason": "you have come back"})
            finally:
                for task in self._patient:
                    task.cancel()
                if one.window:
                    self._exchange.leave(one)
                one.end()

        return stay

    def greet(self) -> None:
        self._one.say(
            {"type": "hello", "agent": self._one.agent.address, "project": self._guest.project,
             "connection": self._one.stand.id, "window": self._one.window}
        )  # fmt: skip

    async def _follow(self, feed: Feed) -> None:
        """What becomes of what it wrote."""
        async for item in feed.follow():
            if item is not None and "delivery" in item.document and is_of(item.author, self._one.agent.id):
                self._one.tell_receipt((item.event.refs["seq"], item.event.party), item.document["delivery"])

    async def _read(self, receive: Receive) -> None:
        """One frame after another; who asks faster than it may, or reads no answers, is read more slowly."""
        while True:
            self._is_free = True
            message = await receive()
            self._is_free = False
            if message["type"] != "websocket.receive":
                return
            await self.hear(message.get("text"))
            await self._one.has_room()
            while not self._is_counted and (wait := self._rates.take("")) > 0:
                await asyncio.sleep(wait)
            self._is_counted = False

    def heard(self, text: str) -> bool:
        """One frame, as it comes, if there is nothing to wait for; else `hear` has it."""
        if not self._is_free or not self._one.is_heard or self._rates.take("") > 0:
            return False
        number: Any = None
        try:
            frame = parsed(text)
            number = _number(frame)
            self._is_counted = not self._at_once(number, frame)
            return not self._is_counted
        except PostroomError as exc:
            self._answer(number, told(exc))
        except Exception as exc:
            self._failed(number, exc)
        return True

    async def hear(self, text: str | None) -> None:
        """One frame."""
        number: Any = None
        try:
            frame = parsed(text)
            number = _number(frame)
            if not self._at_once(number, frame):
                await self._asked(number, frame)
        except PostroomError as exc:
            self._answer(number, told(exc))
        except Exception as exc:
            self._failed(number, exc)

    def _failed(self, number: Any, exc: Exception) -> None:
        _log.error("unexpected", exc_info=exc, extra={"facts": {"error": exc}})
        self._answer(number, told(exc))

    def _at_once(self, number: Any, frame: Json) -> bool:
        """Whether it could be done here and now."""
        name = frame.get("op")
        if not isinstance(name, str):
            return False
        if name == PING:
            self._answer(number, {"ok": {}})
        elif name == SEEN:
            self._seen(number, frame)
        elif name in _AT_ONCE and not frame.get("attachments"):
            call = self._call(BY_NAME[name], frame)
            act = post if name == "send" and number is None else ACTS[name]  # nobody reads what becomes of it
            try:
                self._posted(number, call, *self._exchange.at_once(lambda: act(call)))
            except StoreBusy:
                return False
        else:
            return False
        return True

    async def _asked(self, number: Any, frame: Json) -> None:
        name = frame.get("op")
        if not isinstance(name, str) or name not in BY_NAME:
            raise UsageError(f"there is no operation {str(name)[:40]!r}", hint="See: /api/v1/openapi.json")
        call, act = self._call(BY_NAME[name], frame), ACTS[name]
        if is_patient(call.operation):
            self._begin(number, call)
        elif name in _POSTS:
            self._posted(number, call, await self._exchange.do(lambda: act(call)))
        else:
            result = await self._desk.do(act, call)
            self._answer(number, {"ok": _spelt(*result) if name == "attachment" else result})

    def _seen(self, number: Any, frame: Json) -> None:
        """Its own word for all up to a cursor, or for one message; answered when that is stored."""
        upto, ref = frame.get("cursor"), frame.get("ref")
        if set(frame) - {"op", "cursor", "ref"} or not isinstance(upto or ref, str):
            raise InvalidValue("`seen` takes a `cursor` or a `ref`", field="cursor")
        claims = self._one.proven(cursor(upto) if isinstance(upto, str) else None, str(ref or ""))
        answer = partial(self._answer, number, {"ok": {"seen": len(claims)}}, silent=True)
        if claims:
            self._exchange.prove(self._one, claims, noted=None if number is None else answer)
        else:
            answer()

    def _call(self, operation: Operation, frame: Json) -> Call:
        """What a frame asks for, in the name of whose connection it is."""
        guest, args = self._guest, frame.copy()
        del args["op"]
        for name in _AUTHORS[operation.name]:
            args.setdefault(name, self._one.agent.address)
        if operation.name in _BY_ID and "ref" in args:  # in a frame, `id` is the number of the call
            args["id"] = args.pop("ref")
        guest.who.check(operation.scope)
        checked(operation, args)
        project = args.get("project")
        room = self._desk.view(guest.who, project) if project else guest.room
        return make(Call, (self._desk, operation, guest.who, room, args))

    def _posted(
        self, number: Any, call: Call, posted: Any, confirmed: "asyncio.Future[None] | None" = None
    ) -> None:
        if call.operation.name in _PROVES:
            self._exchange.prove(self._one, self._one.proven(ref=_about(posted)))
        if confirmed is None:
            self._answer(number, {"ok": posted}, silent=True)
        else:
            confirmed.add_done_callback(lambda _: self._confirmed(number, posted, confirmed))

    def _confirmed(self, number: Any, posted: Any, done: "asyncio.Future[None]") -> None:
        try:
            done.result()
            self._answer(number, {"ok": posted}, silent=True)
        except PostroomError as exc:
            self._answer(number, told(exc))
        except Exception as exc:
            self._failed(number, exc)

    def _begin(self, number: Any, call: Call) -> None:
        """What waits is waited for beside all else."""
        if len(self._patient) >= _MOST_PATIENT:
            raise RateLimited(f"{_MOST_PATIENT} calls are waiting already", retry_after=1)

        async def wait() -> None:
            try:
                self._answer(number, {"ok": await ACTS[call.operation.name](call)})
            except PostroomError as exc:
                self._answer(number, told(exc))

        task = asyncio.create_task(wait())
        self._patient.add(task)
        task.add_done_callback(self._patient.discard)

    def _answer(self, number: Any, document: Json, *, silent: bool = False) -> None:
        """To who gave a number; without one only errors are told."""
        if number is not None:
            self._one.say({"id": number, **document})
        elif not silent:
            self._one.say(document)


class Onlooker:
    """A connection that names no agent: it is told what is written in the project, and says nothing."""

    def __init__(self, desk: Desk, feed: Feed, guest: Visitor, after: str, brought: Credentials) -> None:
        self._desk, self._brought = desk, brought
        self._feed, self._after = feed, after
        self._sieve = Sieve(desk, guest.who, guest.project)
        self._project = guest.project

    async def stay(self, receive: Receive, send: Send) -> None:
        await self.greet(send)
        still = still_known(self._desk, self._brought)
        await first_of(self._tell(send), self._gone(receive, send), still)

    async def greet(self, send: Send) -> None:
        hello = {"type": "hello", "agent": None, "project": self._project, "cursor": self._after}
        await send({"type": "websocket.send", "text": encode(hello)})

    async def _tell(self, send: Send) -> None:
        async for item in self._feed.follow(self._after):
            if item is not None and item.event.type == "message.sent" and self._sieve.passes(item):
                await send({"type": "websocket.send", "text": self.dressed(item.event.message, item.cursor)})

    def dressed(self, message: Any, at: str) -> str:
        return encode({"type": "message", "cursor": at, "message": record.message(message)})

    async def _gone(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] == "websocket.receive":
            refusal = told(UsageError("who names no agent only looks on", hint="Connect with: ?agent=NAME"))
            await send({"type": "websocket.send", "text": encode(refusal)})


def parsed(text: str | None) -> Json:
    """A frame, if it is one."""
    try:
        found = _scanned(text or "")
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"the frame is no JSON: {str(exc)[:200]}", hint='Like: {"op": "ping"}') from None
    if not isinstance(found, dict):
        raise UsageError("a frame must be a JSON object", hint='Like: {"op": "ping"}')
    return cast("Json", found)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_decoder: Any = json.JSONDecoder(parse_constant=_no_number)  # `loads` would make one for each frame


def _scanned(text: str) -> Any:
    """What a text says, which as a rule has nothing around it."""
    try:
        found, end = _decoder.scan_once(text, 0)
    except StopIteration:
        found, end = None, -1
    return found if end == len(text) else _decoder.decode(text)  # which says what is wrong


def _number(frame: Json) -> Any:
    number = frame.pop("id", None)
    is_text = isinstance(number, str) and number.isprintable()  # what is not could not be answered
    if not (number is None or is_text or isinstance(number, int)):
        raise UsageError("`id` must be a number or a text", hint='Like: {"id": 1, "op": "ping"}')
    return number


def _about(result: Json) -> str:
    """The id of the message that was acknowledged or answered; a frame may have named it by its handle."""
    found: str | Json = result["message"]
    return found if isinstance(found, str) else str(found["reply_to"])


def _spelt(name: str, content: bytes) -> Json:
    """A file in a frame."""
    return {"name": name, "content": base64.b64encode(content).decode()}
