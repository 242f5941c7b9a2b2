"""Identifiers. Message ids are UUIDv7: sortable by time to the eye; order itself is the store's sequence."""

import os
import time

_HEX = frozenset("0123456789abcdef")
_UUID_LENGTH = 36
HANDLE_LENGTH = 8


def uuid7() -> str:
    """A new UUIDv7. Built by hand because importing `uuid` costs more than sending a message."""
    r = os.urandom(10).hex()
    t = f"{time.time_ns() // 1_000_000:012x}"
    return f"{t[:8]}-{t[8:]}-7{r[:3]}-{'89ab'[int(r[3], 16) & 3]}{r[4:7]}-{r[7:19]}"


def is_uuid(text: str) -> bool:
    return (
        len(text) == _UUID_LENGTH
        and text[8] == text[13] == text[18] == text[23] == "-"
        and text.count("-") == 4
        and _HEX.issuperset(text.replace("-", ""))
    )


def is_handle(text: str) -> bool:
    return len(text) == HANDLE_LENGTH and _HEX.issuperset(text)


def handle(message_id: str) -> str:
    """The short name of a message: its last eight digits, which are random and unique in a room."""
    return message_id[-HANDLE_LENGTH:]


def agent_id() -> str:
    """An agent's immutable id, safe as a file name."""
    return "a" + os.urandom(7).hex()


def human_id() -> str:
    """A person's immutable id; its first letter tells it from an agent's."""
    return "h" + os.urandom(7).hex()


def nonce() -> str:
    """What marks one attempt in whatever a model received."""
    return os.urandom(6).hex()
