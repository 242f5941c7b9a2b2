"""What the fake agent shows: a transcript, then between two rules the composer, then a line of status."""

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from tests.tui.dialog import Dialog

if TYPE_CHECKING:
    from tests.tui.behaviour import Agent

PROMPT, SPINNER = "\u276f", "✻✽✢✳✶"
_GREY, _OFF = "\x1b[38;5;244m", "\x1b[0m"
_GHOST = {"dim": "\x1b[2m", "grey": "\x1b[90m", "bright": "\x1b[38;5;8m", "plain": ""}
_SAID = {"user": f"\x1b[48;5;237m{PROMPT} ", "agent": "● ", "note": "  "}


class Frame(NamedTuple):
    """All rows, with their colours, and where the cursor is: its row and its column."""

    lines: tuple[str, ...]
    cursor: tuple[int, int]


def draw(agent: "Agent", width: int, height: int) -> Frame:
    if agent.strange:
        return _filled([], ["Sessions", "  today", "  yesterday"], (0, 0), height)
    if agent.loading:
        return _filled([], ["Loading …"], (0, 0), height)
    said = [line for who, text in agent.transcript[-height:] for line in _said(who, text, width)]
    above, (row, column) = _working(agent), (0, 0)
    lower: list[str] = []
    if agent.dialog:
        lower, (row, column) = _dialog(agent.dialog, width)
    if not agent.dialog or agent.options.overlay:
        rows, at = _composer(agent, width)
        row, column = (row, column) if agent.dialog else at
        lower += rows
    return _filled(said, above + lower, (len(above) + row, column), height)


def _filled(upper: list[str], lower: list[str], cursor: tuple[int, int], height: int) -> Frame:
    """The lower part stands at the bottom; of the upper one there is what has room above."""
    lower = lower[-height:]
    room = height - len(lower)
    upper = upper[-room:] if room else []
    lines = [""] * (room - len(upper)) + upper + lower
    return Frame(tuple(lines), (max(0, room + cursor[0]), cursor[1]))


def _said(who: str, text: str, width: int) -> list[str]:
    first, *more = wrapped(text, width - 2, "char")
    return [f"{_SAID[who]}{first}{_OFF}", *(f"  {line}" for line in more), ""]


def _working(agent: "Agent") -> list[str]:
    if not agent.working:
        return []
    moved = agent.moves
    return [
        f"\x1b[38;5;174m{SPINNER[moved % len(SPINNER)]} Working… {_GREY}({moved} · esc to interrupt){_OFF}",
        *(f"{_GREY}  waits: {text.splitlines()[0]}{_OFF}" for text in agent.queue),
        "",
    ]


def _dialog(dialog: Dialog, width: int) -> tuple[list[str], tuple[int, int]]:
    rows = [_rule(width, "\x1b[38;5;153m"), " A command", "", f" {dialog.question}"]
    for n, choice in enumerate(dialog.choices):
        sign = PROMPT if n == dialog.selected else " "
        rows.append(f" \x1b[38;5;153m{sign}{_OFF} {_GREY}{n + 1}. {_OFF}{choice}")
    return [*rows, "", f" {_GREY}Esc to cancel{_OFF}"], (4 + dialog.selected, 1)


def _composer(agent: "Agent", width: int) -> tuple[list[str], tuple[int, int]]:
    rows, cursor = _typed(agent, width)
    rows = [f"{'  ' if n else PROMPT + ' '}{row}" for n, row in enumerate(rows)]
    below = [f"  {_GREY}{one}{_OFF}" for one in _candidates(agent)] or [_status(agent)]
    return [_rule(width), *rows, _rule(width), *below], (1 + cursor[0], 2 + cursor[1])


def _typed(agent: "Agent", width: int) -> tuple[list[str], tuple[int, int]]:
    """The rows of the composer, as many of the last ones as it has room for, and the cursor in them."""
    shown, options = agent.composer.shown, agent.options
    rows = wrapped(shown, width - 3, options.wrap)[-(options.height or 10_000) :]
    cursor = len(rows) - 1, sum(map(cells, rows[-1]))
    if options.ghost:
        rows[-1] += f"{_GHOST[options.ghost_look]}{options.ghost}{_OFF}"
    elif not shown and options.placeholder:
        rows[-1] = f"{_GHOST['dim']}{options.placeholder}{_OFF}"
    return rows, cursor


def _candidates(agent: "Agent") -> list[str]:
    word = agent.composer.picking
    return [f"{word}{end}" for end in ("", "-all", "-none")] if word else []


def _status(agent: "Agent") -> str:
    if agent.options.vim:
        return f"  {_GREY}-- {agent.mode.upper()} --{_OFF}"
    return f"  {_GREY}{'esc to interrupt' if agent.working else '? for shortcuts'}{_OFF}"


def _rule(width: int, colour: str = _GREY) -> str:
    return f"{colour}{'─' * width}{_OFF}"


def cells(character: str) -> int:
    """How many columns a character takes."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int, by: str) -> list[str]:
    """Rows of a text: at least one."""
    plain = "".join(c for c in text.replace("\t", "    ") if c == "\n" or cells(c))
    return [row for line in plain.split("\n") for row in _rows(line, max(2, width), by)]


def _rows(line: str, width: int, by: str) -> list[str]:
    rows, used = [""], 0
    for piece in re.findall(r"\S+\s*|\s+", line) if by == "word" else line:
        size = sum(map(cells, piece))
        if used + size > width and size <= width:
            rows, used = [*rows, ""], 0
        for c in piece:
            if used + cells(c) > width:
                rows, used = [*rows, ""], 0
            rows[-1] += c
            used += cells(c)
    return rows
