"""One wall around everything: by which name and from which page somebody asks, how much, and how often.

A browser that shows another page must get nothing and do nothing here, though it runs on this machine. So
the Host must be one of ours (else a foreign name could be pointed at this machine), and what a page asks must
come from our own. Cookies are no defence against that: they do not tell ports apart.
"""

from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.errors import ForeignPage, PostroomError, RateLimited, TooLarge
from postroom.protocol.operation import PREFIX
from postroom.server import problem
from postroom.server.principal import Credentials
from postroom.server.rate import Rates
from postroom.text import encode

LARGEST = 8 << 20  # bytes of one request
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
_SAFE = ("GET", "HEAD", "OPTIONS")
_KEY = "postroom.credentials"
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Premises(NamedTuple):
    """Where the server is reached."""

    cookie: str  # the name of its cookie
    hosts: frozenset[str] | None = _LOOPBACK  # the names it answers to; None: TLS proves the name
    rate: int = 0


def credentials(scope: Scope) -> Credentials:
    """What a request has brought along, as the guard has found it."""
    return scope[_KEY]


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, premises: Premises) -> None:
        self._app = app
        self._premises = premises
        self.rates = Rates(premises.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        send = _with_headers(scope, send)
        try:
            scope[_KEY] = self._admitted(scope)
            if scope["type"] == "http":
                receive = _Limited(receive).receive
            await self._app(scope, receive, send)
        except PostroomError as exc:
            await refuse(scope, send, exc)

    def _admitted(self, scope: Scope) -> Credentials:
        """What the request brings along; raises what is wrong with it."""
        headers = Headers(scope=scope)
        brought = _brought(scope, headers, self._premises.cookie)
        if not brought.is_local:
            self._check_host(headers)
            _check_site(scope, headers)
        _check_origin(scope, headers, brought)
        _check_length(headers)
        wait = self.rates.take(brought.key)
        if wait > 0:
            hint = f"Ask again in {wait:.1f} s; the setting: http_rate"
            raise RateLimited("that is too much at once", hint=hint, retry_after=round(wait, 3))
        return brought

    def _check_host(self, headers: Headers) -> None:
        names = headers.getlist("host")
        name = names[0].lower() if len(names) == 1 else ""
        bare = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
        if not bare or (self._premises.hosts is not None and bare not in self._premises.hosts):
            raise ForeignPage(f"this server does not go by the name {name[:80]!r}")


def _brought(scope: Scope, headers: Headers, cookie: str) -> Credentials:
    """A browser's cookie counts at the port, a process's own number at the Unix socket."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    uid, pid = _peer(scope)
    return Credentials(
        bearer.strip() if kind.lower() == "bearer" else "",
        _cookie(headers, cookie) if uid < 0 else "",
        pid, uid, headers.get("postroom-agent", "")[:200], _is_near(scope),
    )  # fmt: skip


def _is_near(scope: Scope) -> bool:
    try:
        return ip_address((scope.get("client") or ("", 0))[0]).is_loopback
    except ValueError:
        return False  # a Unix socket has no address


def _peer(scope: Scope) -> tuple[int, int]:
    """The user and the process at a Unix socket, as `line.py` notes them; (-1, 0) for all others."""
    host, number = scope.get("client") or ("", 0)
    uid = host.removeprefix("uid:") if host.startswith("uid:") else ""
    return (int(uid), int(number)) if uid.isdigit() else (-1, 0)


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _check_site(scope: Scope, headers: Headers) -> None:
    """Another page may lead people to ours, and nothing else."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return
    leads = scope["type"] == "http" and scope["method"] == "GET" and not scope["path"].startswith(PREFIX)
    if not leads or headers.get("sec-fetch-mode") != "navigate":
        raise ForeignPage


def _check_origin(scope: Scope, headers: Headers, brought: Credentials) -> None:
    """What changes something must come from our own page, or from a program, which has no cookie to lend."""
    origin = headers.get("origin")
    if origin is not None:
        scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
        if origin.lower() != f"{scheme}://{headers.get('host', '').lower()}":
            raise ForeignPage
        return
    is_safe = scope["type"] == "http" and scope["method"] in _SAFE
    if not is_safe and brought.cookie and not brought.bearer:
        raise ForeignPage("a page says where it comes from, and this request does not")


def _check_length(headers: Headers) -> None:
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > LARGEST:
        raise _too_large()


def _too_large() -> TooLarge:
    return TooLarge(
        f"a request has at most {LARGEST >> 20} MB", hint="Attach large files on the machine itself."
    )


class _Limited:
    """The body of a request, as long as it is not too large."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST:
            raise _too_large()
        return message


def _with_headers(scope: Scope, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
            if scope["scheme"] in ("https", "wss"):
                headers["strict-transport-security"] = "max-age=31536000"
        await send(message)

    return sending


async def refuse(scope: Scope, send: Send, exc: PostroomError) -> None:
    """Say why not: a WebSocket is refused before it is one."""
    prefix = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), value.encode()) for name, value in problem.advice(exc).items()]
    body = encode(exc.as_json()).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": f"{prefix}.start", "status": problem.status(exc), "headers": headers})
    await send({"type": f"{prefix}.body", "body": body})
