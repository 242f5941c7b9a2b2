"""A message enclosed with the ring that announces it, so that who gets it need not read it in the store.

Text, and no more than that: whatever else may come out of a socket is not taken for one.
"""

from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Message, make

LONGEST = 2_000  # bytes; some systems carry no more in one datagram
_FORMAT = "1"  # changes with the fields, and with what it means that a message is enclosed at all
_FIELDS = len(Message._fields) - len(NOTHING)  # the format instead of the priority
_MOST = 1 << 63
_ANSWERS = {"0": False, "1": True}


def enclose(message: Message) -> bytes:
    """The message; empty for one that is not plain and short, or not of normal priority.

    Not one of low priority: what comes next would go before it. Nor an urgent one: it contests itself.
    """
    # By position: that many lookups by name would cost as much as a statement.
    if message[15] is not Priority.NORMAL or len(message[12]) > LONGEST or message[17:] != NOTHING:
        return b""
    try:
        enclosure = "\0".join((
            _FORMAT, str(message[0]), *message[1:6], message[6] or "", *message[7:14], str(message[14]),
            "01"[message[16]],
        )).encode()  # fmt: skip
    except (TypeError, ValueError):  # what was committed must not look as if it had failed
        return b""
    return enclosure if len(enclosure) <= LONGEST else b""


def disclose(enclosure: bytes) -> Message | None:
    """The message; None for what this process does not understand."""
    try:
        fields = enclosure.decode().split("\0")
        if fields[0] != _FORMAT or len(fields) != _FIELDS:
            return None
        seq = int(fields[1])
        if not 0 < seq < _MOST:
            return None
        return make(Message, (
            seq, *fields[2:7], fields[7] or None, *fields[8:15], int(fields[15]), Priority.NORMAL,
            _ANSWERS[fields[16]], *NOTHING,
        ))  # fmt: skip
    except (ValueError, KeyError):
        return None
