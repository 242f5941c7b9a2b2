"""Events as they happen, for a browser's `EventSource`, which comes back with `Last-Event-ID` by itself."""

from collections.abc import AsyncIterator
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from postroom.errors import InvalidValue
from postroom.model.message import Json
from postroom.protocol.operation import MAIL, OBSERVE, PREFIX
from postroom.server.acts.looking import begun, checked_cursor
from postroom.server.desk import Desk
from postroom.server.doorway import Known
from postroom.server.feed import Feed, Item
from postroom.server.guard import credentials
from postroom.server.line import lasts
from postroom.server.principal import Principal
from postroom.text import encode

PATH = f"{PREFIX}/stream"
PING = 15.0  # seconds
_MOST = 1_000_000  # characters
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def route(desk: Desk, feed: Feed) -> Route:
    async def stream(request: Request) -> Response:
        who = await desk.do(desk.identify, credentials(request.scope))
        who.check(MAIL)
        for name in request.query_params:
            if name not in ("project", "after", "chars"):
                raise InvalidValue(f"the stream has no parameter {name[:80]!r}", field=name[:80])
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        cursor = checked_cursor(after) if after else await feed.cursor()
        sieve = Sieve(desk, who, request.query_params.get("project"))
        known = Known(desk, credentials(request.scope))
        lasts(request.scope)
        hello = {"cursor": cursor, "agent": who.address, "passing": desk.passing}
        told = _told(feed, hello, cursor, sieve, known, chars=_chars(request.query_params.get("chars")))
        return StreamingResponse(told, media_type="text/event-stream", headers=HEADERS)

    return Route(PATH, stream, methods=["GET"], name="stream")


def _chars(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= _MOST:
        return int(text)
    raise InvalidValue(f"chars must be a number up to {_MOST:,}, not {text[:40]!r}", field="chars")


async def _told(
    feed: Feed, hello: Json, cursor: str, sieve: "Sieve", known: Known, *, chars: int | None
) -> AsyncIterator[str]:
    yield frame(cursor, "hello", hello)
    async for item in feed.follow(cursor, PING):
        if not await known.still():
            return
        if item is None:
            yield ": ping\n\n"
        elif sieve.passes(item):
            yield frame(item.cursor, item.event.type, _short(item.document, chars))


def _short(document: Json, chars: int | None) -> Json:
    """With no more of a message than a list shows, for who asks for that: a body may be a megabyte."""
    message = document["payload"].get("message")
    if chars is None or not isinstance(message, dict):
        return document
    return {**document, "payload": {**document["payload"], "message": begun(cast("Json", message), chars)}}


def frame(cursor: str, kind: str, document: Any) -> str:
    return f"id: {cursor}\nevent: {kind}\ndata: {encode(document)}\n\n"


class Sieve:
    """What somebody who follows is told of."""

    def __init__(self, desk: Desk, who: Principal, project: str | None) -> None:
        self._desk = desk
        self._party = who.agent.id if who.agent and not who.has(OBSERVE) else ""
        self._project = project

    def passes(self, item: Item) -> bool:
        if self._party and not item.concerns(self._party):
            return False
        return not self._project or self._of_project(item)

    def _of_project(self, item: Item) -> bool:
        """Of a message, its own project; of somebody, theirs. People belong to every project."""
        return item.project in ("", self._project)
