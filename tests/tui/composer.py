"""The composer of the fake agent: a text, and what a terminal's timing does to the Enter after it."""

import argparse
import re
from collections.abc import Callable

BURST_GAP, BURST_SIZE, BURST_QUIET = 0.008, 3, 0.120  # seconds, characters, seconds
_MARK = 0xE000  # a character for each paste that is not shown as it is
_PICKS = re.compile(r"(?:^|\s)([/@]\S*|\S+\.[a-z]{1,4})$")


class Composer:
    """All times are of the moment when the bytes were read, whenever they were sent."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._text = ""
        self._pastes: list[str] = []
        self._closed = ""  # the text at which the picker was closed
        self._quiet_until = self._burst_until = self._last = 0.0
        self._streak = 0

    @property
    def text(self) -> str:
        """What would be submitted."""
        return self._put(lambda n: self._pastes[n])

    @property
    def shown(self) -> str:
        return self._put(lambda n: f"[Pasted text #{n + 1} +{self._pastes[n].count(chr(10))} lines]")

    def _put(self, of: Callable[[int], str]) -> str:
        last = _MARK + len(self._pastes)
        return "".join(of(ord(c) - _MARK) if _MARK <= ord(c) < last else c for c in self._text)

    @property
    def picking(self) -> str:
        """The word for which the picker is open; empty: it is not."""
        found = _PICKS.search(self._text) if self._options.picker and self._text != self._closed else None
        return found[1] if found else ""

    def type(self, character: str, now: float) -> None:
        self._text += character
        self._streak = self._streak + 1 if now - self._last < BURST_GAP else 1
        self._last = now
        if self._options.burst and self._streak >= BURST_SIZE:
            self._burst_until = now + BURST_QUIET

    def paste(self, text: str, now: float) -> None:
        if self._options.fold and text.count("\n") >= self._options.fold:
            self._pastes.append(text)
            text = chr(_MARK + len(self._pastes) - 1)
        self._text += text
        self._quiet_until = now + self._options.quiet / 1000

    def swallows(self, now: float) -> str:
        """Why an Enter is no Enter now; empty: it is one. One that is none is a newline, and prolongs it."""
        if now < self._quiet_until:
            self._quiet_until = now + self._options.quiet / 1000
            why = "paste"
        elif now < self._burst_until:
            self._burst_until = now + BURST_QUIET
            why = "burst"
        else:
            return ""
        self.newline()
        return why

    def newline(self) -> None:
        self._text += "\n"

    def pick(self, completion: str = "") -> None:
        """Close the picker, with what was chosen or without."""
        self._text += completion
        self._closed = self._text

    def backspace(self) -> None:
        self._text = self._text[:-1]

    def take(self) -> str:
        """All of it; then it is empty."""
        text, self._text, self._closed = self.text, "", ""
        return text
