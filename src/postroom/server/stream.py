"""Events as they happen, for a browser's `EventSource`, which comes back with `Last-Event-ID` by itself."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from postroom.errors import InvalidValue
from postroom.protocol.operation import MAIL, OBSERVE, PREFIX
from postroom.server.acts.looking import checked_cursor
from postroom.server.desk import Desk
from postroom.server.feed import Feed, Item
from postroom.server.guard import credentials
from postroom.server.principal import Principal
from postroom.text import encode

PATH = f"{PREFIX}/stream"
PING = 15.0  # seconds
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def route(desk: Desk, feed: Feed) -> Route:
    async def stream(request: Request) -> Response:
        who = await desk.do(desk.identify, credentials(request.scope))
        who.check(MAIL)
        for name in request.query_params:
            if name not in ("project", "after"):
                raise InvalidValue(f"the stream has no parameter {name[:80]!r}", field=name[:80])
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        cursor = checked_cursor(after) if after else await feed.cursor()
        told = _told(desk, feed, who, cursor, request.query_params.get("project"))
        return StreamingResponse(told, media_type="text/event-stream", headers=HEADERS)

    return Route(PATH, stream, methods=["GET"], name="stream")


async def _told(
    desk: Desk, feed: Feed, who: Principal, cursor: str, project: str | None
) -> AsyncIterator[str]:
    yield frame(cursor, "hello", {"cursor": cursor, "agent": who.address})
    sieve = Sieve(desk, who, project)
    async for item in feed.follow(cursor, PING):
        if item is None:
            yield ": ping\n\n"
        elif sieve.passes(item):
            yield frame(item.cursor, item.event.type, item.document)


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
