"""A question of an agent's as people may be shown it: nothing hidden, and no longer than somebody reads."""

from collections.abc import Iterable

from postroom.bridges.contract import Option, Question
from postroom.protocol.plain import one_line, written_out

MOST = 8_000  # characters of what is asked
_LINE = 200


def inquiry(number: str, title: str, details: str, options: Iterable[Option]) -> Question:
    """What is hidden in what it wants to do is written out, and what is left out is said."""
    named = tuple(one._replace(name=one_line(one.name, _LINE)) for one in options)
    return Question(number, one_line(title, _LINE), _cut(written_out(details)), named)


def _cut(text: str) -> str:
    missing = len(text) - MOST
    return text if missing <= 0 else f"{text[:MOST]}\n… and {missing:,} characters more, which are not shown"
