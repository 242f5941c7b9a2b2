"""When an agent whose hooks carry its mail is to be woken by its bridge, and with what.

Its hooks find mail by themselves while it works, and most runtimes have a wake of their own: that comes
first. Only if nothing comes of it, a line is typed; for urgent mail, sooner. No line is typed twice for the
same mail unless the agent has done something in between.
"""

import time
from typing import NamedTuple

from postroom.model.ladder import Priority
from postroom.model.message import Mail, Session
from postroom.model.presence import Presence
from postroom.room.local import LocalRoom
from postroom.room.reach import doing, last_sign
from postroom.runtimes import load
from postroom.runtimes.contract import NUDGE, Wake

_GRACE, _GRACE_URGENT = 3_000, 1_000  # milliseconds for a runtime's own wake, before a line is typed
_WORKS = 2.0  # seconds between two looks at an agent whose hooks will find the mail by themselves
_LATCH = 30.0  # seconds in which what was submitted may still come to something
_TRIES = 2  # lines for one message


class _Try(NamedTuple):
    """What was typed last: for which message, how often, when, and its agent's sign of life then."""

    seq: int = 0
    tries: int = 0
    at: float = 0.0
    sign: int = 0


class Waking:
    """One agent's wakes."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._last = self._before = _Try()

    def is_idle(self, carrier: Session) -> bool:
        """Whether its hooks agree that it is."""
        runtime, sign = load(carrier.runtime), last_sign(self._room.home, carrier)
        return doing(self._room.store.look(), carrier, runtime, sign) is Presence.IDLE

    def due_in(self, carrier: Session, waits: list[Mail]) -> float | None:
        """In how many seconds a line is to be typed (0: now); None: not before it is rung again."""
        if not self.is_idle(carrier):
            return _WORKS
        last, first = self._last, waits[0]
        if last.seq != first.delivery.seq:
            return self._grace(carrier, first)
        left = last.at + _LATCH - time.monotonic()
        if left > 0 and last.sign == last_sign(self._room.home, carrier).at:
            return left
        return None if last.tries >= _TRIES else self._grace(carrier, first)

    def _grace(self, carrier: Session, first: Mail) -> float:
        """How long its own wake has still to work."""
        if load(carrier.runtime).wake is Wake.NONE:
            return 0.0
        grace = _GRACE_URGENT if first.message.priority is Priority.URGENT else _GRACE
        since = max(first.delivery.stored_at, last_sign(self._room.home, carrier).at)
        return max(0.0, (since + grace - self._room.now()) / 1000)

    def line(self, waits: list[Mail]) -> str:
        """Short, plain, and one line: it says that there is mail, and which."""
        more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
        return f"{NUDGE} ({waits[0].handle}{more})"

    def withheld(self) -> None:
        """Not a byte of that line was written, after all."""
        self._last = self._before

    def tried(self, carrier: Session, waits: list[Mail]) -> None:
        """A line is about to be typed."""
        seq = waits[0].delivery.seq
        tries = self._last.tries if self._last.seq == seq else 0
        sign = last_sign(self._room.home, carrier).at
        self._before, self._last = self._last, _Try(seq, tries + 1, time.monotonic(), sign)
