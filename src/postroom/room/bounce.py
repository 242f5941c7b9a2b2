"""Letters of the room to whoever wrote a message. A bounce is the one about a delivery that failed."""

from typing import TYPE_CHECKING

from postroom.model.address import ROOM
from postroom.model.ids import message_id
from postroom.model.ladder import Priority
from postroom.model.message import Agent, Json, Mail, Message

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx


def bounce(tx: "WriteTx", mail: Mail, reason: str, *, refused: bool = False, dropped: bool = False) -> None:
    """Tell the sender that a delivery came to nothing, in the same transaction. A bounce never bounces."""
    lost, recipient = mail.message, mail.delivery.recipient
    if lost.sender_id == ROOM or tx.agent(lost.sender_id) is None:
        return
    what = "refused by" if refused else "dropped by" if dropped else "not delivered to"
    post_letter(
        tx, lost, f"{what.capitalize()} {recipient}",
        f"Your message {lost.handle} was {what} {recipient}: {reason}",
        {"bounce": {"message": lost.id, "recipient": recipient, "reason": reason}},
    )  # fmt: skip


def post_letter(tx: "WriteTx", about: Message, subject: str, body: str, payload: Json) -> None:
    """Write to the sender of a message about it: in its thread, as an answer to it."""
    letter = _letter(tx, (about.project, about.sender), subject, body, payload)._replace(
        thread=about.thread, reply_to=about.id, correlation=about.correlation or about.id
    )
    tx.post(letter, [about.sender_id])


def notify(tx: "WriteTx", agent: Agent, subject: str, body: str, payload: Json, *, key: str) -> None:
    """Write to somebody about what is no message, once for each key."""
    if tx.message_by_key(ROOM, key) is None:
        letter = _letter(tx, (agent.project, agent.called), subject, body, payload)
        tx.post(letter._replace(key=key), [agent.id])


def _letter(tx: "WriteTx", at: tuple[str, str], subject: str, body: str, payload: Json) -> Message:
    """To somebody in a project: `at` is both."""
    new, (project, to) = message_id(tx.now, tx.next_seq), at
    return Message(
        seq=tx.next_seq, id=new, tenant=tx.tenant, project=project,
        sender_id=ROOM, sender=ROOM, sender_session=None, sender_runtime=None, sender_role="system",
        verified="room", to=to, type="system", cls="turn", priority=Priority.NORMAL,
        subject=subject, body=body, payload=payload, metadata=None,
        thread=new, reply_to=None, correlation=None, attachments=None,
        requires_ack=False, not_before=None, expires_at=None, key=None, created_at=tx.now, redacted=None,
    )  # fmt: skip
