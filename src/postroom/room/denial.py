"""The letter that says no to a gate: stored with it, and held until it expires."""

from typing import TYPE_CHECKING

from postroom.model.address import ROOM
from postroom.model.ids import message_id
from postroom.model.message import Message

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx


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
