"""The bell on one machine: each waiter is a Unix datagram socket under `run/bell/<agent>/`.

Waiter: bind, look in the store, drain, sleep if there was no ring, look again. Ringer: after commit, one
datagram to each socket there, empty or with a message. A full queue means it is rung already; a dead socket
is removed.
"""

import _socket as socket  # what `socket` wraps, at a tenth of its cost to a start
import contextlib
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from postroom import host
from postroom.bell.polling import NONE, PollingWaiter
from postroom.model.enclosure import LONGEST as _LONGEST_ENCLOSURE

if TYPE_CHECKING:
    from postroom.bell.contract import Waiter

_BURST = 0.001  # seconds; rings closer together than this are one burst
_AT_REST = 100_000_000  # nanoseconds
_LONGEST_POLL = 86_400_000  # milliseconds
_LONGEST_PATH = 103  # 104 bytes with the closing NUL, on macOS; Linux has 108


_Sockets = tuple[int, list[str], bool]  # of a party, as of a time; whether any wants enclosures
_WANTS_ENCLOSURES = "+"  # ends the name of such a socket
_ASIDE = "-"  # ends that of one that is not the agent's own


class LocalBell:
    """Bells among the processes of one machine."""

    polls = False

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._socket: socket.socket | None = None
        self._pid = 0
        self._rang = 0.0
        self._sent = 0  # rings that went out of this process
        self._known: dict[str, _Sockets] = {}
        self._parties: tuple[int, frozenset[str]] = (0, frozenset())  # who has a directory, as of a time
        self._own: dict[str, Callable[[], None]] = {}  # who waits in this process, by socket
        self._home = 0  # that process: a forked child must ring the sockets
        self.errors = 0

    def waiter(
        self, party: str, *, enclosures: bool = False, aside: bool = False
    ) -> "LocalWaiter | PollingWaiter":
        wish = _WANTS_ENCLOSURES if enclosures else _ASIDE if aside else ""
        try:
            return LocalWaiter(os.path.join(self._directory, party), wish)
        except OSError:  # a read-only or full disk, or a path that no socket address can hold
            self.errors += 1
            return PollingWaiter()

    def attend(self, waiter: "Waiter", told: Callable[[], None]) -> None:
        """Whoever rings in this process tells this waiter so, in its own thread, and spares the socket."""
        if isinstance(waiter, LocalWaiter):
            self._own[waiter.path], self._home = told, os.getpid()
            waiter.forget = lambda: self._own.pop(waiter.path, None)

    def wants_enclosure(self, party: str) -> bool:
        sockets = self._known.get(party)
        return sockets is not None and sockets[2]

    def ring(self, parties: Sequence[str], enclosures: Mapping[str, bytes] = NONE) -> dict[str, int]:
        """Ring who is known to wait there; then those who have come since, if any have: they will look."""
        reached, sent = dict[str, int](), self._sent
        known: dict[str, _Sockets] = {}  # as it is now: another thread may learn more meanwhile
        for party in parties:
            if (sockets := self._known.get(party)) is not None:
                known[party] = sockets
                if rung := self._ring_all(sockets[1], enclosures.get(party, b"")):
                    reached[party] = rung
        if self._sent != sent:
            self._give_way()
        for party in self._names().intersection(parties):  # where anybody ever waited
            reached[party] = reached.get(party, 0) + self._ring_newcomers(party, known.get(party))
        return reached

    def _give_way(self) -> None:
        """Let those who were woken run now, unless this is one ring of many."""
        now, was = time.monotonic(), self._rang
        self._rang = now
        if now - was > _BURST:
            host.give_way()

    def _names(self) -> frozenset[str]:
        """Who has a directory."""
        try:
            changed = os.stat(self._directory).st_mtime_ns
            if changed == self._parties[0]:
                return self._parties[1]
            names = frozenset(os.listdir(self._directory))
        except OSError:
            return frozenset()
        if time.time_ns() - changed > _AT_REST:
            self._parties = changed, names
        return names

    def _ring_newcomers(self, party: str, known: "_Sockets | None") -> int:
        directory = f"{self._directory}/{party}"
        try:
            changed = os.stat(directory).st_mtime_ns
        except OSError:
            self._known.pop(party, None)
            return 0
        if known is not None and known[0] == changed:
            return 0
        was = known[1] if known else ()
        return self._ring_all([path for path in self._list(party, directory, changed) if path not in was])

    def _list(self, party: str, directory: str, changed: int) -> list[str]:
        """The sockets in a directory as it was at a time.

        Kept only if the directory had been at rest for a while: two changes in one tick of the file
        system's clock bear the same time.
        """
        try:
            paths = [f"{directory}/{name}" for name in os.listdir(directory)]
        except OSError:
            return []
        if time.time_ns() - changed > _AT_REST:
            self._known[party] = changed, paths, any(path.endswith(_WANTS_ENCLOSURES) for path in paths)
        return paths

    def _ring_all(self, paths: list[str], enclosure: bytes = b"") -> int:
        """How many were reached. What was committed must not look as if it had failed: nothing is raised."""
        reached = 0
        if self._own and self._home == os.getpid() and (own := self._own.keys() & paths):
            for path in own:
                if (told := self._own.get(path)) is not None:
                    told()
            reached, paths = len(own), [path for path in paths if path not in own]
        try:
            if self._socket is None or self._pid != os.getpid():
                self._socket, self._pid = _sender(), os.getpid()
            send = self._socket.sendmsg
            for path in _reachable(paths):
                try:
                    send((enclosure,), (), 0, path)
                    self._sent += 1
                    reached += path[-1] != _ASIDE
                except OSError as exc:
                    reached += self._failed(path, exc)
        except OSError:  # no descriptor left
            self.errors += 1
        return reached

    def _failed(self, path: str, exc: OSError) -> int:
        """How many waiters a ring that failed has reached all the same."""
        if isinstance(exc, BlockingIOError) and self._has_room():
            return 1  # its queue is full of rings: it is awake, or will be
        if isinstance(exc, FileNotFoundError):
            return 0
        if isinstance(exc, ConnectionRefusedError):
            self._remove_if_ours(path)
            return 0
        return self._ring_anew(path)

    def _has_room(self) -> bool:
        """What others have not received yet takes room in the socket it was sent from."""
        outlet = select.poll()  # its own: two threads may not ask one at once
        if self._socket is not None:
            outlet.register(self._socket, select.POLLOUT)
        return bool(outlet.poll(0))

    def _ring_anew(self, path: str) -> int:
        """From another socket: there was no room in the usual one."""
        sender = _sender()
        try:
            sender.sendmsg((b"",), (), 0, path)
        except BlockingIOError:
            return 1
        except OSError:
            self.errors += 1
            return 0
        finally:
            sender.close()
        return 1

    def waiting(self, party: str) -> int:
        """Counted by connecting, which tells a live socket from a dead one without waking anybody."""
        paths = self._list(party, f"{self._directory}/{party}", time.time_ns())
        return sum(map(_is_live, _reachable([path for path in paths if path[-1] != _ASIDE])))

    def close(self) -> None:
        if self._socket is not None and self._pid == os.getpid():
            self._socket.close()
        self._socket = None

    def _remove_if_ours(self, path: str) -> None:
        """Nobody holds that socket any more. Only this boot can know that."""
        if os.path.basename(path).startswith(_boot()):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _sender() -> socket.socket:
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.setblocking(False)
    return sender


def _boot() -> str:
    return (host.boot() or "0") + "-"


def _reachable(paths: list[str]) -> Iterable[str]:
    """Paths that fit a socket address."""
    return paths if not paths or len(paths[0]) <= _LONGEST_PATH else _through_descriptor(paths)


def _through_descriptor(paths: list[str]) -> Iterator[str]:
    """A long path fits a socket address when it goes through a descriptor, open while it is used."""
    descriptor = os.open(os.path.dirname(paths[0]), os.O_RDONLY)
    try:
        for path in paths:
            yield f"/proc/self/fd/{descriptor}/{os.path.basename(path)}"
    finally:
        os.close(descriptor)


def _is_live(path: str) -> bool:
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        probe.connect(path)
    except OSError:
        return False
    finally:
        probe.close()
    return True


class LocalWaiter:
    """A bound socket. A forked child must make its own: it would steal its parent's rings."""

    enclosure = b""

    def __init__(self, directory: str, wish: str) -> None:
        self._directory, self._wish = directory, wish
        self.forget: Callable[[], object] | None = None
        self._longest = _LONGEST_ENCLOSURE if wish == _WANTS_ENCLOSURES else 1
        self._pid = os.getpid()
        self._bind()

    def _bind(self) -> None:
        host.private_directory(self._directory)
        self._remove_earlier_boots(self._directory)
        bound, path = _sender(), f"{self._directory}/{_boot()}{os.urandom(6).hex()}{self._wish}"
        try:
            for address in _reachable([path]):
                bound.bind(address)
        except OSError:
            bound.close()
            raise
        self._socket, self.path = bound, path
        self._poll = select.poll()
        self._poll.register(bound, select.POLLIN)

    def _remove_earlier_boots(self, directory: str) -> None:
        for name in os.listdir(directory) if host.boot() else ():
            if not name.startswith(_boot()):
                with contextlib.suppress(OSError):
                    os.unlink(f"{directory}/{name}")

    def fileno(self) -> int:
        return self._socket.fileno()

    def wait(self, timeout: float | None) -> bool:
        if not self._poll.poll(None if timeout is None else min(max(0, timeout * 1000), _LONGEST_POLL)):
            return False
        try:
            self.enclosure = self._socket.recv(self._longest)
        except BlockingIOError:
            self.enclosure = b""  # a forked child took it
        return True

    def drain(self) -> bool:
        rung, self.enclosure = False, b""
        try:
            while True:
                self._socket.recv(1)
                rung = True
        except OSError:
            return rung

    def is_lost(self) -> bool:
        return not os.path.lexists(self.path)

    def renew(self) -> bool:
        if self._pid != os.getpid() or self._socket.fileno() < 0 or not self.is_lost():
            return False
        lost = self._socket
        try:
            self._bind()
        except OSError:  # as when it was made: the next sweep tries again
            return False
        lost.close()
        return True

    def close(self) -> None:
        if self.forget is not None:
            self.forget()
        if self._pid == os.getpid() and self._socket.fileno() >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self._socket.close()

    def __del__(self) -> None:
        """Of a thread that has ended, and kept it until then."""
        if hasattr(self, "_socket"):
            self.close()
