"""Waiting on the bell: no CPU while nothing happens, and a missed ring is made good by a slow sweep."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from postroom.errors import InvalidValue
from postroom.model.ladder import ended, reached
from postroom.model.message import Delivery, Mail
from postroom.room import one
from postroom.room.offer import offer, peek
from postroom.room.send import check_rung

if TYPE_CHECKING:
    from postroom.bell.contract import Waiter
    from postroom.room.local import LocalRoom

T = TypeVar("T")


def watch(
    room: "LocalRoom", party: str, look: Callable[[], T], timeout: float | None, *, others: bool = False
) -> T:
    """Call `look` until it finds something or time is up; the last answer either way.

    `others` when what is waited for depends on what others do with their mail.
    """
    if timeout is not None and timeout <= 0:
        return look()
    return watch_with(room, room.waiter(party), party, look, timeout, others=others)


def watch_with(
    room: "LocalRoom",
    waiter: "Waiter",
    party: str,
    look: Callable[[], T],
    timeout: float | None,
    *,
    others: bool = False,
) -> T:
    """As `watch`, with a waiter that is bound already."""
    if timeout != timeout:  # noqa: PLR0124 - only NaN is not itself, and it would never be over
        raise InvalidValue("a timeout must be a number of seconds", field="timeout")
    deadline = None if timeout is None else time.monotonic() + timeout
    sleep: _Sleep | None = None
    while not (found := look()):
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        sleep = sleep or _Sleep(room, waiter, None if others else party)
        sleep.until_reason(left)
    return found


class _Sleep:
    """Sleeping until there is a reason to look: a ring, a change, a moment that has come, or no time left.

    The death of a process rings no bell: the sweep, done first of all and then now and again, finds it. While
    nothing was written and nobody holds a claim, there is nothing that it could find.
    """

    __slots__ = ("_due", "_is_claimed", "_room", "_swept", "_version", "_waiter")

    def __init__(self, room: "LocalRoom", waiter: "Waiter", swept: str | None) -> None:
        self._room = room
        self._waiter = waiter
        self._swept = swept  # whose mail; None: everybody's
        self._version: int | None = None  # not known: the first time, everything counts as changed
        self._due: int | None = None
        self._is_claimed = True

    def until_reason(self, left: float | None) -> None:
        if self._waiter.drain():
            return  # for what came since the look, or for several messages that one look has found
        room = self._room
        now = time.monotonic()
        until = None if left is None else now + left
        self._due = next_due(room, self._swept)
        while True:
            rung = self._waiter.wait(self._pause(now, until))
            if self._due is not None and self._due <= room.store.clock():
                room.sweep(self._swept)
                return
            if rung and not room.bell.polls:
                return
            now = time.monotonic()
            if self._look_around() or (until is not None and now >= until):
                return

    def _pause(self, now: float, until: float | None) -> float:
        pause = self._room.next_sweeps.get(self._swept, 0.0) - now
        if self._due is not None:
            pause = min(pause, (self._due - self._room.store.clock()) / 1000)
        if until is not None:
            pause = min(pause, until - now)
        return max(0.0, pause)

    def _look_around(self) -> bool:
        """Whether anything was written; from time to time, what gone processes hold is returned."""
        room, was = self._room, self._version
        self._version = room.store.changed()
        changed, now = self._version != was, time.monotonic()
        renewed = self._waiter.renew()  # each waiter does: another thread may do the sweep
        self._is_claimed = self._is_claimed or changed  # perhaps, since something was written
        if now >= room.next_sweeps.get(self._swept, 0.0):
            seconds = room.settings.sweep_seconds
            if self._is_claimed:
                self._is_claimed = room.is_claimed(self._swept)
                changed = room.sweep(self._swept) > 0 or changed
            else:
                seconds *= 2  # where nothing happens at all
            room.next_sweeps[self._swept] = now + sweep_pause(seconds)
            room.rouse()
        return changed or renewed


def next_due(room: "LocalRoom", party: str | None) -> int | None:
    """When the clock next acts on a party's mail, or on anybody's.

    Never where it cannot: a wait for that would not sleep.
    """
    look = room.store.look()
    return None if room.store.readonly else look.next_due(party)


def sweep_pause(seconds: float) -> float:
    """Seconds ± 20 %, so that a hundred waiters do not look at once."""
    return seconds * (0.8 + 0.4 * os.urandom(1)[0] / 255)


def wait(room: "LocalRoom", agent: str | None, timeout: float | None, limit: int = 50) -> list[Mail]:
    """Sleep until mail is there; peeks, so that nothing is marked."""
    return watch(room, room.who(agent).id, lambda: peek(room, agent, limit), timeout)


def take(
    room: "LocalRoom", agent: str | None, timeout: float | None, *, route: str, handed: bool
) -> Mail | None:
    """Claim the next delivery, waiting for one if need be."""
    return watch(room, room.who(agent).id, lambda: offer(room, agent, route=route, handed=handed), timeout)


def until_rung(room: "LocalRoom", ref: str, rung: str, timeout: float | None) -> list[Delivery]:
    """Wait until every delivery of a message stands on a rung, or can no longer get there."""
    climb = Climb(room, ref, rung)
    return watch(room, climb.party, climb.done, timeout, others=True) or climb.deliveries()


class Climb:
    """What somebody waits for who waits for a rung; `party` is whose bell rings when it moves."""

    __slots__ = ("_enough", "_room", "_rung", "_seq", "party")

    def __init__(self, room: "LocalRoom", ref: str, rung: str) -> None:
        self._rung = check_rung(rung)
        message = room.message(ref)
        self._enough = any if one.is_one(message) else all
        self._room, self._seq, self.party = room, message.seq, message.sender_id

    def deliveries(self) -> list[Delivery]:
        """How far each of them is now."""
        return self._room.store.look().deliveries(self._seq)

    def done(self) -> list[Delivery]:
        """All of them, once they stand on the rung or can no longer get there; empty until then."""
        deliveries = self.deliveries()
        if self._enough(reached(d.state, self._rung) for d in deliveries):
            return deliveries
        return deliveries if all(reached(d.state, self._rung) or ended(d.state) for d in deliveries) else []
