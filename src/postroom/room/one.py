"""`one:@group`: one message in several mailboxes, for whoever of them claims it first.

Each of the group has a delivery. A claim holds the others' (`taken`), so that nobody else is shown it. They
come free again when it is refused or returned, or when the program or the session that claimed it ends
without acknowledging it; with the acknowledgement it is over for them. A session that is compacted, or
resumed, goes on with what it has seen.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.model.ladder import Reason, State, ended
from postroom.model.message import Delivery, Mail, Message
from postroom.room.bounce import bounce
from postroom.room.rest import keep_resting

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx, WriteTx

PROGRAMS = ("api", "listen")  # routes whose claim ends with its process, and not with a session


def is_one(message: Message) -> bool:
    return message.to.startswith("one:")


def _others(tx: "ReadTx", message: Message, recipient: str) -> Iterator[Delivery]:
    return (d for d in tx.deliveries(message.seq) if d.recipient_id != recipient and not ended(d.state))


def is_taken(delivery: Delivery) -> bool:
    """Whether another has claimed it."""
    return delivery.held and delivery.reason == Reason.TAKEN.value


def holder(tx: "ReadTx", message: Message) -> Delivery | None:
    """The delivery of whoever has claimed it, or has done it."""
    has = (State.OFFERED, State.SEEN, State.ACKED)
    return next((d for d in tx.deliveries(message.seq) if d.state in has), None)


def take(tx: "WriteTx", mail: Mail, route: str, context: str, claimer: str) -> None:
    """One has claimed it: hold it for the others."""
    if route in PROGRAMS:
        hold(tx, mail, context, claimer)
    else:
        session = tx.session(context.rpartition(":")[0])
        hold(tx, mail, context, session.process if session else None)


def hold(tx: "WriteTx", mail: Mail, context: str, process: str | None) -> None:
    """Hold it for the others, until that process ends if not before; if it is held, for another process."""
    by = {"by": mail.delivery.recipient_id, "context": context} | ({"claimer": process} if process else {})
    for other in _others(tx, mail.message, mail.delivery.recipient_id):
        if other.state is State.STORED:
            tx.append("delivery.taken", other.recipient_id, about=mail.message, payload=by, status="stored")


def free(tx: "WriteTx", message: Message, recipient: str) -> bool:
    """One has it no longer: offer it to the others again; whether there are any."""
    found = False
    for other in _others(tx, message, recipient):
        found = True
        if is_taken(other):
            payload = {"expires_at": message.expires_at}
            tx.append("delivery.freed", other.recipient_id, about=message, payload=payload, status="stored")
            keep_resting(tx, Mail(message, other))
    return found


def finish(tx: "WriteTx", mail: Mail, reason: str) -> None:
    """One has acknowledged it: it is over for the others."""
    for other in _others(tx, mail.message, mail.delivery.recipient_id):
        payload = {"reason": reason}
        tx.append(
            "delivery.withdrawn", other.recipient_id, about=mail.message, payload=payload, status="withdrawn"
        )


def expire(tx: "WriteTx", message: Message, recipient: str) -> None:
    """Its time is over for one: so it is for those for whom it was held."""
    for other in _others(tx, message, recipient):
        if is_taken(other):
            tx.append("delivery.expired", other.recipient_id, about=message, status="expired")


def taker(tx: "ReadTx", mail: Mail) -> Mail | None:
    """Whose claim holds this delivery."""
    for other in _others(tx, mail.message, mail.delivery.recipient_id):
        if other.state in (State.OFFERED, State.SEEN) and other.context == mail.delivery.context:
            return tx.mail(other.seq, other.recipient_id)
    return None


def desert(tx: "WriteTx", mail: Mail) -> None:
    """Whoever had seen it ended without a word: others may have it, or its sender is told."""
    recipient, reason = mail.delivery.recipient_id, "it ended before it acknowledged"
    tx.unwatch(recipient, mail.message.seq)
    tx.append("delivery.bounced", recipient, about=mail.message, payload={"reason": reason}, status="bounced")
    if not free(tx, mail.message, recipient):
        bounce(tx, mail, reason)
