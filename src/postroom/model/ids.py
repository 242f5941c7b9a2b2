"""Identifiers. Message ids are UUIDv7: sortable by time to the eye; order itself is the store's sequence."""

import os
import time

_HEX = frozenset("0123456789abcdef")
_UUID_LENGTH = 36
HANDLE_LENGTH = 8

HANDLES = 1 << 32
_SPREAD = 2654435761  # odd, so that multiplying by it is undone by multiplying by its inverse
_GATHER = pow(_SPREAD, -1, HANDLES)
_MOST = (1 << 48) - 1  # milliseconds a UUIDv7 can tell
_LEADING = 1 << 48  # so that `hex` leaves no zero out: the quickest way to digits

_drawn: list[str] = []  # random halves of ids, drawn some at a time: the kernel is slow to be asked
_DRAW = 16


def _draw() -> str:
    """The random half of a UUIDv7."""
    try:
        return _drawn.pop()
    except IndexError:
        digits = os.urandom(10 * _DRAW).hex()
        for at in range(0, len(digits), 20):
            r = digits[at : at + 20]
            _drawn.append(f"7{r[:3]}-{'89ab'[int(r[3], 16) & 3]}{r[4:7]}-{r[7:19]}")
        return _drawn.pop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)


def uuid7() -> str:
    """A new UUIDv7. Built by hand because importing `uuid` costs more than sending a message."""
    digits = hex(time.time_ns() // 1_000_000 & _MOST | _LEADING)
    return f"{digits[3:11]}-{digits[11:]}-{_draw()}"


def message_id(now: int, seq: int) -> str:
    """The id of the message with a number: a UUIDv7 that ends in that number's handle.

    So nothing has to be looked up, or guarded, to know that a handle is one message's alone.
    """
    digits = hex((now & _MOST | _LEADING) << 32 | seq * _SPREAD % HANDLES)
    return f"{digits[3:11]}-{digits[11:15]}-{_draw()[:-HANDLE_LENGTH]}{digits[15:]}"


def number(ref: str) -> int:
    """The number of the message with an id or a handle; beyond four thousand million, modulo that many."""
    return int(ref[-HANDLE_LENGTH:], 16) * _GATHER % HANDLES


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
    """The short name of a message: its last eight digits, which are its number in the room, scattered."""
    return message_id[-HANDLE_LENGTH:]


def agent_id() -> str:
    """An agent's immutable id, safe as a file name."""
    return "a" + os.urandom(7).hex()


def child_id(parent: str) -> str:
    """The id of an agent under another: it begins with that one's, so that both are known from it."""
    return f"{parent}.{os.urandom(4).hex()}"


def human_id() -> str:
    """A person's immutable id; its first letter tells it from an agent's."""
    return "h" + os.urandom(7).hex()


def nonce() -> str:
    """What marks one attempt in whatever a model received."""
    return _draw()[-12:]
