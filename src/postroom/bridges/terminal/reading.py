"""What a screen shows, by a runtime's profile: where somebody types, and whether anybody may.

The composer is where the cursor is, and nowhere else: what an agent prints can look like one, but it moves no
cursor.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from postroom.bridges.terminal.screen import Line, Screen
from postroom.runtimes.screen import Composer, Most, Profile
from postroom.runtimes.trial import LINE
from postroom.text import width

CUT = "\x00"  # begins a draft of which only the end may be shown; nobody types it
_INVISIBLE = "\u200b\u200c\u200d\ufe0e\ufe0f"  # some composers add them, and terminals drop them


class State(StrEnum):
    """What an agent does, by its screen alone."""

    IDLE = "idle"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"  # nothing is typed into it


class Reading(NamedTuple):
    """One look at a screen."""

    state: State
    draft: str | None = None  # what stands in the composer; None: there is none to be seen
    dialog: str = ""  # its name


def read(screen: Screen, profile: Profile) -> Reading:
    """A dialog counts before all else: it takes the keys whatever else is shown."""
    text = "\n".join(line.text[:LINE] for line in screen.lines)
    for dialog in profile.dialogs:
        if re.search(dialog.pattern, text, re.MULTILINE):
            return Reading(State.DIALOG, None, dialog.name)
    draft = None if _shows(text, profile.deaf) else composed(screen, profile.composer)
    if _shows(text, profile.busy):
        return Reading(State.BUSY, draft)
    return Reading(State.UNKNOWN if draft is None else State.IDLE, draft)


def _shows(text: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def _begins(line: Line, pattern: str) -> "re.Match[str] | None":
    return re.match(pattern, line.text[:LINE])


def holds(draft: str, text: str, profile: Profile) -> bool:
    """Whether the composer holds exactly this text and nothing else, as far as it can be known.

    White space does not count: lines are wrapped. Where a marker stands for a long text, it must be the only
    one, alone, and count as many lines or characters. A composer that may have scrolled holds nothing known.
    """
    if draft.startswith(CUT):
        return False
    found = re.fullmatch(profile.pasted, draft.strip()) if profile.pasted else None
    if found:
        return _counts(found, text, profile.bare)
    return bool(_bare(text)) and _bare(draft) == _bare(text)


def _counts(marker: re.Match[str], text: str, bare: int) -> bool:
    """Whether a marker's numbers are those of a text, in each way to count that its pattern names."""
    true = {
        "lines": text.count("\n") + 1,
        "breaks": text.count("\n"),
        "chars": len(text),
        "units": len(text.encode("utf-16-le")) // 2,
    }
    said = {name: int(number) for name, number in marker.groupdict().items() if number}
    if "\n" not in text and len(text) <= bare:
        return False
    return all(true[name] == number for name, number in (said or {"breaks": 0}).items())


def _bare(text: str) -> str:
    return "".join(text.split()).translate(dict.fromkeys(map(ord, _INVISIBLE)))


def composed(screen: Screen, composer: Composer) -> str | None:
    """What stands in the composer, line by line; None where the cursor is in none."""
    lines = screen.lines
    for at in reversed(range(min(screen.cursor + 1, len(lines)))):
        found = _begins(lines[at], composer.first)
        if found and _is_prompt(lines, at, found.end(), composer):
            is_filled = _is_filled(screen, at, found.end())
            body = _body(lines[at + 1 :], composer, screen.cursor - at, is_filled=is_filled)
            return (
                None if body is None else _typed([lines[at].rest(found.end()), *body], composer, len(lines))
            )
    return None


def _typed(rows: list[Line], composer: Composer, height: int) -> str | None:
    """What of these lines somebody typed; None if that is nothing, and yet they do not look empty."""
    if rows[0].looks and not any(one.fits(rows[0].looks[0]) for one in composer.ground):
        return None  # its colours are not those that are known: nothing could be told from them
    starts = [None, *(_begins(line, composer.more) for line in rows[1:])]
    bare = [line.rest(start.end() if start else 0) for line, start in zip(rows, starts, strict=True)]
    typed = [line.typed(composer.ground, composer.ghost).rstrip(" \u00a0\u200b") for line in bare]
    is_full = composer.most != Most() and len(rows) >= composer.most.lines(height)
    if not any(typed) and (is_full or not _begins(rows[0], composer.empty)):
        return None
    return CUT * is_full + "\n".join(typed).strip("\n")


def _is_prompt(lines: tuple[Line, ...], at: int, end: int, composer: Composer) -> bool:
    shown = lines[at].text[:end].rstrip()
    if shown and not composer.prompt.fits(lines[at].looks[len(shown) - 1]):
        return False
    return not composer.above or (at > 0 and bool(_begins(lines[at - 1], composer.above)))


def _is_filled(screen: Screen, at: int, end: int) -> bool:
    """Whether what is typed reaches to the last column above the cursor, which stands in an empty row then.

    `at` is the composer's first line, and `end` where its prompt ends.
    """
    row = screen.cursor - 1
    if row < at or not screen.width:
        return False
    above = screen.lines[row].text.rstrip()
    return bool(above[end if row == at else 0 :]) and width(above) == screen.width


def _body(lines: tuple[Line, ...], composer: Composer, cursor: int, *, is_filled: bool) -> list[Line] | None:
    """The further lines of a composer; None if nothing ends it, or the cursor (so far below) is not in it."""
    if not composer.below:
        body = list(lines[:cursor])
        is_last = not any(line.text.strip() for line in lines[cursor:])
        written = body[:-1] if is_filled else body
        return body if is_last and all(line.text.strip() for line in written) else None
    body: list[Line] = []
    for line in lines:
        if _begins(line, composer.below):
            body = _without_foot(body, composer)
            return body if cursor <= len(body) else None
        body.append(line)
    return None


def _without_foot(body: list[Line], composer: Composer) -> list[Line]:
    for at, line in enumerate(body):
        if composer.foot and _begins(line, composer.foot):
            return body[:at]
    return body
