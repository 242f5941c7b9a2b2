"""The whole server as one ASGI application: the guard outside, the routes inside."""

import logging
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from postroom.errors import PostroomError, UsageError
from postroom.server import compat, listening, openapi, page, problem, prometheus, relay, rest, stream
from postroom.server.desk import Desk
from postroom.server.exchange import Exchange
from postroom.server.feed import Feed
from postroom.server.guard import Guard, Premises

_log = logging.getLogger("postroom.daemon")


def application(desk: Desk, premises: Premises, more: Sequence[BaseRoute] = ()) -> Guard:
    """Serves a desk; `premises` says under which names, and `more` is what else is served there."""
    handlers: dict[Any, Any] = {
        PostroomError: _told, HTTPException: _astray, Exception: _unexpected,
    }  # fmt: skip
    return Guard(
        Starlette(routes=[*more, *routes(desk, premises.cookie)], exception_handlers=handlers), premises
    )


def routes(desk: Desk, cookie: str) -> list[BaseRoute]:
    """All of them; the page takes what is left."""
    feed, exchange = Feed(desk), Exchange(desk)
    return [
        Route("/healthz", _health, methods=["GET"], name="healthz"),
        prometheus.route(desk),
        Route(openapi.PATH, _described, methods=["GET"], name="openapi"),
        stream.route(desk, feed),
        listening.route(desk),
        relay.route(desk, feed, exchange),
        *compat.routes(desk, feed, exchange),
        *rest.routes(desk),
        *page.routes(desk, cookie),
    ]


async def _health(_: Request) -> Response:
    """That it answers, and nothing else: who asks is not known."""
    return rest.answer({"status": "ok"})


async def _described(_: Request) -> Response:
    return rest.answer(openapi.openapi())


async def _told(_: Request, exc: PostroomError) -> Response:
    if problem.status(exc) >= 500:
        _log.error("refused", extra={"facts": {"error": exc, "code": exc.code}})
    return rest.answer(exc.as_json(), problem.status(exc), problem.advice(exc))


async def _astray(request: Request, exc: HTTPException) -> Response:
    """No such route, or not by that method."""
    if exc.status_code == 405:
        wrong = UsageError(
            f"{request.method} is no way to ask for {request.url.path[:80]!r}",
            hint=f"See: {problem.DOCUMENT}",
        )
        return rest.answer(wrong.as_json(), 405)
    return rest.answer(problem.nowhere(request.url.path).as_json(), 404)


async def _unexpected(_: Request, exc: Exception) -> Response:
    _log.error("unexpected", exc_info=exc, extra={"facts": {"error": exc}})
    return rest.answer(problem.unexpected(exc).as_json(), 500)
