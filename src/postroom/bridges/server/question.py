"""What an agent's server asks before it does something, in our words: all that it says of it."""

import json

from postroom.bridges.contract import Option, Question
from postroom.bridges.inquiry import inquiry
from postroom.model.message import Json


def question(number: str, title: str, about: Json, options: tuple[Option, ...]) -> Question:
    """`about` is what it said of what it wants to do."""
    return inquiry(number, title, json.dumps(about, ensure_ascii=False, indent=1), options)
