"""The bell on one machine: each waiter is a Unix datagram socket under `run/bell/<agent>/`.

Waiter: bind, look in the store, sleep, drain, look again. Ringer: after commit, one empty
datagram to each socket there. A full queue means it is rung already; a dead socket is removed.
"""

import contextlib
import os
import select
import socket
import time
from collections.abc import Iterable, Iterator

from postroom import host

_AT_REST = 100_000_000  # nanoseconds
_LONGEST_PATH = 103  # 104 bytes with the closing NUL, on macOS; Linux has 108


class LocalBell:
    """Bells among the processes of one machine."""

    polls = False

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._socket: socket.socket | None = None
        self._pid = 0
        self._known: dict[str, tuple[int, list[str]]] = {}
        self.errors = 0

    def waiter(self, party: str) -> "LocalWaiter":
        return LocalWaiter(os.path.join(self._directory, party))

    def ring(self, parties: Iterable[str]) -> dict[str, int]:
        return {party: self._ring(f"{self._directory}/{party}") for party in parties}

    def waiting(self, party: str) -> int:
        """Counted by connecting, which tells a live socket from a dead one without waking anybody."""
        directory = os.path.join(self._directory, party)
        try:
            return sum(map(_is_live, _reachable(directory, os.listdir(directory))))
        except OSError:
            return 0

    def _ring(self, directory: str) -> int:
        paths = self._waiters(directory)
        if not paths:
            return 0
        ringer = self._ringer()
        if len(paths[0]) > _LONGEST_PATH:
            paths = _reachable(directory, [path.rpartition("/")[2] for path in paths])
        return sum([self._ring_one(ringer, path) for path in paths])

    def _waiters(self, directory: str) -> list[str]:
        """The sockets in a directory, listed anew when it changed.

        A listing is kept only if the directory had been at rest for a while: two changes in one
        tick of the file system's clock bear the same time.
        """
        try:
            changed = os.stat(directory).st_mtime_ns
            known = self._known.get(directory)
            if known is not None and known[0] == changed:
                return known[1]
            paths = [f"{directory}/{name}" for name in os.listdir(directory)]
        except OSError:
            return []
        if time.time_ns() - changed > _AT_REST:
            self._known[directory] = (changed, paths)
        return paths

    def _ring_one(self, ringer: socket.socket, path: str) -> int:
        try:
            ringer.sendmsg((b"",), (), 0, path)
        except BlockingIOError:
            return 1  # its queue is full of rings: it is awake, or will be
        except ConnectionRefusedError:
            self._remove_if_ours(path)
        except FileNotFoundError:
            pass
        except OSError:
            self.errors += 1
        else:
            return 1
        return 0

    def _remove_if_ours(self, path: str) -> None:
        """Nobody holds that socket any more. Only this boot can know that."""
        if os.path.basename(path).startswith(_boot()):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _ringer(self) -> socket.socket:
        if self._socket is None or self._pid != os.getpid():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
            self._pid = os.getpid()
        return self._socket


def _boot() -> str:
    return (host.boot() or "0") + "-"


def _reachable(directory: str, names: list[str]) -> Iterator[str]:
    """Paths that fit a socket address: a long one does when it goes through a descriptor."""
    if len(directory) + 1 + max(map(len, names), default=0) <= _LONGEST_PATH:
        for name in names:
            yield f"{directory}/{name}"
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        for name in names:
            yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def _is_live(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


class LocalWaiter:
    """A bound socket. A forked child must make its own: it would steal its parent's rings."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._remove_earlier_boots(directory)
        name = _boot() + os.urandom(6).hex()
        self._path = f"{directory}/{name}"
        self._pid = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            for path in _reachable(directory, [name]):
                self._socket.bind(path)
        except OSError:
            self._socket.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def _remove_earlier_boots(self, directory: str) -> None:
        for name in os.listdir(directory):
            if not name.startswith(_boot()):
                with contextlib.suppress(OSError):
                    os.unlink(f"{directory}/{name}")

    def fileno(self) -> int:
        return self._socket.fileno()

    def wait(self, timeout: float | None) -> bool:
        if not self._poll.poll(None if timeout is None else max(0, timeout * 1000)):
            return False
        # One is enough: if more rings wait, the next wait returns at once and there is one look too many.
        try:
            self._socket.recv(1)
        except BlockingIOError:
            pass  # a forked child took it
        return True

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._socket.recv(1)

    def close(self) -> None:
        if self._pid == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        self._socket.close()
