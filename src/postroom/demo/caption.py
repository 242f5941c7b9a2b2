"""The lines between the messages: what a kind of address does, told once, and what befell whom."""

from collections.abc import Sequence

from postroom.demo.board import Note, Row
from postroom.model.address import Kind, parse
from postroom.model.message import Event


class Captions:
    """Explains each kind of address once, when the room's events show what it does."""

    def __init__(self) -> None:
        self._told: set[Kind] = set()

    def about(self, event: Event, row: Row) -> Note | None:
        """What to say of a message after an event; None if there is nothing, or it has been said."""
        kind = parse(row.message.to).kind
        text = "" if kind in self._told else _explanation(kind, event, row)
        if not text:
            return None
        self._told.add(kind)
        return Note(text, "cyan")


def _explanation(kind: Kind, event: Event, row: Row) -> str:
    to, names = row.message.to, listed(list(row.states))
    match event.type, kind:
        case "message.sent", Kind.GROUP:
            return f"· {to} is everyone but the sender: {names}"
        case "message.sent", Kind.TOPIC:
            return f"· {to} goes to those who subscribe to it: {names}"
        case "delivery.taken", Kind.ONE:
            others = listed([name for name in row.states if name != row.claimer])
            return f"· {row.claimer} is the first to claim “{row.message.subject}”: {others} is told nothing"
        case _:
            return ""


def killed(name: str, pid: int, task: str) -> Note:
    return Note(f"✗ SIGKILL: {name} (process {pid}) dies with {task} in its hands", "red")


def back(name: str, task: str) -> Note:
    text = f"↻ {name} is back: {task} offered again, labelled “may have been shown before”"
    return Note(text, "yellow")


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *first, last = sorted(names)
    return f"{', '.join(first)} and {last}" if first else last
