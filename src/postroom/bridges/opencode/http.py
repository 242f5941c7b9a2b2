"""An opencode server on this machine: calls over HTTP, and the stream of its events."""

import base64
import json
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse
from socket import SHUT_RDWR, socket
from typing import Any, NamedTuple
from urllib.parse import quote

from postroom.bridges.server.answer import Refusal, Silence, Unsent
from postroom.bridges.server.said import table
from postroom.errors import BridgeError
from postroom.model.message import Json
from postroom.text import encode

_ASK = 5.0  # seconds for one answer
_BEAT = 60.0  # seconds without an event, or the heartbeat that comes every ten, after which a stream is dead
_MOST = 1 << 24  # bytes of one answer
_LINE = 1 << 20  # bytes of one event
_USER = "opencode"


class Site(NamedTuple):
    """Where a server listens, and what it wants to hear before it answers."""

    port: int
    host: str = "127.0.0.1"
    password: str = ""
    user: str = _USER

    def headers(self) -> dict[str, str]:
        if not self.password:
            return {}
        pair = base64.b64encode(f"{self.user or _USER}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


class Http:
    """Calls to one server; each has an end."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def get(self, *path: str, **query: str) -> Any:
        return self._ask("GET", path, query=query)

    def post(self, *path: str, body: Json) -> Any:
        return self._ask("POST", path, body=body)

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        body: Json | None = None,
        query: dict[str, str] | None = None,
    ) -> Any:
        """Raises `Refusal`, `Unsent` or `Silence`; what failed in the server may have been done there."""
        link = HTTPConnection(self._site.host, self._site.port, timeout=_ASK)
        try:
            try:
                link.connect()
            except OSError as exc:
                raise Unsent(f"its server cannot be reached: {exc}") from None
            return self._answer(link, method, _target(path, query or {}), body)
        finally:
            link.close()

    def _answer(self, link: HTTPConnection, method: str, target: str, body: Json | None) -> Any:
        sent = None if body is None else encode(body).encode(errors="replace")
        limit = _Limit(link.sock, _ASK)
        try:
            link.request(method, target, sent, {"Content-Type": "application/json", **self._site.headers()})
            response = link.getresponse()
            data = response.read(_MOST)
        except (OSError, HTTPException) as exc:
            raise Silence(f"its server did not answer to {method} {target}: {exc!r}") from None
        finally:
            limit.end()
        if limit.is_over:
            raise Silence(f"its server did not answer to {method} {target} within {_ASK:g} s")
        if response.status >= 500:
            raise Silence(_refused(response, data))
        if response.status >= 400:
            raise Refusal(_refused(response, data))
        found = _parsed(data)
        if data and found is None:
            raise Silence(f"what answered to {method} {target} is no server of opencode")
        return found

    def follow(self, told: Callable[[Json], None], ended: Callable[[], None]) -> "Stream":
        """Have what the server tells everybody told, by a thread of its own."""
        return Stream(self._site, told, ended)


class _Limit:
    """Closes a connection at the end of its time: what comes drop by drop ends, too."""

    def __init__(self, link: socket, seconds: float) -> None:
        self._link = link
        self.is_over = False
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        self.is_over = True
        _shut(self._link)

    def end(self) -> None:
        self._timer.cancel()


class Stream:
    """The events of a server, until either side closes it."""

    def __init__(self, site: Site, told: Callable[[Json], None], ended: Callable[[], None]) -> None:
        self._told = told
        self._ended = ended
        self._link = HTTPConnection(site.host, site.port, timeout=_BEAT)
        try:
            self._link.connect()
            self._socket: socket = self._link.sock
            self._link.request("GET", "/event", headers=site.headers())
            self._response = self._link.getresponse()
            if self._response.status != 200:
                raise HTTPException(f"it said {self._response.status}")
        except (OSError, HTTPException) as exc:
            self._link.close()
            raise BridgeError(f"the server of opencode does not tell what it does: {exc!r}") from exc
        threading.Thread(target=self._listen, name="opencode-events", daemon=True).start()

    def _listen(self) -> None:
        try:
            while line := self._response.readline(_LINE):
                if line.startswith(b"data:"):
                    self._told(table(_parsed(line[5:])))
        except (OSError, HTTPException, ValueError):
            pass  # however it ended, it has
        finally:
            self._response.close()
            self._link.close()
            self._ended()

    def close(self) -> None:
        """Its thread ends by that."""
        _shut(self._socket)


def _shut(link: socket) -> None:
    try:
        link.shutdown(SHUT_RDWR)
    except OSError:
        pass


def _target(path: tuple[str, ...], query: dict[str, str]) -> str:
    words = "&".join(f"{name}={quote(value, safe='', errors='replace')}" for name, value in query.items())
    return (
        "/"
        + "/".join(quote(part, safe="", errors="replace") for part in path)
        + (f"?{words}" if words else "")
    )


def _refused(response: HTTPResponse, data: bytes) -> str:
    if response.status == 401:
        return "its server asks for a password (OPENCODE_SERVER_PASSWORD)"
    message = table(table(_parsed(data)).get("data")).get("message")
    return f"its server said {response.status} {message or response.reason}"[:300]


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
