"""Dead letters: what could not be delivered, put back or cleared away by a person's decision.

What is `uncertain` is not dead: it waits, was typed once, and only a person may have it typed again.
"""

from typing import TYPE_CHECKING

from postroom.errors import IllegalMove, UnknownProject
from postroom.model.ladder import Reason, State, ended, move
from postroom.model.message import Delivery, Mail, Message
from postroom.room import directory, one
from postroom.room.rest import keep_resting

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import WriteTx


def is_uncertain(delivery: Delivery) -> bool:
    return delivery.state is State.STORED and delivery.reason == Reason.UNCERTAIN.value


def uncertain(room: "LocalRoom") -> list[Mail]:
    """What was typed once, and nobody can tell what became of it; oldest first for each who has some."""
    look, found, offset = room.store.look(), list[Mail](), 0
    while page := look.agents(offset=offset):
        offset += len(page)
        for agent in page:
            after = 0
            while mails := look.waiting(agent.id, after):
                after = mails[-1].delivery.seq
                found += [mail for mail in mails if is_uncertain(mail.delivery)]
    return found


def retry(room: "LocalRoom", ref: str, recipient: str | None) -> list[Mail]:
    """Put a message's dead deliveries (or one recipient's) back into the queue, their attempts forgiven.

    What is uncertain may be pushed again after it, labelled as before.
    """
    by = _who_retries(room, ref)
    with room.write() as tx:
        message = room.find_message(tx, ref)
        wanted = directory.known(tx, recipient, room.scope).id if recipient else None
        lost = [
            d
            for d in tx.deliveries(message.seq)
            if (d.state is State.DEAD or is_uncertain(d)) and wanted in (None, d.recipient_id)
        ]
        if not lost:
            raise IllegalMove(f"message {message.handle} has no dead delivery", message_ref=message.id)
        if one.is_one(message) and (has := one.holder(tx, message)):
            raise IllegalMove(f"{has.recipient} has message {message.handle}", message_ref=message.id)
        for delivery in lost:
            _put_back(tx, message, delivery, by)
        back = [mail for d in lost if (mail := tx.mail(message.seq, d.recipient_id))]
        return [
            tx.mail(message.seq, m.delivery.recipient_id) or m if keep_resting(tx, m) else m for m in back
        ]


def _who_retries(room: "LocalRoom", ref: str) -> str:
    """What is typed a second time is typed by a person's word."""
    look = room.store.look()
    if not any(map(is_uncertain, look.deliveries(room.find_message(look, ref).seq))):
        return ""
    from postroom.room.authority import person  # noqa: PLC0415 - rarely

    return person(room, "have it typed again").name


def _put_back(tx: "WriteTx", message: Message, delivery: Delivery, by: str) -> None:
    payload = {"expires_at": message.expires_at}
    if is_uncertain(delivery):
        what, payload = "delivery.due", {**payload, "by": by}
    else:
        move(delivery.state, State.STORED)
        what = "delivery.retried"
    tx.append(what, delivery.recipient_id, about=message, payload=payload, status="stored")


def purge(room: "LocalRoom", ref: str) -> None:
    """Remove a dead message for good. Refused while any of its deliveries may still arrive."""
    with room.write() as tx:
        message = room.find_message(tx, ref)
        deliveries = tx.deliveries(message.seq)
        if not any(d.state is State.DEAD for d in deliveries) or not all(ended(d.state) for d in deliveries):
            raise IllegalMove(f"message {message.handle} is not dead everywhere", message_ref=message.id)
        tx.append("room.pruned", payload={"before": 0, "messages": [message.seq], "last": False})
    if message.attachments:
        _sweep(room)
    room.store.search().sweep()


def delete_project(room: "LocalRoom", name: str) -> int:
    """Remove a project with its agents, what they wrote, and what was for them; how many messages went."""
    with room.write() as tx:
        if tx.project(name) is None:
            raise UnknownProject(f"there is no project {name!r}", project=name)
        room.unsettle()
        seqs: list[int] = []
        while page := tx.messages_in_project(name, seqs[-1] if seqs else 0):
            seqs += page
        tx.append("project.deleted", payload={"name": name, "messages": seqs})
    _sweep(room)
    room.store.search().sweep()
    return len(seqs)


def _sweep(room: "LocalRoom") -> None:
    """Remove the files of what is gone."""
    from postroom.room import blob, spill  # noqa: PLC0415 - rarely needed

    blob.sweep(room)
    spill.sweep(room)
