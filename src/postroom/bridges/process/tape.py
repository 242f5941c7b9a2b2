"""What came out of a child and was not yet asked for: bounded, and never shorter without saying so."""

import threading
from collections import deque

from postroom.bridges.contract import Heard
from postroom.text import encode

MOST = 1 << 20  # characters kept
_TAKEN = 256  # pieces given at once
_TAKEN_SIZE = 1 << 18  # characters given at once, but for one piece that is longer


def left_out(size: int) -> Heard:
    """That so much of the output was dropped here."""
    return Heard(encode({"postroom": "left_out", "bytes": size}), "event")


class Tape:
    """Written by the thread that hears a child, read by whoever asks. The oldest is dropped, and counted."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: deque[Heard] = deque()
        self._size = 0
        self._dropped = 0
        self._outlasting: list[Heard] = []  # of what was dropped
        self._guard = threading.Lock()

    def add(self, heard: Heard) -> None:
        with self._guard:
            self._kept.append(heard)
            self._size += len(heard.text)
            while self._size > self._most and len(self._kept) > 1:
                self._drop(self._kept.popleft())

    def _drop(self, heard: Heard) -> None:
        """What it says may go, but what it proves, doubts or asks stays."""
        self._size -= len(heard.text)
        self._dropped += len(heard.text.encode(errors="replace"))
        if heard.proves or heard.doubts or heard.refused or heard.asks or heard.asked:
            self._outlasting.append(heard._replace(text=""))

    def take(self) -> list[Heard]:
        """The next pieces, after what was left out before them."""
        with self._guard:
            taken = [left_out(self._dropped)] if self._dropped else []
            taken += self._outlasting
            self._dropped, self._outlasting, size = 0, [], 0
            while self._kept and len(taken) < _TAKEN:
                size += len(self._kept[0].text)
                if size > _TAKEN_SIZE and taken:
                    break
                taken.append(self._kept.popleft())
                self._size -= len(taken[-1].text)
            return taken

    def doubt(self) -> None:
        """Take back every proof that nobody has read: what is handed over now came after it."""
        with self._guard:
            self._outlasting = [heard._replace(proves=None) for heard in self._outlasting]
            self._kept = deque(heard._replace(proves=None) if heard.proves else heard for heard in self._kept)
