"""Lines that come together go in one letter: counted where they are equal, and bounded.

The first begins a window; what comes in it goes with it. While they keep coming, windows grow.
"""

from typing import NamedTuple

LONGEST = 30.0  # seconds of a window
_LINES, _BYTES = 100, 8_000  # of one letter


class Letter(NamedTuple):
    """What came in one window."""

    lines: list[tuple[int, str]]  # how often, and which; in the order in which they came first
    more: int = 0  # lines that it had no room for
    total: int = 0  # all together
    missed: int = 0  # bytes that came too fast to be looked at
    slow: int = 0  # lines on which the pattern took too long


class Burst:
    """Of one pattern. Times are on whatever clock the caller has."""

    def __init__(self, window: float) -> None:
        self._least = self._size = min(window, LONGEST)
        self._until: float | None = None
        self._ended = float("-inf")
        self._clear()

    def _clear(self) -> None:
        self._lines: dict[str, int] = {}
        self._bytes = self._more = self._missed = self._slow = 0

    def add(self, line: str, now: float) -> None:
        self._begin(now)
        if line in self._lines:
            self._lines[line] += 1
        elif len(self._lines) < _LINES and self._bytes + (size := len(line.encode()) + 8) <= _BYTES:
            self._lines[line] = 1
            self._bytes += size
        else:
            self._more += 1

    def miss(self, count: int, now: float) -> None:
        """So many bytes were not looked at."""
        self._begin(now)
        self._missed += count

    def lag(self, now: float) -> None:
        """The pattern took too long on a line."""
        self._begin(now)
        self._slow += 1

    def _begin(self, now: float) -> None:
        if self._until is None:
            if now - self._ended > self._size:
                self._size = self._least  # it was quiet for long enough
            self._until = now + self._size

    def due_in(self, now: float) -> float | None:
        """Seconds until there is a letter; None: nothing has come."""
        return None if self._until is None else max(0.0, self._until - now)

    def take(self, now: float) -> Letter:
        """What there is; from here on the next window counts."""
        lines = [(count, line) for line, count in self._lines.items()]
        total = sum(count for count, _ in lines) + self._more
        letter = Letter(lines, self._more, total, self._missed, self._slow)
        self._ended, self._until = now, None
        self._size = min(LONGEST, self._size * 2)
        self._clear()
        return letter
