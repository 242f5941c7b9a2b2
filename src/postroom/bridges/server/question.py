"""What an agent's server asks before it does something, in our words: all that it says of it."""

import json

from postroom.bridges.contract import Option, Question
from postroom.model.message import Json
from postroom.protocol.plain import one_line, written_out

_TITLE, _MOST = 200, 8_000  # characters


def question(number: str, title: str, about: Json, options: tuple[Option, ...]) -> Question:
    """`about` is what it said of what it wants to do, shown whole as far as that goes."""
    text = written_out(json.dumps(about, ensure_ascii=False, indent=1))
    missing = len(text) - _MOST
    if missing > 0:
        text = f"{text[:_MOST]}\n… and {missing:,} characters more, which are not shown"
    return Question(number, one_line(title, _TITLE), text, options)
