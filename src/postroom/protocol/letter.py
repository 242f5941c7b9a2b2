"""A message inside a ring: what a listener is spared from reading in the store."""

import json

from postroom.model.ladder import Priority
from postroom.model.message import Message
from postroom.text import encode

LONGEST = 16_384  # characters; a longer message is read from the store
_PRIORITY = Message._fields.index("priority")


def to_bytes(message: Message) -> bytes:
    return encode(message).encode()


def from_bytes(letter: bytes) -> Message:
    values = json.loads(letter)
    values[_PRIORITY] = Priority(values[_PRIORITY])
    return Message._make(values)
