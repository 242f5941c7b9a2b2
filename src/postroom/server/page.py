"""The page: files as they are written, each known by what it holds, so that a browser need not load it."""

import hashlib
import os
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from postroom.server import login, problem
from postroom.server.desk import Desk

_HERE = os.path.join(os.path.dirname(__file__), "page")
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
    ".ico": "image/x-icon", ".json": "application/json", ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip
_EXPIRED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Postroom</title>
<link rel="icon" href="mark.svg" type="image/svg+xml">
<h1>This link does not work any more</h1>
<p>It can be opened once, for a minute. Get another one: <code>postroom dashboard</code></p></html>"""


class _File(NamedTuple):
    """A file of the page, as it was when it changed last."""

    stamp: tuple[int, int]
    etag: str
    content: bytes


class Page:
    """The files under `page/`, and nothing else."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    async def serve(self, request: Request) -> Response:
        path = request.path_params.get("path") or "index.html"
        file = self._file(path)
        headers = {"etag": file.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=_TYPES[os.path.splitext(path)[1]], headers=headers)

    def _file(self, path: str) -> _File:
        parts = path.split("/")
        is_plain = all(part.strip(".") and part.isprintable() and part[0] != "." for part in parts)
        where = os.path.join(_HERE, *parts)
        if (
            not is_plain
            or "\\" in path
            or os.path.splitext(path)[1] not in _TYPES
            or not os.path.isfile(where)
        ):
            raise problem.nowhere(f"/{path}")
        about = os.stat(where)
        stamp = about.st_mtime_ns, about.st_size
        known = self._files.get(where)
        if known is None or known.stamp != stamp:
            with open(where, "rb") as file:
                content = file.read()
            known = _File(stamp, f'"{hashlib.sha256(content).hexdigest()[:20]}"', content)
            self._files[where] = known
        return known


def routes(desk: Desk, cookie: str) -> list[Route]:
    page = Page()

    async def log_in(request: Request) -> Response:
        """A link that works once begins a session in this browser."""
        person = await desk.do(desk.links.take, request.query_params.get("once", "")[:200])
        if not person:
            return Response(_EXPIRED, 403, media_type="text/html; charset=utf-8")
        secret = await desk.do(login.begin, desk.room.home, person)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            cookie, secret, max_age=login.LASTS // 1000, httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return response

    return [
        Route("/login", log_in, methods=["GET"], name="login"),
        Route("/{path:path}", page.serve, methods=["GET"], name="page"),
    ]
