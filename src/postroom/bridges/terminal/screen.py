"""A screen as tmux captures it with its colours: characters, and how each of them looks."""

import re
from functools import lru_cache
from typing import NamedTuple

from postroom.runtimes.screen import Look

_SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x0e\x0f]")
PLAIN = Look(dim=False, foreground="", background="", reverse=False)


class Line(NamedTuple):
    """One line: as many looks as characters."""

    text: str
    looks: tuple[Look, ...]

    def rest(self, at: int) -> "Line":
        return Line(self.text[at:], self.looks[at:])

    def typed(self, ground: tuple[Look, ...], ghost: tuple[Look, ...]) -> str:
        """What of it somebody typed; what is left out in between is as wide as it was."""
        is_ghost = [_fits(look, ghost) for look in self.looks]
        if self._has_painted_cursor() and len(is_ghost) > 1 and is_ghost[1]:
            is_ghost[0] = True
        return "".join(
            c if _fits(look, ground) and not ghostly else " "
            for c, look, ghostly in zip(self.text, self.looks, is_ghost, strict=True)
        )

    def _has_painted_cursor(self) -> bool:
        """Whether a cursor is painted over its first character: what that looked like is not to be seen."""
        return self.looks[:1] != () and bool(self.looks[0].reverse)


def _fits(look: Look, wanted: tuple[Look, ...]) -> bool:
    return any(one.fits(look) for one in wanted)


class Screen(NamedTuple):
    """What is shown."""

    lines: tuple[Line, ...]
    cursor: int = -1  # the line it is in
    width: int = 0  # columns; 0: not known, so that no text is known to fit

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def parse(captured: str, cursor: int = -1, width: int = 0) -> Screen:
    """A screen from `capture-pane -e`, in which a look lasts until it is changed, over ends of lines too."""
    lines: list[Line] = []
    look = PLAIN
    for raw in captured.split("\n"):
        text, looks, at = list[str](), list[Look](), 0
        for found in _SEQUENCE.finditer(raw):
            piece = raw[at : found.start()]
            text.append(piece)
            looks += [look] * len(piece)
            if found[1] is not None:
                look = _changed(look, found[1])
            at = found.end()
        text.append(raw[at:])
        looks += [look] * len(raw[at:])
        lines.append(Line("".join(text), tuple(looks)))
    return Screen(tuple(lines), cursor, width)


@lru_cache(maxsize=4096)
def _changed(look: Look, codes: str) -> Look:
    words = codes.replace(":", ";").split(";")
    at = 0
    while at < len(words):
        word = words[at] or "0"
        if word in ("38", "48"):
            size = 3 if words[at + 1 : at + 2] == ["5"] else 5
            colour = ";".join(words[at : at + size])
            look = look._replace(foreground=colour) if word == "38" else look._replace(background=colour)
            at += size
            continue
        at += 1
        if word == "0":
            look = PLAIN
        elif word == "2":
            look = look._replace(dim=True)
        elif word == "22":
            look = look._replace(dim=False)
        elif word in ("7", "27"):
            look = look._replace(reverse=word == "7")
        elif word == "39":
            look = look._replace(foreground="")
        elif word == "49":
            look = look._replace(background="")
        elif re.fullmatch(r"3[0-7]|9[0-7]", word):
            look = look._replace(foreground=word)
        elif re.fullmatch(r"4[0-7]|10[0-7]", word):
            look = look._replace(background=word)
    return look
