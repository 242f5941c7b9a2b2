"""Holding a delivery that waits, and letting it go: for who wants to be left alone."""

from typing import TYPE_CHECKING

from postroom.model.message import Mail, Message

if TYPE_CHECKING:
    from postroom.model.manners import Hold
    from postroom.store.contract import WriteTx


def hold(tx: "WriteTx", message: Message, recipient: str, wish: "Hold") -> None:
    """It waits, until a moment or until it is let go; what expires meanwhile does so."""
    until, end = wish.until, message.expires_at
    due = min(until, end) if until is not None and end is not None else until or end
    payload = {"reason": wish.reason.value, "until": until, "due_at": due}
    tx.append("delivery.held", recipient, about=message, payload=payload, status="stored")


def release(tx: "WriteTx", mail: Mail) -> None:
    """What was held may be offered."""
    message = mail.message
    payload = {"expires_at": message.expires_at}
    tx.append("delivery.due", mail.delivery.recipient_id, about=message, payload=payload, status="stored")


def keep_resting(tx: "WriteTx", mail: Mail) -> bool:
    """Hold what has come due, or come back, if its recipient is to be left alone now."""
    agent = tx.agent(mail.delivery.recipient_id)
    if agent is None or not agent.manners:
        return False
    from postroom.model.manners import comes_through, read, rest  # noqa: PLC0415 - few have any

    wish = None if comes_through(mail.message) else rest(read(agent.manners), tx.now)
    if wish is not None:
        hold(tx, mail.message, agent.id, wish)
    return wish is not None
