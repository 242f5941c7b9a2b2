"""How a program speaks to the server of a room elsewhere: HTTP, over TLS or a Unix socket.

Nothing but the standard library. What was asked once is not asked again by itself, unless it only looks: a
link that breaks leaves open whether the server did it, and that is what the error says.
"""

import http.client
import json
import os
import selectors
import socket
import ssl
import time
from collections import deque
from typing import Any, cast
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from postroom import errors, host
from postroom.errors import InvalidPayload, UnknownToken, Unreachable, UsageError
from postroom.model.message import Json
from postroom.protocol.operation import BODY, BY_NAME, PATH, PREFIX, QUERY, Operation
from postroom.protocol.schema import check
from postroom.protocol.shape import SHAPES
from postroom.room.timely import LARGEST, Overlong, Timely

_PATIENCE = 30.0  # seconds for an answer, beyond what was asked to be waited for
SILENCE = 45.0  # seconds after which a stream is dead: a living one says something every 15
_IDLE = 45.0  # seconds after which a link is made anew: the server keeps one for a minute


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Carriage:
    """To one server, as one caller."""

    def __init__(self, url: str, token: str, agent: str | None) -> None:
        self.url = url.rstrip("/")
        found, port = _parsed(self.url)
        self._scheme, self._host, self._port = found.scheme, found.hostname or "", port
        self._path = found.path if found.scheme == "unix" else ""
        if found.scheme not in ("http", "https", "unix") or (found.path and not self._path) or found.query:
            raise UsageError(f"{url!r} is no address of a room", hint="Like https://host:7678")
        self._headers = {"Accept": "application/json"}
        if self._path and not host.has_unix_sockets():
            raise UsageError("this system has no Unix sockets", hint="Use http:// or https://")
        if token and not (token.isascii() and token.isprintable()):
            raise UnknownToken("POSTROOM_TOKEN is no token: it has other characters")
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if agent and self._path:
            self._headers["Postroom-Agent"] = agent
        self._links: deque[tuple[http.client.HTTPConnection, float, int]] = deque()

    def call(self, name: str, /, *, patience: float = 0.0, **args: Any) -> Any:
        """What an operation answers; its errors are raised here."""
        operation = BY_NAME[name]
        status, content = self._asked(operation, args, patience + _PATIENCE)
        if operation.media_type != "application/json" and status < 300:
            return content
        said = self._document(status, content)
        if status >= 300:
            raise self._told(operation, status, said)
        self._check(said, operation.result)
        return said

    def _document(self, status: int, content: bytes) -> Json:
        try:
            said: Any = json.loads(content)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise Unreachable(f"{self.url} answers with {status} and nothing that a room says", url=self.url)
        return cast("Json", said)

    def _check(self, said: Json, shape: Json) -> None:
        """At its top it is what the API promises; what is within is read by `unwire`."""
        try:
            check(said, shape, "answer")
        except InvalidPayload as exc:
            what = f"{self.url} answers what is not understood here: {exc}"
            hint = "See that it is a Postroom, and of which version, there and here: postroom --version"
            raise Unreachable(what, hint=hint, url=self.url) from None

    def _told(self, operation: Operation, status: int, said: Json) -> errors.PostroomError:
        if status in (404, 405) and said.get("error") in (errors.NotFound.code, UsageError.code):
            what = f"the daemon at {self.url} is older than this Postroom: it knows no {operation.name!r}"
            return Unreachable(what, hint="Upgrade Postroom there, then: postroom down; postroom up")
        self._check(said, SHAPES["Error"])
        return errors.told(said)

    def _asked(self, operation: Operation, args: Json, timeout: float) -> tuple[int, bytes]:
        path, body = _request(operation, args)
        content = json.dumps(body).encode() if body is not None else None
        headers = self._headers | ({"Content-Type": "application/json"} if content else {})
        for may_repeat in (operation.method == "GET", False):
            link = self._idle()
            is_new = link is None
            link = link or self._new(timeout)
            try:
                if link.sock is not None:
                    link.sock.settimeout(timeout)
                link.request(operation.method, PREFIX + path, content, headers)
                answer = cast("Timely", link.getresponse())
                found = answer.status, answer.whole()
            except (OSError, http.client.HTTPException) as exc:
                link.close()
                if is_new or not may_repeat:
                    raise self._broken(operation, exc) from None
            except BaseException:
                link.close()
                raise
            else:
                self._links.append((link, time.monotonic(), os.getpid()))
                return found
        raise AssertionError("the last try ends in one way or the other")

    def _broken(self, operation: Operation, exc: Exception) -> Unreachable:
        if isinstance(exc, ssl.SSLError) and (about := _about_tls(exc)) is not None:
            return Unreachable(f"{self.url} {about[0]}", hint=about[1], url=self.url)
        never_asked = isinstance(exc, (ConnectionRefusedError, FileNotFoundError, socket.gaierror))
        doubt = "" if operation.method == "GET" or never_asked else "; whether it was done is not known"
        return Unreachable(f"{self.url} does not answer: {_reason(exc)}{doubt}", url=self.url)

    def _idle(self) -> http.client.HTTPConnection | None:
        """A link that nobody uses, and that the server keeps still; a fork's child makes its own."""
        while True:
            try:
                link, used, pid = self._links.pop()
            except IndexError:
                return None
            if pid == os.getpid() and time.monotonic() - used < _IDLE and not _has_ended(link):
                return link
            if pid == os.getpid():
                link.close()

    def _new(self, timeout: float) -> http.client.HTTPConnection:
        link = self._made(timeout)
        link.response_class = Timely
        return link

    def _made(self, timeout: float) -> http.client.HTTPConnection:
        if self._path:
            return _UnixConnection(self._path, timeout)
        if self._scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def stream(self, path: str, **query: str | None) -> "Stream":
        """What the server tells for as long as it is listened to, over a link of its own."""
        link, said = self._new(_PATIENCE), {name: value for name, value in query.items() if value is not None}
        try:
            headers = self._headers | {"Connection": "close"}  # so that it ends with what is read
            link.request("GET", f"{PREFIX}{path}?{urlencode(said)}", headers=headers)
            answer = cast("Timely", link.getresponse())
            if answer.status != 200:
                with answer:
                    said = self._document(answer.status, answer.whole())
                    self._check(said, SHAPES["Error"])
                    raise errors.told(said)
        except (OSError, http.client.HTTPException) as exc:
            link.close()
            raise Unreachable(f"{self.url} does not answer: {_reason(exc)}", url=self.url) from None
        return Stream(answer, self.url)

    def close(self) -> None:
        """End the links that nobody uses."""
        while (link := self._idle()) is not None:
            link.close()


class Stream:
    """Events as a server sends them."""

    def __init__(self, answer: Timely, url: str) -> None:
        self._answer, self._url = answer, url

    @property
    def is_closed(self) -> bool:
        return self._answer.isclosed()

    def frame(self, seconds: float) -> Json | None:
        """The next one, its `data` read; None where none came in that time, or it has ended."""
        self._answer.expect(max(0.001, seconds))
        try:
            return self._read()
        except (OSError, http.client.HTTPException):
            return None
        except (ValueError, RecursionError) as exc:
            self.close()
            what = f"{self._url} tells what is not understood here: {exc!s:.200}"
            hint = "See that it is a Postroom, and of which version, there and here: postroom --version"
            raise Unreachable(what, hint=hint, url=self._url) from None

    def _read(self) -> Json | None:
        found: Json = {}
        left = LARGEST
        while line := self._answer.readline(left):
            left -= len(line)
            text = line.decode().rstrip("\n")
            name, _, value = text.partition(": ")
            if left <= 0:
                raise Overlong
            if name:
                found[name] = value
            elif "data" in found:
                found["data"] = json.loads(found["data"])
                return found
            elif not text:
                return found  # a word that it is still there
        return None

    def close(self) -> None:
        self._answer.close()


def _has_ended(link: http.client.HTTPConnection) -> bool:
    """Whether the server has closed it: on a link that nobody uses nothing else is to be read."""
    line = link.sock
    if line is None:
        return True
    waiting = selectors.DefaultSelector()
    with waiting:
        waiting.register(line, selectors.EVENT_READ)
        return bool(waiting.select(0))


def _parsed(url: str) -> tuple[SplitResult, int | None]:
    try:
        found = urlsplit(url)
        return found, found.port
    except ValueError:
        raise UsageError(f"{url!r} is no address of a room", hint="Like https://host:7678") from None


def _about_tls(exc: ssl.SSLError) -> tuple[str, str] | None:
    """What is wrong with a certificate, or with the address, and what helps; None: neither."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        hint = "Renew it there (tls_cert); one of your own authority is trusted with SSL_CERT_FILE=ca.pem"
        return f"has a certificate that is not trusted: {exc.verify_message}", hint
    if exc.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"):
        return "does not speak TLS", "If it is to be reached without: http://…"
    return None


def _reason(exc: Exception) -> str:
    """In words: those of the system, where it has any."""
    strerror = exc.strerror if isinstance(exc, OSError) else None
    return strerror or str(exc) or type(exc).__name__


def _request(operation: Operation, args: Json) -> tuple[str, Json | None]:
    """Where each thing that is said stands; what is None is not said."""
    said = {name: value for name, value in args.items() if value is not None}
    places = {one.name: one.where for one in operation.parameters}
    path = operation.path
    for name, where in places.items():
        if where == PATH:
            path = path.replace("{" + name + "}", quote(str(said[name]), safe=""))
    query = {name: _text(value) for name, value in said.items() if places[name] == QUERY}
    body = {name: value for name, value in said.items() if places[name] == BODY}
    return f"{path}?{urlencode(query)}" if query else path, body if operation.body else None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
