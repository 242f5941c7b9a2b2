"""A message inside a ring: what a listener is spared from reading in the store."""

import json

from postroom.model.ladder import Priority
from postroom.model.message import Message
from postroom.text import encode

LONGEST = 16_384  # bytes; a longer message is read from the store
_PRIORITY = Message._fields.index("priority")


def to_bytes(message: Message) -> bytes:
    """Nothing, when the message is too long for a ring."""
    if len(message.body) > LONGEST:
        return b""
    letter = encode(message).encode()
    return letter if len(letter) <= LONGEST else b""


def from_bytes(letter: bytes) -> Message | None:
    """None for what is no letter as this version writes it: the store has the message."""
    try:
        values = json.loads(letter)
        values[_PRIORITY] = Priority(values[_PRIORITY])
        return Message._make(values)
    except (ValueError, TypeError, LookupError):
        return None
