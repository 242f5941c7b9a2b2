"""The lines of all journals in order: those that count, and those that a rewind has voided.

A rewind is written where the store has lost events that the journals have. It voids the lines above it,
in the same journal, that the store does not know; they stay in the files.
"""

import heapq
import json
from collections.abc import Iterator
from typing import NamedTuple

from postroom.errors import JournalBroken
from postroom.room import line, segment
from postroom.room.segment import Segment

_NONE = 1 << 62


class Line(NamedTuple):
    """One event's line, and where it stands."""

    seq: int
    text: bytes
    path: str
    number: int


class _Rewind(NamedTuple):
    """One rewind of a journal."""

    place: int  # its place among all lines of the journal
    to: int
    loss: tuple[int, str]  # which loss it is of, by number and time; an earlier version gives no number


def broken(found: Line, why: str) -> JournalBroken:
    return JournalBroken(f"{found.path}:{found.number}: {why}", path=found.path, line=found.number)


class Journals:
    """Reads all journals as they are now. Each file is read once for its rewinds, and once for its lines."""

    def __init__(self, events: str) -> None:
        self._events = events
        self._files = segment.settled(events)
        self._rewinds = {stem: _rewinds(files) for stem, files in self._files.items()}

    def lines(self) -> Iterator[Line]:
        """Merge the lines that count, by seq."""
        return heapq.merge(*(self._counting(stem) for stem in self._files))

    def every(self) -> Iterator[tuple[Line, bool]]:
        """Give all lines, one journal after the other, and whether they are voided."""
        for stem in self._files:
            yield from ((found, by is not None) for found, by in self._marked(stem))
            for void in segment.voids(self._events, stem):
                yield from ((found, True) for found, _ in _marked([void], _rewinds([void])))

    def voided(self) -> list[Line]:
        """Give what the latest loss has voided, by seq: from the first event that the store had lost."""
        rewinds = [one.loss for its in self._rewinds.values() for one in its]
        files = [one for stem in self._files for one in segment.voids(self._events, stem)]
        if not rewinds and not files:
            return []
        number, at = max(rewinds, default=(0, ""))
        if (
            number or not rewinds
        ):  # where no rewind has a number, an earlier version wrote them, and named the files
            number = max([number, *(segment.loss_of(one.path) for one in files)])
            at = max((when for n, when in rewinds if n == number), default="")
        found = [
            text
            for stem in self._files
            if self._rewinds[stem]
            for text, by in self._marked(stem)
            if by is not None and by.loss[0] == number and (number or by.loss[1] == at)
        ]
        for one in files:
            if not number or segment.loss_of(one.path) == number:
                found += [text for text, by in _marked([one], _rewinds([one])) if by is None]
        return sorted(found)

    def losses(self) -> int:
        """Give the number of the latest loss."""
        named = [
            segment.loss_of(one.path) for stem in self._files for one in segment.voids(self._events, stem)
        ]
        return max([0, *named, *(one.loss[0] for its in self._rewinds.values() for one in its)])

    def _counting(self, stem: str) -> Iterator[Line]:
        """Give the lines of one journal that still count, in the order of their seq."""
        return (found for found, by in self._marked(stem) if by is None)

    def _marked(self, stem: str) -> Iterator[tuple[Line, "_Rewind | None"]]:
        return _marked(self._files[stem], self._rewinds[stem])


def _marked(files: list[Segment], its: list[_Rewind]) -> Iterator[tuple[Line, _Rewind | None]]:
    """Give the lines of one journal, and the first rewind that voids each."""
    rewinds, index = list(its), 0
    lowest = _lowest(rewinds)
    for found in files:
        for number, text in segment.lines(found):
            index += 1
            while rewinds and rewinds[0].place <= index:
                rewinds.pop(0)
                lowest.pop(0)
            if line.rewinds_to(text) is not None:
                continue
            try:
                seq = line.number(text)
            except ValueError as exc:
                raise broken(Line(0, text, found.path, number), str(exc)) from exc
            is_void = bool(lowest) and seq > lowest[0]
            yield (
                Line(seq, text, found.path, number),
                next(one for one in rewinds if seq > one.to) if is_void else None,
            )


def _lowest(rewinds: list[_Rewind]) -> list[int]:
    """Give, for each rewind, the lowest seq that it or a later one goes back to."""
    found, lowest = list[int](), _NONE
    for one in reversed(rewinds):
        lowest = min(lowest, one.to)
        found.append(lowest)
    return found[::-1]


def _rewinds(files: list[Segment]) -> list[_Rewind]:
    found, index = list[_Rewind](), 0
    for one in files:
        for _, text in segment.lines(one):
            index += 1
            if (to := line.rewinds_to(text)) is not None:
                said = json.loads(text)
                loss = said.get("loss") or 0, said.get("timestamp") or ""
                found.append(_Rewind(index, to, loss))
    return found
