"""The letter that says no to a gate: stored with it, and held until it expires.

Until that moment it has not been said: whatever shows or counts messages leaves it out.
"""

from typing import TYPE_CHECKING

from postroom.model.address import ROOM
from postroom.model.ids import message_id
from postroom.model.ladder import State, ended, reached
from postroom.model.message import Delivery, Json, Message

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx, WriteTx

UNDECIDED = "this decides nothing"


def post_denial(tx: "WriteTx", gate: Message) -> None:
    """The letter that says no, held until the gate expires. The next number after the gate's own is its."""
    assert gate.expires_at is not None, "every gate expires"
    letter = gate._replace(
        seq=tx.next_seq, id=message_id(tx.now, tx.next_seq), sender_id=ROOM, sender=ROOM, sender_session=None,
        sender_runtime=None, sender_role="system", verified="room", to=gate.sender, type="system",
        subject=f"Denied: {gate.subject or gate.handle}",
        body=f"Denied: nobody decided {gate.handle} in time.",
        payload={"decision": {"gate": gate.id, "option": None}}, metadata=None, reply_to=gate.id,
        correlation=gate.correlation or gate.id, attachments=None, requires_ack=False,
        not_before=gate.expires_at, expires_at=None, key=None,
    )  # fmt: skip
    tx.post(letter, [gate.sender_id])


def is_unsaid(tx: "ReadTx", message: Message) -> bool:
    """Whether it is a letter of the room that waits for its moment, or whose moment will not come."""
    if message.sender_id != ROOM or message.not_before is None:
        return False
    return all(d.held or d.state is State.WITHDRAWN for d in tx.deliveries(message.seq))


def undecided(tx: "ReadTx", gate: Message, now: int) -> str:
    """What whoever answers or acknowledges a gate must know while it is open; else nothing."""
    over = gate.expires_at is not None and gate.expires_at <= now
    if over or tx.decision(gate.seq) is not None:
        return ""
    return f"{UNDECIDED}; to decide: postroom decide {gate.handle} OPTION"


def withdraw_denial(tx: "WriteTx", gate: Message, reason: str) -> None:
    """A gate has ended otherwise: nobody is told that it was denied. Its letter has the next number."""
    letter = tx.message_at(gate.seq + 1)
    if letter is not None and letter.sender_id == ROOM and letter.reply_to == gate.id:
        for delivery in tx.deliveries(letter.seq):
            withdraw(tx, letter, delivery, reason)


def withdraw(tx: "WriteTx", message: Message, delivery: Delivery, reason: str) -> None:
    """Take back what nobody has seen yet."""
    if ended(delivery.state) or reached(delivery.state, State.SEEN):
        return
    offered: Json = {"n": delivery.attempts, "outcome": "refused"} if delivery.state is State.OFFERED else {}
    payload = {"reason": reason, **offered}
    tx.append("delivery.withdrawn", delivery.recipient_id, about=message, payload=payload, status="withdrawn")
