"""The texts that a server has taken, of which nobody knows yet whether a model has seen them."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from postroom.bridges.contract import Heard
from postroom.bridges.server.answer import UNANSWERED
from postroom.model.ladder import Evidence

LOST = 30.0  # seconds after which a text that is nowhere is given up
_SOON, _LATE = 1.0, 10.0  # seconds between two looks at a conversation that has not moved


class Fate(StrEnum):
    """What a conversation tells of a text."""

    ABSENT = "absent"  # it is not there
    TAKEN = "taken"  # it is there, and was not answered yet
    ANSWERED = "answered"  # the model has said something after it
    BROKEN = "broken"  # its turn has ended without an answer
    REFUSED = "refused"  # the same, by an error of the API


class Verdict(NamedTuple):
    """The fate of one text."""

    fate: Fate
    words: str = ""  # how its turn ended, if that was no answer


class Ledger:
    """Used by one thread at a time, but for `move`. Looks again when something has moved, or now and then."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}  # by the id of a text
        self._changed = threading.Condition()
        self._moves, self._seen_moves = 0, 0  # how often it went on, and how often before the last look
        self._looked_at, self._pause = 0.0, _SOON

    @property
    def moves(self) -> int:
        """How often the conversation went on."""
        return self._moves

    def move(self) -> None:
        """The conversation goes on."""
        with self._changed:
            self._moves += 1
            self._changed.notify_all()

    def wait(self, since: int, seconds: float) -> None:
        """Until it has gone on since it had `since` moves, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._moves != since, seconds)

    def add(self, text: str) -> None:
        self._since[text] = time.monotonic()
        self._pause = _SOON

    def drop(self, text: str) -> None:
        """None of it was taken, after all."""
        del self._since[text]

    def is_old(self, text: str) -> bool:
        """Whether it should be found by now."""
        return time.monotonic() - self._since[text] >= LOST

    def settle(self, judge: Callable[[list[str]], dict[str, Verdict]]) -> list[Heard]:
        """What is known now: all of it is proven, or some of it never will be. `judge` may be unanswered."""
        now, moves = time.monotonic(), self._moves
        if not self._since or not (moves != self._seen_moves or now - self._looked_at >= self._pause):
            return []
        self._seen_moves = moves
        self._looked_at, self._pause = now, min(_LATE, self._pause * 1.5)
        try:
            found = judge([*self._since])
        except UNANSWERED:
            return []  # later, or never: then whoever lets go of it doubts
        return self._judged(list(found.values()))

    def _judged(self, found: list[Verdict]) -> list[Heard]:
        broken = [one.words for one in found if one.fate is Fate.BROKEN]
        if broken:
            self._since.clear()
            return [Heard(doubts=broken[0])]
        refused = [one.words for one in found if one.fate is Fate.REFUSED]
        if refused:
            self._since.clear()
            return [Heard(refused=refused[0])]
        if all(one.fate is Fate.ANSWERED for one in found):
            self._since.clear()
            return [Heard(proves=Evidence.RUNTIME_ACK)]
        return []
