"""Dead letters: what could not be delivered, put back or cleared away by a person's decision."""

from typing import TYPE_CHECKING

from postroom.errors import IllegalMove, UnknownProject
from postroom.model.ladder import State, ended, move
from postroom.model.message import Mail
from postroom.room import directory, one
from postroom.room.rest import keep_resting

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


def retry(room: "LocalRoom", ref: str, recipient: str | None) -> list[Mail]:
    """Put a message's dead deliveries (or one recipient's) back into the queue, their attempts forgiven."""
    with room.write() as tx:
        message = room.find_message(tx, ref)
        wanted = directory.known(tx, recipient, room.scope).id if recipient else None
        dead = [
            d
            for d in tx.deliveries(message.seq)
            if d.state is State.DEAD and wanted in (None, d.recipient_id)
        ]
        if not dead:
            raise IllegalMove(f"message {message.handle} has no dead delivery", message_ref=message.id)
        if one.is_one(message) and (has := one.holder(tx, message)):
            raise IllegalMove(f"{has.recipient} has message {message.handle}", message_ref=message.id)
        for delivery in dead:
            move(delivery.state, State.STORED)
            payload = {"expires_at": message.expires_at}
            tx.append(
                "delivery.retried", delivery.recipient_id, about=message, payload=payload, status="stored"
            )
        back = [mail for d in dead if (mail := tx.mail(message.seq, d.recipient_id))]
        return [
            tx.mail(message.seq, m.delivery.recipient_id) or m if keep_resting(tx, m) else m for m in back
        ]


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
