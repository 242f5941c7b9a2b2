"""A thread's waiters, kept from call to call: a program that takes in a loop binds its socket once."""

import os
from _thread import _local as ThreadLocal  # pyright: ignore[reportPrivateUsage] - `threading` is slow to import
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.bell.contract import Bell, Waiter

_MOST = 16


class Waiters:
    """Waiters by party. Each thread has its own, and a forked child starts anew: a shared one loses rings."""

    def __init__(self, bell: "Bell") -> None:
        self._bell = bell
        self._pid = os.getpid()
        self._threads = ThreadLocal()

    def get(self, party: str) -> "Waiter":
        """A waiter that is bound, with no old rings. Look in the store after this."""
        held = self._held()
        waiter = held.get(party)
        if waiter is not None:
            waiter.drain()
            return waiter
        if len(held) >= _MOST:
            held.pop(next(iter(held))).close()
        waiter = held[party] = self._bell.waiter(party)
        return waiter

    def _held(self) -> "dict[str, Waiter]":
        if self._pid != os.getpid():
            self._pid, self._threads = os.getpid(), ThreadLocal()
        held: dict[str, Waiter] | None = getattr(self._threads, "held", None)
        if held is None:
            held = self._threads.held = {}
        return held

    def close(self) -> None:
        """Close this thread's; another thread's end with it."""
        held = self._held()
        while held:
            held.popitem()[1].close()
