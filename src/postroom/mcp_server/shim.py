"""The tools as a command: passes lines between a client's pipes and the daemon, and outlives the daemon.

Standard library only, and little of it: a client waits for it each time it starts. It keeps each request
until its answer was passed on. When the daemon is gone it has another one started, says again what opened the
connection, and asks again what was not answered. The daemon knows by this visit and the request's own number
what it has done already, so nothing is done twice; and it is told which answers the client was given, so that
none counts as read that was lost on the way.
"""

import _thread  # what `threading` wraps, at a tenth of its cost to a start
import json
import os
import select
import time
from binascii import b2a_base64

from postroom.mcp_server.place import LINES, LONGEST, PASSED
from postroom.mcp_server.ready import Ready

TYPE_CHECKING = False  # what `typing` and `socket` take to load is felt
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Link(Protocol):
        """What is needed of a socket."""

        def fileno(self) -> int: ...
        def recv(self, size: int, /) -> bytes: ...
        def sendall(self, data: bytes, /) -> object: ...
        def settimeout(self, seconds: float | None, /) -> None: ...
        def close(self) -> object: ...


_PIECE = 1 << 18  # bytes of one frame
_CLOSE, _PING, _PONG = 0x8, 0x9, 0xA
_PATIENCE = 60.0  # seconds for the daemon to answer that it will serve
_TRIES, _PAUSE = 20.0, 0.05  # seconds
_AFTER = 5_000  # milliseconds for what is still to be answered when the client has said its last
_LISTENS = "subscriptions/listen"  # which is answered when it ends
_CALL, _CANCELLED = "tools/call", "notifications/cancelled"
_MOST = 5  # times that a connection may end, one after the other, before anything was answered
_BROKEN, _INVALID, _INTERNAL = -32700, -32600, -32603


class Refusal(Exception):
    """The daemon answers, but not so."""


class Line:
    """A connection to the daemon that carries lines: a WebSocket, as far as that is needed here."""

    def __init__(self, link: "Link", query: str, headers: dict[str, str]) -> None:
        self._link = link
        self._data = b""
        self._text = b""
        key = b2a_base64(os.urandom(16), newline=False).decode()
        said = {
            "Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Version": "13", **headers,
        }  # fmt: skip
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        link.settimeout(_PATIENCE)
        link.sendall(f"GET {LINES}?{query} HTTP/1.1\r\n{head}\r\n".encode())
        while b"\r\n\r\n" not in self._data:
            self._fill()
        answer, _, self._data = self._data.partition(b"\r\n\r\n")
        if answer.split(b" ", 2)[1:2] != [b"101"]:
            raise Refusal(_why(answer, self._data))
        link.settimeout(None)

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, line: bytes) -> None:
        for at in range(0, len(line), _PIECE):
            self._frame(0x2, line[at : at + _PIECE])

    def receive(self) -> list[bytes]:
        """The lines that are whole now; raises `OSError` when it is over."""
        self._fill()
        while (frame := self._next()) is not None:
            kind, content = frame
            if kind == _CLOSE:
                raise ConnectionError
            if kind == _PING:
                self._frame(_PONG, content)
            elif kind != _PONG:
                self._text += content
        *lines, self._text = self._text.split(b"\n")
        return [line for line in lines if line]

    def close(self) -> None:
        self._link.close()

    def _fill(self) -> None:
        more = self._link.recv(1 << 16)
        if not more:
            raise ConnectionError("the daemon has ended the connection")
        self._data += more

    def _frame(self, kind: int, content: bytes) -> None:
        """Masked by zeros, which changes nothing: no proxy is between us that could be misled."""
        size = len(content)
        if size < 126:
            head = bytes((0x80 | kind, 0x80 | size))
        else:
            head = bytes((0x80 | kind, 0x80 | 127)) + size.to_bytes(8, "big")
        self._link.sendall(head + bytes(4) + content)

    def _next(self) -> tuple[int, bytes] | None:
        data = self._data
        if len(data) < 2:
            return None
        size, at = data[1] & 0x7F, 2
        if size > 125:
            wide = 2 if size == 126 else 8
            size, at = int.from_bytes(data[2 : 2 + wide], "big"), 2 + wide
        if len(data) < at + size:
            return None
        self._data = data[at + size :]
        return data[0] & 0x0F, data[at : at + size]


def _why(answer: bytes, body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.split(b"\r\n")[0].decode("latin-1")


class Shim:
    """One run of the command. `connect` gives a connection to a daemon, which it may start."""

    def __init__(self, connect: "Callable[[], Link]", said: dict[str, str], headers: dict[str, str]) -> None:
        self._connect = connect
        said = {**said, "visit": os.urandom(8).hex(), "confirms": "1"}
        self._query = "&".join(f"{k}={_quoted(v)}" for k, v in said.items())
        self._headers = headers
        self._link: Line | None = None
        self._asked: dict[
            Any, tuple[str, bytes]
        ] = {}  # method and line of what is not answered, by its number
        self._opening: list[tuple[Any, bytes]] = []  # what made the connection, with its number
        self._followed: dict[str, tuple[Any, bytes]] = {}  # what was subscribed to
        self._unwanted: set[Any] = set()  # numbers of answers that the client has already
        self._wanted: set[Any] = set()  # what the daemon has asked the client, by its number
        self._losses = 0
        self._ready: Ready | None = None  # while the daemon is not there yet
        self._held: list[bytes] = []  # what is to be sent then, and is no request
        self._in: list[bytes] = []

    def open(self) -> None:
        """Raises `OSError`, `Refusal`, or what `connect` raises. A daemon that just ends may break it off."""
        until = time.monotonic() + _TRIES
        while True:
            link = self._connect()
            try:
                self._link = Line(link, self._query, self._headers)
                return
            except ConnectionError:
                link.close()
                if time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    def begin(self) -> bool:
        """As `open`; meanwhile the client is told what is the same for everybody. False: it has gone already.

        Where this raises, `heard` has what the client said.
        """
        self._ready = self._ready or Ready()
        opened, failures = os.pipe(), list[BaseException]()

        def opening() -> None:
            try:
                self.open()
            except BaseException as exc:
                failures.append(exc)
            finally:
                os.close(opened[1])

        _thread.start_new_thread(opening, ())
        if not self._meanwhile(opened[0]):
            return False
        os.close(opened[0])
        if failures:
            raise failures[0]
        self._ready = None
        try:
            self._say_again()
            held, self._held = self._held, []
            for line in held:
                assert self._link is not None
                self._link.send(line)
        except OSError:
            self._lose()
        return True

    def _meanwhile(self, opened: int) -> bool:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(opened, select.POLLIN)
        while True:
            ready = [number for number, _ in poll.poll()]
            if opened in ready:
                return True
            if 0 in ready and not self._pass_in():
                poll.unregister(0)
                if not self._is_waiting():
                    return False

    def heard(self) -> "tuple[bytes, set[Any]]":
        """What the client said so far, for another server; and the numbers of what is answered already."""
        asked = [line for _, line in self._asked.values()]
        opening = [line for _, line in self._opening if line not in asked]
        given = {number for number, line in self._opening if number is not None and line in opening}
        return b"".join((*opening, *asked, *self._held, *self._in)), given

    def run(self) -> None:
        """Until the client has said its last."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        ends = False
        while True:
            link = self._link
            if link is not None:
                poll.register(link, select.POLLIN)
            ready = [number for number, _ in poll.poll(_AFTER if ends else None)]
            if link is not None:
                poll.unregister(link)
            if link is not None and link.fileno() in ready:
                self._pass_out(link)
            if 0 in ready and not ends:
                ends = not self._pass_in()
                if ends:
                    poll.unregister(0)
            if ends and (not ready or not self._is_waiting()):
                return

    def _is_waiting(self) -> bool:
        return any(method != _LISTENS for method, _ in self._asked.values())

    def _pass_in(self) -> bool:
        """What the client says; False when that was its last."""
        data = os.read(0, 1 << 16)
        self._in.append(data)
        if not data or b"\n" in data:
            *lines, rest = b"".join(self._in).split(b"\n")
            self._in = [rest] if data else []
            for line in [*lines, rest] if not data else lines:
                if line.strip():
                    self._ask(line + b"\n")
        return bool(data)

    def _ask(self, line: bytes) -> None:
        number, method, params = _read(line)
        if self._is_answered(line, number, method, params):
            return
        self._keep(line, number, method, params)
        if self._ready is not None:
            if (number is None or not method) and method != "notifications/initialized":
                self._held.append(line)
            return
        try:
            if self._link is None and not method.startswith("notifications/"):
                self._open_again(but=number)
            if self._link is not None:
                self._link.send(line)
        except OSError:
            self._lose()

    def _is_answered(self, line: bytes, number: "Any", method: str, params: "dict[str, Any]") -> bool:
        """Without the daemon."""
        if len(line) > LONGEST:
            words = f"a line has at most {LONGEST >> 20} MB. Write large text to a file, and name the file."
            _refuse(number, _INVALID, words)
            return True
        if not method and (code := _flaw(line)):
            _refuse(number, code, "Parse error" if code == _BROKEN else "Invalid Request")
            return True
        known = self._ready.answer(method, params) if self._ready and number is not None else None
        if known is None:
            return False
        if method == "initialize":
            self._opening.append((number, line))
        _write(json.dumps({"jsonrpc": "2.0", "id": number, "result": known}).encode() + b"\n")
        return True

    def _keep(self, line: bytes, number: "Any", method: str, params: "dict[str, Any]") -> None:
        """Until it is answered, or as long as it counts."""
        if not method and number is not None:
            self._wanted.discard(number)
        if number is not None and method:
            self._asked[number] = method, line
        if method in ("initialize", "notifications/initialized"):
            self._opening.append((number, line))
        elif method == "resources/subscribe":
            self._followed[str(params.get("uri"))] = number, line
        elif method == "resources/unsubscribe":
            self._followed.pop(str(params.get("uri")), None)
        elif method == _CANCELLED:
            self._asked.pop(params.get("requestId"), None)

    def _pass_out(self, link: Line) -> None:
        try:
            lines = link.receive()
        except OSError:
            self._lose()
            return
        passed: list[Any] = []
        for line in lines:
            number, method, params = _read(line)
            if number is not None and method:
                self._wanted.add(number)
            elif number is not None:
                asked, _ = self._asked.pop(number, ("", b""))
                if number in self._unwanted:
                    self._unwanted.discard(number)
                    continue
                passed += [number] if asked == _CALL else []
            elif method == _CANCELLED:
                self._wanted.discard(params.get("requestId"))
            _write(line + b"\n")
            self._losses = 0
        if passed:
            self._confirm(link, passed)

    def _confirm(self, link: Line, passed: "list[Any]") -> None:
        """Only what the client has been given can be proven by what it asks next."""
        try:
            link.send(_note(PASSED, {"ids": passed}))
        except OSError:
            self._lose()

    def _lose(self) -> None:
        """The daemon is gone. Who waits for an answer gets it from another one; else there is time: who only
        listens must not undo `postroom down`. What it has asked the client nobody wants to know any more.
        """
        if self._link is not None:
            self._link.close()
            self._link = None
        while self._wanted:
            _write(_note(_CANCELLED, {"requestId": self._wanted.pop(), "reason": "the daemon has ended"}))
        self._losses += 1
        if self._losses > _MOST:
            self._losses = 0
            self._give_up("it ends the connection again and again")
        elif self._is_waiting():
            self._open_again()

    def _open_again(self, but: "Any" = None) -> None:
        """Say again what made the connection, and all that was not answered, `but` one that is to be sent."""
        try:
            self.open()
            self._say_again(but)
        except Exception as exc:  # whatever keeps the daemon away: the client must be answered
            self._link = None
            self._give_up(str(exc) or type(exc).__name__)

    def _say_again(self, but: "Any" = None) -> None:
        assert self._link is not None
        for number, line in [*self._opening, *self._followed.values()]:
            if number not in self._asked and number is not None:
                self._unwanted.add(number)
            self._link.send(line)
        repeated = {line for _, line in (*self._opening, *self._followed.values())}
        for number, (_, line) in self._asked.items():
            if number != but and line not in repeated:
                self._link.send(line)

    def _give_up(self, why: str) -> None:
        words = f"Postroom's daemon cannot be reached: {why}. Start it: postroom up"
        for number in list(self._asked):
            del self._asked[number]
            _refuse(number, _INTERNAL, words)


def _read(line: bytes) -> "tuple[Any, str, dict[str, Any]]":
    """The number, the method and the params of a message; of what is none, nothing."""
    try:
        said: Any = json.loads(line)
        number, method = said.get("id"), said.get("method") or ""
        params: Any = said.get("params")
        hash(number)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None, "", {}
    return number, str(method), params if hasattr(params, "items") else {}


def _flaw(line: bytes) -> int:
    """The code of what is wrong with something that asks nothing; 0: it is an answer."""
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return _BROKEN
    return 0 if hasattr(said, "keys") and said.keys() & {"result", "error"} else _INVALID


def _note(method: str, params: "dict[str, Any]") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n"


def _refuse(number: "Any", code: int, words: str) -> None:
    error = {"code": code, "message": words}
    _write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode() + b"\n")


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _quoted(text: str) -> str:
    plain = "-._~/"
    return "".join(
        chr(byte) if (chr(byte).isalnum() and byte < 128) or chr(byte) in plain else f"%{byte:02X}"
        for byte in os.fsencode(text)
    )
