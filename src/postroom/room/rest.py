"""Holding a delivery that waits, and letting it go: for who wants to be left alone."""

from typing import TYPE_CHECKING

from postroom.model.ladder import Outcome, Reason
from postroom.model.message import Json, Mail, Message
from postroom.room.probe import wish_of

if TYPE_CHECKING:
    from postroom.model.manners import Hold, Manners
    from postroom.store.contract import ReadTx, WriteTx


_QUESTIONS = ("request", "decision_gate", "dispatch", "assign", "health_check")


def hold(tx: "WriteTx", message: Message, recipient: str, wish: "Hold") -> int | None:
    """It waits, until a moment or until it is let go; what expires meanwhile does so. When the clock acts."""
    until, end = wish.until, message.expires_at
    due = min(until, end) if until is not None and end is not None else until or end
    payload = {"reason": wish.reason.value, "until": until, "due_at": due}
    tx.append("delivery.held", recipient, about=message, payload=payload, status="stored")
    return due


def release(tx: "WriteTx", mail: Mail) -> None:
    """What was held may be offered. What was uncertain before is so still."""
    message = mail.message
    payload: Json = {"expires_at": message.expires_at}
    if mail.delivery.shown_before and _is_uncertain(tx, mail):
        payload["reason"] = Reason.UNCERTAIN.value
    tx.append("delivery.due", mail.delivery.recipient_id, about=message, payload=payload, status="stored")


def _is_uncertain(tx: "ReadTx", mail: Mail) -> bool:
    """Whether nobody can tell what became of its last attempt, and nobody has let it be tried again."""
    for event in reversed(tx.history(mail.delivery.seq, mail.delivery.recipient_id)):
        if event.type == "delivery.returned":
            return event.payload["outcome"] == Outcome.UNCERTAIN.value
        if event.type == "delivery.offered" or "by" in event.payload:
            return False
    return False


def comes_through(tx: "ReadTx", message: Message, recipient: str, manners: "Manners") -> bool:
    """Whether it is for somebody who wants to be left alone, too: it presses, or answers its own question."""
    from postroom.model.manners import is_pressing  # noqa: PLC0415 - few have any

    if manners.paused:
        return message.type == "interrupt"
    if is_pressing(message) or message.reply_to is None:
        return is_pressing(message)
    asked = tx.message(message.reply_to)
    if asked is None or asked.sender_id != recipient:
        return False
    if asked.type not in _QUESTIONS and not asked.requires_ack:  # which whatever is asked does
        return False
    return tx.mail(asked.seq, message.sender_id) is not None


def keep_resting(tx: "WriteTx", mail: Mail) -> bool:
    """Hold what has come due, or come back, if its recipient is to be left alone now."""
    party = mail.delivery.recipient_id
    if (refused := wish_of(tx, mail.message, party)) is not None:
        hold(tx, mail.message, party, refused)
        return True
    agent = tx.agent(party)
    if agent is None or not agent.manners:
        return False
    from postroom.model.manners import read, rest  # noqa: PLC0415 - few have any

    manners = read(agent.manners)
    wish = None if comes_through(tx, mail.message, agent.id, manners) else rest(manners, tx.now)
    if wish is not None:
        hold(tx, mail.message, agent.id, wish)
    return wish is not None
