"""Somebody attached to a terminal of the daemon's own: they stay until they leave, or it ends."""

import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from postroom.daemon import attachment
from postroom.daemon.attachment import END, attach, keys, size
from tests.process import BOUND, until

PAINTED = b"painted"
OFTEN = 200


class Terminal:
    """One that shows each who comes the same, and notes what is typed."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[bytes], None]] = []
        self.typed = b""
        self.sizes: list[tuple[int, int]] = []

    def subscribe(self, callback: Callable[[bytes], None]) -> Callable[[], None]:
        callback(PAINTED)
        self.watchers.append(callback)
        return lambda: self.watchers.remove(callback)

    def type_by_person(self, data: bytes) -> None:
        self.typed += data
        for watcher in self.watchers:
            watcher(data)

    def resize(self, columns: int, lines: int) -> None:
        self.sizes.append((columns, lines))


@contextmanager
def attached(terminal: Terminal) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=attach, args=(terminal, ours), daemon=True)
    with ours, theirs:
        theirs.settimeout(BOUND)
        thread.start()
        yield theirs
        with suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
        thread.join(BOUND)
    assert not thread.is_alive()


def received(link: socket.socket, wanted: bytes) -> None:
    data = b""
    while not data.endswith(wanted):
        more = link.recv(4096)
        assert more, f"closed after {data!r}"
        data += more


def test_nobody_is_dropped_however_often_they_come_and_how_soon_they_type():
    terminal = Terminal()
    for _ in range(OFTEN):
        with attached(terminal) as link:
            link.sendall(size(100, 30))
            for key in (b"a", b"b", b"c"):
                link.sendall(keys(key))
            received(link, b"abc")
    assert terminal.typed == b"abc" * OFTEN
    assert terminal.sizes == [(100, 30)] * OFTEN
    assert terminal.watchers == []


def test_who_types_nothing_for_long_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attachment, "_SEND", 0.02)
    terminal = Terminal()
    with attached(terminal) as link:
        received(link, PAINTED)
        link.settimeout(0.5)
        with pytest.raises(TimeoutError):
            link.recv(1)
        link.settimeout(BOUND)
        link.sendall(keys(b"here"))
        received(link, b"here")


def test_the_end_of_the_program_is_told_and_a_lost_connection_is_not_an_end():
    terminal = Terminal()
    with attached(terminal) as link:
        until(lambda: terminal.watchers)
        terminal.watchers[0](b"")
        received(link, PAINTED + END)
        assert link.recv(1) == b""


def test_who_does_not_keep_up_is_let_go_and_not_told_of_an_end():
    terminal = Terminal()
    with attached(terminal) as link:
        until(lambda: terminal.watchers)
        show, pieces = terminal.watchers[0], [b"x" * 65_536] * 1_000
        with pytest.raises(queue.Full):
            list(map(show, pieces))
        data = b""
        while more := link.recv(1 << 20):
            data = (data + more)[-len(END) :]
        assert data != END  # whatever came through before it was let go


def test_a_parcel_that_comes_in_pieces_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attachment, "_SEND", 0.02)
    terminal, parcel = Terminal(), keys(b"whole")
    with attached(terminal) as link:
        received(link, PAINTED)
        for piece in (parcel[:3], parcel[3:7], parcel[7:]):
            link.sendall(piece)
            os.sched_yield()
        received(link, b"whole")
