"""What a screen shows, by a runtime's profile: where somebody types, and whether anybody may."""

import re
from enum import StrEnum
from typing import NamedTuple

from postroom.bridges.terminal.screen import Line, Screen
from postroom.runtimes.screen import Composer, Profile


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
    text = screen.text
    for dialog in profile.dialogs:
        if re.search(dialog.pattern, text, re.MULTILINE):
            return Reading(State.DIALOG, None, dialog.name)
    draft = composed(screen, profile.composer)
    if any(re.search(pattern, text, re.MULTILINE) for pattern in profile.busy):
        return Reading(State.BUSY, draft)
    return Reading(State.UNKNOWN if draft is None else State.IDLE, draft)


def composed(screen: Screen, composer: Composer) -> str | None:
    """What stands in the composer, line by line; None where no composer is shown."""
    lines = screen.lines
    for at in reversed(range(len(lines))):
        found = re.match(composer.first, lines[at].text)
        if found and _is_prompt(lines, at, found.end(), composer):
            below = _body(lines[at + 1 :], composer, screen.cursor - at)
            if below is None:
                return None
            rows = [lines[at].rest(found.end())]
            for line in below:
                start = re.match(composer.more, line.text)
                rows.append(line.rest(start.end() if start else 0))
            typed = [row.typed(composer.ground, composer.ghost).rstrip(" \u00a0\u200b") for row in rows]
            return "\n".join(typed).strip("\n")
    return None


def _is_prompt(lines: tuple[Line, ...], at: int, end: int, composer: Composer) -> bool:
    shown = lines[at].text[:end].rstrip()
    if shown and not composer.prompt.fits(lines[at].looks[len(shown) - 1]):
        return False
    return not composer.above or (at > 0 and bool(re.match(composer.above, lines[at - 1].text)))


def _body(lines: tuple[Line, ...], composer: Composer, cursor: int) -> list[Line] | None:
    """The further lines of a composer; None if nothing ends it. `cursor`: how far below its first line."""
    if not composer.below:
        body = list(lines[: max(0, cursor)])
        is_last = cursor >= 0 and not any(line.text.strip() for line in lines[cursor:])
        return body if is_last and all(line.text.strip() for line in body) else None
    body: list[Line] = []
    for line in lines:
        if re.match(composer.below, line.text):
            return _without_foot(body, composer)
        body.append(line)
    return None


def _without_foot(body: list[Line], composer: Composer) -> list[Line]:
    for at, line in enumerate(body):
        if composer.foot and re.match(composer.foot, line.text):
            return body[:at]
    return body


def holds(draft: str, text: str, profile: Profile) -> bool:
    """Whether a composer that shows `draft` holds exactly this text, however it was wrapped."""
    if profile.pasted and (found := re.match(profile.pasted + r"[^\]]*\]$", draft)):
        return found.end() == len(draft) and "\n" in text
    return "".join(draft.split()) == "".join(text.split())
