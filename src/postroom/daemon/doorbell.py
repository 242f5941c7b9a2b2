"""What wakes one keeper: its own process by a pair of sockets, all others by the room's bell; and what its
agent's mailbox tells, if it has one.

What rings in this process needs no file. Where the bell's place was removed, it is bound anew (`wait`).
"""

import contextlib
import select
import socket

from postroom.bell.contract import Bell
from postroom.bell.polling import SECONDS

_LONGEST = 86_400.0  # seconds


class Doorbell:
    """`ring` and `is_lost` are for any thread, all else is for the one that waits."""

    def __init__(self, bell: Bell, party: str) -> None:
        self._bell, self._party = bell, party
        self._watched = -1
        self._button, self._gong = socket.socketpair()
        for end in (self._button, self._gong):
            end.setblocking(False)
        self._bind()

    def _bind(self) -> None:
        self._waiter = self._bell.waiter(self._party, aside=True)
        self._poll = select.poll()
        for descriptor in (self._gong.fileno(), self._waiter.fileno(), self._watched):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    def ring(self) -> None:
        with contextlib.suppress(OSError):  # it is full of rings, or nobody waits any more
            self._button.send(b"!")

    def watch(self, descriptor: int) -> None:
        """Wake, too, when that can be read, until another is watched; negative: none is."""
        if descriptor != self._watched:
            if self._watched >= 0:
                self._poll.unregister(self._watched)
            self._watched = descriptor
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    def is_lost(self) -> bool:
        """Whether others cannot ring it any more; whoever waits should be rung then."""
        return self._waiter.is_lost()

    def wait(self, seconds: float | None) -> bool:
        """Until it is rung, or so long; whether it was. The rings are forgotten: look in the room then."""
        most = _LONGEST if self._waiter.fileno() >= 0 else SECONDS
        told = self._poll.poll(1000 * min(most, most if seconds is None else max(0.0, seconds)))
        rung = [descriptor for descriptor, _ in told]
        if self._waiter.fileno() in rung:
            self._waiter.drain()
        elif self._waiter.is_lost():
            self._waiter.close()
            self._bind()
        if self._gong.fileno() in rung:
            with contextlib.suppress(OSError):
                while self._gong.recv(4096):
                    pass
        return bool(rung)

    def close(self) -> None:
        self._waiter.close()
        self._button.close()
        self._gong.close()
