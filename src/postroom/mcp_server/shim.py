"""The tools as a command: passes lines between a client's pipes and the daemon, and outlives the daemon.

Standard library only, and little of it: a client waits for it each time it starts. It keeps each request
until its answer was passed on. When the daemon is gone it has another one started, says again what opened the
connection, and asks again what was not answered. The daemon knows by this visit and the request's own number
what it has done already, so nothing is done twice. It is told which answers the client was given, so that
none counts as read that was lost on the way; and which calls had been made before, and prove none of them.
What a client follows it follows at the next daemon, too; what changed between the two nobody has heard, so it
is told of all that once it is followed again.
"""

import _thread  # what `threading` wraps, at a tenth of its cost to a start
import os
import select
import time

from postroom.mcp_server import rpc
from postroom.mcp_server.link import Line
from postroom.mcp_server.place import EARLY, LONGEST, PASSED
from postroom.mcp_server.ready import Ready

TYPE_CHECKING = False  # what `typing` takes to load is felt
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from postroom.mcp_server.link import Link

_TRIES, _PAUSE = 20.0, 0.05  # seconds
_AFTER = 5_000  # milliseconds for what is still to be answered when the client has said its last
_LISTENS = "subscriptions/listen"  # which is answered when it ends
_CALL, _CANCELLED = "tools/call", "notifications/cancelled"
_HEARS, _UPDATED = "notifications/subscriptions/acknowledged", "notifications/resources/updated"
_STREAM = "io.modelcontextprotocol/subscriptionId"  # in what is told to who listens
_MOST = 5  # times that a connection may end, one after the other, before anything was answered


class Asked:
    """A request: its method and line, how many answers of tools its client had when it made it, and whether
    it hears of changes by it.
    """

    __slots__ = ("given", "hears", "line", "method")

    def __init__(self, method: str, line: bytes, given: int) -> None:
        self.method, self.line, self.given, self.hears = method, line, given, False


class Shim:
    """One run of the command. `connect` gives a connection to a daemon, which it may start."""

    def __init__(self, connect: "Callable[[], Link]", said: dict[str, str], headers: dict[str, str]) -> None:
        self._connect = connect
        said = {**said, "visit": os.urandom(8).hex(), "confirms": "1"}
        self._query = "&".join(f"{k}={_quoted(v)}" for k, v in said.items())
        self._headers = headers
        self._link: Line | None = None
        self._asked: dict[Any, Asked] = {}  # what is not answered, by its number
        self._given = 0  # answers of tools that the client has
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
        asked = [one.line for one in self._asked.values()]
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
        return any(one.method != _LISTENS for one in self._asked.values())

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
        number, method, params = rpc.read(line)
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
            _refuse(number, rpc.INVALID, words)
            return True
        if not method and (code := rpc.flaw(line)):
            _refuse(number, code)
            return True
        known = self._ready.answer(method, params) if self._ready and number is not None else None
        if known is None:
            return False
        if method == "initialize":
            self._opening.append((number, line))
        rpc.write(rpc.result(number, known))
        return True

    def _keep(self, line: bytes, number: "Any", method: str, params: "dict[str, Any]") -> None:
        """Until it is answered, or as long as it counts."""
        if not method and number is not None:
            self._wanted.discard(number)
        if number is not None and method:
            self._asked[number] = Asked(method, line, self._given)
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
            number, method, params = rpc.read(line)
            if number is not None and method:
                self._wanted.add(number)
            elif number is not None:
                asked = self._asked.pop(number, None)
                if number in self._unwanted:
                    self._unwanted.discard(number)
                    self._follows_again(number)
                    continue
                passed += [number] if asked is not None and asked.method == _CALL else []
            elif method == _CANCELLED:
                self._wanted.discard(params.get("requestId"))
            elif method == _HEARS and self._hears_again(params):
                continue
            rpc.write(line + b"\n")
            self._losses = 0
        if passed:
            self._confirm(link, passed)

    def _follows_again(self, number: "Any") -> None:
        for uri, (by, _) in self._followed.items():
            if by == number:
                rpc.write(rpc.note(_UPDATED, {"uri": uri}))

    def _hears_again(self, params: "dict[str, Any]") -> bool:
        """Whether who listens was told before that it does; then it is told of all that it follows."""
        try:
            asked = self._asked[params["_meta"][_STREAM]]
            followed = params["notifications"].get("resourceSubscriptions") or ()
        except (KeyError, TypeError, AttributeError):
            return False
        if not asked.hears:
            asked.hears = True
            return False
        for uri in followed:
            rpc.write(rpc.note(_UPDATED, {"uri": uri, "_meta": params["_meta"]}))
        return True

    def _confirm(self, link: Line, passed: "list[Any]") -> None:
        """Only what the client has been given can be proven by what it asks next."""
        self._given += len(passed)
        try:
            link.send(rpc.note(PASSED, {"ids": passed}))
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
            rpc.write(
                rpc.note(_CANCELLED, {"requestId": self._wanted.pop(), "reason": "the daemon has ended"})
            )
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
        except Exception as exc:  # whatever keeps the daemon away: the client must be answered
            self._link = None
            self._give_up(str(exc) or type(exc).__name__)
            return
        try:
            self._say_again(but)
        except OSError:
            self._lose()

    def _say_again(self, but: "Any" = None) -> None:
        assert self._link is not None
        for number, line in [*self._opening, *self._followed.values()]:
            if number not in self._asked and number is not None:
                self._unwanted.add(number)
            self._link.send(line)
        repeated = {line for _, line in (*self._opening, *self._followed.values())}
        asked = {number: one for number, one in self._asked.items() if number != but}
        if early := [number for number, one in asked.items() if one.given < self._given]:
            self._link.send(rpc.note(EARLY, {"ids": early}))
        for one in asked.values():
            if one.line not in repeated:
                self._link.send(one.line)

    def _give_up(self, why: str) -> None:
        words = f"Postroom's daemon cannot be reached: {why}. Start it: postroom up"
        for number in list(self._asked):
            del self._asked[number]
            _refuse(number, rpc.INTERNAL, words)


def _refuse(number: "Any", code: int, words: str = "") -> None:
    rpc.write(rpc.refusal(number, code, words))


def _quoted(text: str) -> str:
    plain = "-._~/"
    return "".join(
        chr(byte) if (chr(byte).isalnum() and byte < 128) or chr(byte) in plain else f"%{byte:02X}"
        for byte in os.fsencode(text)
    )
