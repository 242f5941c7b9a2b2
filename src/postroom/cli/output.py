"""Printing: one place for colour, columns, and for making what strangers wrote harmless to a terminal."""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TextIO

from postroom.errors import PostroomError
from postroom.text import width

# What could move the cursor, change colours or turn text around: control characters and bidi controls.
_CONTROLS = (*range(9), *range(11, 32), *range(127, 160))
_BIDI = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMFUL = dict.fromkeys(_CONTROLS + _BIDI)
_ONE_LINE: dict[int, str | None] = {**_HARMFUL, 9: " ", 10: " ", 13: " ", 0x2028: " ", 0x2029: " "}

_STYLES = {"bold": "1", "dim": "2"} | {
    name: str(30 + n) for n, name in enumerate(["black", "red", "green", "yellow", "blue", "magenta", "cyan"])
}
_LEAST, _NARROW = 24, 8  # columns of the last cell, and of the others
_COMMAND = r"(?<=: )(?:postroom|ssh|uv|pipx|\S*python[\d.]*) (?:(?!\. )[^;(])*[^;( .]"  # in a hint
_PLAIN = str.maketrans("─│·→…●○×✓✗–↻“”↩", '-|->~*oxvx-@""<')  # for a stream that is not UTF-8


def clean(text: str) -> str:
    """A text of several lines, without what could harm a terminal.

    A person sees the rest; for a model, which reads what does not show, there is `protocol.plain`.
    """
    return text.translate(_HARMFUL)


def one_line(text: str) -> str:
    """A text as one line, without what could harm a terminal."""
    return text.translate(_ONE_LINE)


def count(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cut(text: str, columns: int) -> str:
    """A text that fits."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def unpainted(text: str) -> str:
    """A text without its colours."""
    parts = text.split("\033[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])


class Output:
    """One stream, and what it can show."""

    __slots__ = ("_descriptor", "_stream", "colour", "is_terminal", "taken", "utf8")

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.colour = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.utf8 = (stream.encoding or "").lower() in ("utf-8", "utf8")
        self.taken = 0  # how many bytes of the last text are out
        try:
            self._descriptor = stream.fileno() if os.name == "posix" else -1
        except (OSError, ValueError):
            self._descriptor = -1

    @property
    def columns(self) -> int:
        """The width of the terminal; a page's width where there is none."""
        if not self.is_terminal:
            return 100
        try:
            return max(40, os.get_terminal_size(self._stream.fileno()).columns)
        except (OSError, ValueError):
            return 80

    @property
    def rows(self) -> int:
        """The height of the terminal; 0 where there is none."""
        try:
            return os.get_terminal_size(self._stream.fileno()).lines if self.is_terminal else 0
        except (OSError, ValueError):
            return 24

    def paint(self, text: str, *styles: str) -> str:
        """A text in colour, where that is wanted."""
        if not self.colour or not text or not any(styles):
            return text
        return f"\033[{';'.join(_STYLES[style] for style in styles if style)}m{text}\033[0m"

    def fold(self, text: str, indent: int = 0) -> str:
        """A text on lines that the terminal has room for, all but the first set in; elsewhere as it is."""
        if not self.is_terminal or width(text) + indent <= self.columns:
            return text
        import re
        from textwrap import wrap

        # A command can be copied only if it is on one line; it ends with the text, or where more is said.
        whole = re.sub(_COMMAND, lambda found: found[0].replace(" ", "\0"), text)
        lines = wrap(whole, self.columns - indent, break_long_words=False, break_on_hyphens=False)
        return f"\n{' ' * indent}".join(lines).replace("\0", " ")

    def lay(self, cells: Iterable[str], indent: int, between: str = "  ") -> str:
        """Cells, which may be painted, on lines that the terminal has room for, all but the first set in."""
        lines = [""]
        for cell in cells:
            line = f"{lines[-1]}{between}{cell}" if lines[-1] else cell
            if lines[-1] and self.is_terminal and indent + width(unpainted(line)) > self.columns:
                lines.append(cell)
            else:
                lines[-1] = line
        return f"{between.rstrip()}\n{' ' * indent}".join(lines)

    def write(self, text: str) -> None:
        """Write in one go, and be sure it is out: raises `OSError` when not all of it was taken."""
        if not self.utf8:
            text = text.translate(_PLAIN)
        self.write_bytes(text.encode(self._stream.encoding or "utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """As `write`, but what is given is what comes out."""
        self._stream.flush()
        self.taken = 0
        if self._descriptor < 0:
            self.taken = len(data)  # if it fails now, nobody knows how far it got
            self._stream.buffer.write(data)
            self._stream.buffer.flush()
        while self.taken < len(data):
            self.taken += os.write(self._descriptor, data[self.taken :] if self.taken else data)

    def table(
        self,
        rows: Iterable[Sequence[str]],
        styles: Sequence[str] = (),
        head: Sequence[str] = (),
        spare: Collection[int] = (),
        *,
        least: int = _LEAST,
        below: Sequence[str] = (),
    ) -> str:
        """Columns, cut to the width there is: the last first, and on a terminal then the widest.

        Those in `spare` are left out where the terminal is too narrow for all of them. The last keeps `least`
        columns until the others are narrow. What stands `below` a row is folded, and not cut.
        """
        body = [[one_line(cell) for cell in row] for row in rows]
        every = [list(head), *body] if head else body
        if not every:
            return ""
        widths = [max(map(width, column)) for column in zip(*every, strict=True)]
        if spare and self.is_terminal and sum(widths) + 2 * len(widths) - 2 > self.columns:
            keep = [at for at in range(len(widths)) if at not in spare]
            styles = [styles[at] if at < len(styles) else "" for at in keep]
            body, head = [[row[at] for at in keep] for row in body], [head[at] for at in keep] if head else ()
            widths = [widths[at] for at in keep]
        widths = self._fitted(widths, least)
        lines = [self._row(head, widths, ["dim"] * len(widths))] if head else []
        for at, row in enumerate(body):
            lines.append(self._row(row, widths, styles))
            if at < len(below) and below[at]:
                lines.append(f"  {self.paint(self.fold(one_line(below[at]), 2), 'dim')}")
        return "".join(f"{line}\n" for line in lines)

    def _fitted(self, widths: list[int], least: int) -> list[int]:
        """What of them there is room for. Elsewhere than on a terminal, names stay whole."""
        *first, last = widths
        left = self.columns - 2 * len(first)
        least = min(last, least)
        while self.is_terminal and sum(first) + least > left:
            if max([0, *first]) > _NARROW:
                first[first.index(max(first))] -= 1
            elif least > 1:
                least -= 1
            elif max([0, *first]) > 1:
                first[first.index(max(first))] -= 1
            else:
                break
        return [*first, min(last, max(least, left - sum(first)))]

    def _row(self, row: Sequence[str], widths: list[int], styles: Sequence[str]) -> str:
        cells: list[str] = []
        for at, cell in enumerate(row):
            text = cut(cell, widths[at])
            painted = self.paint(text, styles[at] if at < len(styles) else "")
            cells.append(painted if at == len(row) - 1 else painted + " " * (widths[at] - width(text)))
        return "  ".join(cells).rstrip()


def standard_output() -> Output:
    """Where data goes. Whoever closed it is told before anything is done."""
    if not hasattr(sys.stdout, "write"):  # it is None when descriptor 1 was closed
        hint = "Send it to /dev/null instead."
        raise PostroomError("standard output is closed: nothing was done", hint=hint)
    return Output(sys.stdout)
