"""What a program writes to its terminal, cut into what is shown and what is ordered. Pure.

A library's parser takes unknown orders for text; what is not understood must not be shown.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LONGEST = 1 << 16  # characters of an order that has no end yet
_TOKEN = re.compile(
    r"""
    (?P<text>[^\x00-\x1f\x7f-\x9f]+)
    | \x1b\[(?P<mark>[<-?]?)(?P<parameters>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])
    | \x1b\](?P<system>[^\x07\x1b]*)(?:\x07|\x1b\\)
    | \x1b[PX^_](?P<string>[^\x1b]*(?:\x1b(?!\\)[^\x1b]*)*)\x1b\\
    | \x1b(?P<escape>[ -/]*[0-OQ-WYZ\\`-~])
    | (?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])
    """,
    re.VERBOSE,
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_](?:[^\x1b]|\x1b(?!\\))*|[ -/]*)\Z")
_BROKEN = re.compile(r"\x1b\[[0-?]*[ -/]*|\x1b")


class Piece(NamedTuple):
    """Text that is shown, or one order."""

    kind: str  # `text`, `control`, `escape` or `csi`
    text: str  # of an order: its last character
    mark: str = ""  # what stands before its parameters: `?`, `>`
    middle: str = ""
    parameters: str = ""

    @property
    def numbers(self) -> list[int]:
        return [min(int(word), 9999) if word.isdecimal() else 0 for word in self.parameters.split(";")]


class Cutter:
    """Keeps an order that is not complete yet."""

    def __init__(self) -> None:
        self._rest = ""

    def cut(self, text: str) -> Iterator[Piece]:
        data, at, self._rest = self._rest + text, 0, ""
        while at < len(data):
            found = _TOKEN.match(data, at)
            if found:
                at = found.end()
                yield from _piece(found)
            elif _UNFINISHED.match(data, at) and len(data) - at < _LONGEST:
                self._rest = data[at:]
                return
            else:
                broken = _BROKEN.match(data, at)
                at = broken.end() if broken else at + 1


def _piece(found: re.Match[str]) -> Iterator[Piece]:
    """Titles, graphics and questions about colours are left out."""
    if final := found["final"]:
        yield Piece("csi", final, found["mark"], found["middle"], found["parameters"])
    elif text := found["text"]:
        yield Piece("text", text)
    elif escape := found["escape"]:
        yield Piece("escape", escape)
    elif control := found["control"]:
        yield Piece("control", control)
