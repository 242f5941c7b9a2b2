"""Who is connected to a project, told to the others there: what came and went meanwhile is one frame."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from postroom.text import encode

_REMEMBERED = 4096  # changes


class Change(NamedTuple):
    """Somebody came, or went."""

    number: int
    agent: str
    is_here: bool


class Presence:
    """Those of one project. Nobody has a queue: who is told knows up to which change."""

    def __init__(self) -> None:
        self._here: Counter[str] = Counter()  # how many connections each has
        self._changes: deque[Change] = deque(maxlen=_REMEMBERED)
        self._told: tuple[int, str] = (-1, "")  # what was told last, and to who knew up to where
        self.number = 0

    def enter(self, agent: str) -> bool:
        """Whether this changes anything for the others."""
        self._here[agent] += 1
        return self._here[agent] == 1 and self._note(agent, is_here=True)

    def leave(self, agent: str) -> bool:
        self._here[agent] -= 1
        if self._here[agent] > 0:
            return False
        del self._here[agent]
        return self._note(agent, is_here=False)

    def _note(self, agent: str, *, is_here: bool) -> bool:
        self.number += 1
        self._changes.append(Change(self.number, agent, is_here))
        self._told = (-1, "")
        return True

    @property
    def is_empty(self) -> bool:
        return not self._here

    def since(self, number: int) -> str:
        """The frame for who knows all up to a change: empty when there is nothing to tell."""
        if number == self.number:
            return ""
        if self._told[0] != number:
            self._told = (number, self._frame(number))
        return self._told[1]

    def _frame(self, number: int) -> str:
        first = self._changes[0].number if self._changes else self.number + 1
        if number < first - 1 or not number:
            return _frame(sorted(self._here), (), whole=True)
        changed = {one.agent for one in self._changes if one.number > number}
        here = sorted(agent for agent in changed if agent in self._here)
        return _frame(here, sorted(changed.difference(here)))


def _frame(here: Iterable[str], gone: Iterable[str], *, whole: bool = False) -> str:
    """`whole`: nobody else is here."""
    return encode({"type": "presence", "here": list(here), "gone": list(gone), "whole": whole})
