"""Bytes into lines, each of bounded length."""

from typing import NamedTuple

MOST = 1 << 20  # bytes of one line


class Cut(NamedTuple):
    """A line; where it was too long, its beginning, and how many bytes are missing."""

    text: str
    missing: int = 0


class Splitter:
    """Keeps what has no end yet."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._begun = b""
        self._missing = 0

    def feed(self, data: bytes) -> list[Cut]:
        """The lines that end in it."""
        *whole, last = data.split(b"\n")
        lines: list[Cut] = []
        for part in whole:
            self._grow(part)
            lines.append(self._end())
        self._grow(last)
        return lines

    def rest(self) -> list[Cut]:
        """What was never ended, once no more will come."""
        return [self._end()] if self._begun else []

    def _grow(self, part: bytes) -> None:
        kept = part[: self._most - len(self._begun)]
        self._begun += kept
        self._missing += len(part) - len(kept)

    def _end(self) -> Cut:
        cut = Cut(self._begun.removesuffix(b"\r").decode(errors="replace"), self._missing)
        self._begun, self._missing = b"", 0
        return cut
