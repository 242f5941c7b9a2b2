"""A bounce: the one letter a sender gets about a delivery that failed. A bounce never bounces."""

from typing import TYPE_CHECKING

from postroom.model.address import ROOM
from postroom.model.ids import message_id
from postroom.model.ladder import Priority
from postroom.model.message import Mail, Message

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx


def bounce(tx: "WriteTx", mail: Mail, reason: str, *, refused: bool = False) -> None:
    """Tell the sender that a delivery came to nothing, in the same transaction."""
    lost, recipient = mail.message, mail.delivery.recipient
    if lost.sender_id == ROOM or tx.agent(lost.sender_id) is None:
        return
    what = "refused by" if refused else "not delivered to"
    letter = Message(
        seq=tx.next_seq, id=message_id(tx.now, tx.next_seq), tenant=tx.tenant, project=lost.project,
        sender_id=ROOM, sender=ROOM, sender_session=None, sender_runtime=None, sender_role="system",
        verified="room", to=lost.sender, type="system", cls="turn", priority=Priority.NORMAL,
        subject=f"{what.capitalize()} {recipient}",
        body=f"Your message {lost.handle} was {what} {recipient}: {reason}",
        payload={"bounce": {"message": lost.id, "recipient": recipient, "reason": reason}}, metadata=None,
        thread=lost.thread, reply_to=lost.id, correlation=lost.correlation or lost.id, attachments=None,
        requires_ack=False, not_before=None, expires_at=None, key=None, created_at=tx.now, redacted=None,
    )  # fmt: skip
    tx.post(letter, [lost.sender_id])
