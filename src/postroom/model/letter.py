"""A message as it travels with the ring that announces it, so that who gets it need not read it in the store.

Text, and no more than that: whatever else may come out of a socket is not a letter.
"""

from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Message, make

LONGEST = 8_192  # bytes
_FORMAT = "1"  # changes with the fields, and with what it means that there is a letter at all
_LEVELS = {str(level.value): level for level in Priority}
_FIELDS = 18


def pack(message: Message) -> bytes:
    """The letter; empty for a message that is not plain and short."""
    if len(message[12]) > LONGEST or message[17:] != NOTHING:
        return b""
    letter = "\0".join((
        _FORMAT, str(message[0]), *message[1:6], message[6] or "", *message[7:14], str(message[14]),
        "0123"[message[15]], "01"[message[16]],
    )).encode()  # fmt: skip
    return letter if len(letter) <= LONGEST else b""


def unpack(letter: bytes) -> Message | None:
    """The message; None for what is not a letter that this process understands."""
    try:
        fields = letter.decode().split("\0")
        if fields[0] != _FORMAT or len(fields) != _FIELDS:
            return None
        return make(Message, (
            int(fields[1]), *fields[2:7], fields[7] or None, *fields[8:15], int(fields[15]),
            _LEVELS[fields[16]], fields[17] == "1", *NOTHING,
        ))  # fmt: skip
    except (ValueError, KeyError):
        return None
