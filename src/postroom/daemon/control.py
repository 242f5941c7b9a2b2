"""How commands talk to the daemon: a Unix socket beside the room, one line of JSON each way.

`ask(home, "screen", agent=…)` is the client. Whoever connects must be of the same user; what is for people is
refused to whoever runs under an agent, which the daemon finds out by the caller's own processes.
"""

import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from postroom import __version__, config, errors, host
from postroom.errors import BridgeError, PostroomError, UsageError
from postroom.model.message import Json

_NAME = "daemon.sock"
_SOL_LOCAL, _LOCAL_PEERPID = 0, 0x002  # as macOS numbers them; Python names neither
_MOST = 1 << 22  # bytes of one line
PATIENCE = 90.0  # seconds
_LINE = 5.0  # seconds for a line to come in, all of it
_AT_ONCE, _QUEUE = 64, 512  # connections that are answered at a time; that may wait for it
_PAUSE = 0.05
ENDS = 30.0  # seconds in which a daemon that was told to end has ended, whatever hangs
_HINT = "Start it: postroom up"
_TALK = 3  # raised with each verb and bridge, and with all else that a daemon must know to do as it is asked
EDITION = f"{__version__}+{_TALK}"  # another one may not know what is asked of it

Answer = Callable[[str, Json, int], Any]  # a verb, its words, and the caller's pid


class Takeover(NamedTuple):
    """An answer after which the connection is no longer one of lines: `run` has it until it returns."""

    said: Any
    run: Callable[[socket.socket], None]


class Server:
    """Answers each connection in a thread of its own, so many at a time. The others wait to be accepted."""

    def __init__(self, home: str, answer: Answer) -> None:
        self._answer = answer
        self._path = config.beside(home, _NAME)
        try:
            self._socket = self._bound()
        except OSError as exc:
            what = f"the daemon cannot put its socket at {self._path}: {exc.strerror or exc}; move that away"
            raise BridgeError(what, hint=f"See what is there: ls -ld {self._path}") from None
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._open = 0  # that are being answered
        self._answered_all = threading.Condition()
        self._is_closed = False
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def _bound(self) -> socket.socket:
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            with short(self._path) as path:
                found.bind(path)
            os.chmod(self._path, 0o600)
            self._file = os.stat(self._path)
            found.listen(_QUEUE)
        except BaseException:
            found.close()
            raise
        return found

    def mend(self) -> bool:
        """Put our file back where others look for us, if it is gone from there; whether it was."""
        if is_at(self._file, self._path):
            return False
        old, self._socket = self._socket, self._bound()
        _end(old)  # who waits for the next one goes on at the new one
        return True

    def _accept(self) -> None:
        """Whatever cannot be accepted, the next may be: only a socket that is closed is done with."""
        while not self._is_closed:
            self._places.acquire()
            try:
                link, _ = self._socket.accept()
                with self._answered_all:
                    self._open += 1
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()
            except (OSError, RuntimeError):  # no descriptor is left, or no thread; or who called has gone
                self._places.release()
                time.sleep(_PAUSE)

    def _serve(self, link: socket.socket) -> None:
        with link:
            try:
                run = self._answered(link)
            finally:
                self._places.release()
                with self._answered_all:
                    self._open -= 1
                    self._answered_all.notify_all()
            if run is not None:
                run(link)

    def _answered(self, link: socket.socket) -> "Callable[[socket.socket], None] | None":
        """Answer one line; who has the connection from then on."""
        run = None
        try:
            uid, pid = _peer(link)
            if uid != os.getuid():
                return None
            words = _words(_line(link, _LINE))
            answer = self._answer(str(words.pop("verb", "")), words, pid)
            answer, run = answer if isinstance(answer, Takeover) else (answer, None)
            said = {"ok": answer}
        except PostroomError as exc:
            said = exc.as_json()
        except Exception as exc:
            said = BridgeError(f"{type(exc).__name__}: {exc}").as_json()
        said |= {"edition": EDITION}
        try:
            link.settimeout(PATIENCE)
            link.sendall(json.dumps(said, default=str).encode() + b"\n")
        except OSError:
            return None  # who asked has gone
        return run

    def close(self) -> None:
        """Take nothing more, and answer what was taken.

        The file is removed if it is ours: another daemon may have put its own in our place.
        """
        self._is_closed = True
        if is_at(self._file, self._path):
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        _end(self._socket)
        with self._answered_all:
            self._answered_all.wait_for(lambda: self._open == 0)


def is_at(file: os.stat_result, path: str) -> bool:
    """Whether a file is still where others look for it."""
    try:
        return os.path.samestat(file, os.stat(path))
    except OSError:
        return False


def _end(listening: socket.socket) -> None:
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)  # else who waits for the next one would have it yet
    listening.close()


def ask(home: str, verb: str, *, patience: float = PATIENCE, **words: Any) -> Any:
    """What the daemon answers; its errors are raised here."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        return _asked(link, home, patience, {"verb": verb, **words})


def take_over(home: str, verb: str, **words: Any) -> tuple[socket.socket, Any]:
    """As `ask`, and the connection, which goes on in a language of the verb's own."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        return link, _asked(link, home, PATIENCE, {"verb": verb, **words})
    except BaseException:
        link.close()
        raise


def _asked(link: socket.socket, home: str, patience: float, words: Json) -> Any:
    until = time.monotonic() + patience
    try:
        with short(config.beside(home, _NAME)) as path:
            _connect(link, path, until)
        link.settimeout(max(_PAUSE, until - time.monotonic()))
        link.sendall(json.dumps(words).encode() + b"\n")
        said: Json = json.loads(_line(link, until - time.monotonic()))
    except (OSError, ValueError) as exc:
        raise BridgeError(f"the daemon does not answer: {exc}", hint=_HINT, silent=True) from None
    edition = str(said.pop("edition", ""))
    if "error" in said:
        raise _told(said, edition)
    return said["ok"]


def _told(said: Json, edition: str) -> PostroomError:
    """The daemon's error. One of another edition may not know what it is asked: that is no wrong usage."""
    fault = errors.told(said, BridgeError)
    words = objection(edition)
    if not words:
        return fault
    kind = BridgeError if isinstance(fault, UsageError) else type(fault)
    return kind(str(fault), hint=words, **fault.facts)


def objection(edition: str | None) -> str:
    """That a daemon of that edition, which runs, is another one's, and what to do; empty: it is ours."""
    if edition == EDITION:
        return ""
    which = f"{edition}, and this is {EDITION}" if edition else f"older than this, which is {EDITION}"
    return f"The daemon that runs is of another version ({which}). Restart it: postroom down && postroom up"


def _connect(link: socket.socket, path: str, until: float) -> None:
    """Where others wait already, and the queue is full, the system says so at once."""
    while True:
        link.settimeout(max(_PAUSE, until - time.monotonic()))
        try:
            return link.connect(path)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def ping(home: str) -> bool:
    """Whether there is a daemon, and it answers."""
    try:
        return bool(ask(home, "ping", patience=2.0))
    except BridgeError:
        return False


def _words(line: bytes) -> Json:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"what was asked is no JSON: {exc}") from None
    if not isinstance(said, dict):
        raise UsageError("what was asked is no JSON object")
    return said  # pyright: ignore[reportUnknownVariableType] - whatever stands there


def _line(link: socket.socket, seconds: float) -> bytes:
    """One line, all of it within so long, and not a byte of what may follow it."""
    data, until = b"", time.monotonic() + seconds
    while not data.endswith(b"\n"):
        link.settimeout(max(0.001, until - time.monotonic()))
        ahead = link.recv(1 << 16, socket.MSG_PEEK)
        wanted = ahead.find(b"\n") + 1 or len(ahead)
        if len(data) > _MOST or not wanted or not (more := link.recv(wanted)):
            raise ValueError("it ended in the middle of a line")
        data += more
    return data


def _peer(link: socket.socket) -> tuple[int, int]:
    """The user and the process at the other end; where the system does not say, ours, as only we may connect,
    and 0.
    """
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return uid, pid
    return os.getuid(), _pid_on_a_mac(link) if sys.platform == "darwin" else 0


def _pid_on_a_mac(link: socket.socket) -> int:
    try:
        [pid] = struct.unpack("i", link.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i")))
    except OSError:
        return 0
    return pid


class short:
    """A path that fits a socket's address, through a descriptor where it is too long by itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) < 100 or not host.boot():
            return self._path
        self._folder = os.open(os.path.dirname(self._path), os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{os.path.basename(self._path)}"

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
