"""Writing one message and its deliveries into an open transaction: the last step of every kind of sending."""

from typing import TYPE_CHECKING

from postroom.errors import HandleTaken
from postroom.model.ids import uuid7
from postroom.model.message import Message

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx


def post(tx: "WriteTx", message: Message, recipients: list[str]) -> Message:
    """Store it as the next event; the id changes in the rare case that its handle is taken."""
    initial = message.sender_id[0]
    role = "agent" if initial == "a" else "human" if initial == "h" else "system"
    party = "" if role == "system" else message.sender_id
    payload = {"recipients": recipients}
    while True:
        try:
            tx.append("message.sent", party, message=message, payload=payload, role=role, status="stored")
        except HandleTaken:
            fresh = uuid7()
            thread = fresh if message.thread == message.id else message.thread
            message = message._replace(id=fresh, thread=thread)
        else:
            return message
