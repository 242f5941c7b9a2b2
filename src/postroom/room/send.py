"""Sending: one message, one delivery for each recipient, stored before anyone is told."""

from typing import TYPE_CHECKING

from postroom.errors import IllegalMove, InvalidValue, KeyConflict, UnknownMessage
from postroom.model import ids
from postroom.model.ladder import RUNGS, State, ended, reached
from postroom.model.message import Agent, Delivery, Message, Sent
from postroom.room import directory
from postroom.room.draft import Draft, draft
from postroom.room.post import post
from postroom.store.contract import ReadTx, WriteTx

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.local import LocalRoom
    from postroom.room.options import SendOptions


def send(
    room: "LocalRoom", to: str, body: str, *, sender: str | None = None, **options: "Unpack[SendOptions]"
) -> Sent:
    """Store a message for whoever has the address, then ring."""
    wanted = draft(room.settings, to, body, **options)
    unit = room.write()
    with unit as tx:
        author = directory.caller_or_new(tx, sender or room.agent, room.scope)
        if wanted.key and (earlier := tx.message_by_key(author.id, wanted.key)):
            return _duplicate(tx, earlier, wanted)
        recipients = directory.recipients(tx, to, room.scope)
        message = compose(tx, author, wanted, author.project or room.scope.find(tx))
        message = post(tx, message, [agent.id for agent in recipients])
    return answer(message, recipients, unit.reached)


def compose(tx: WriteTx, author: Agent, wanted: Draft, project: str) -> Message:
    """The message a draft becomes when it is the next thing that happens in the room."""
    message_id, now = ids.uuid7(), tx.now
    thread = message_id if wanted.thread is None and wanted.reply_to is None else _thread(tx, wanted)
    return Message._make((
        tx.next_seq, message_id, tx.tenant, author.project or project, author.id,
        "human:" + author.name if author.is_human else author.name, None, None, author.role or None,
        "unverified", wanted.to, wanted.type, wanted.cls, wanted.priority, wanted.subject, wanted.body,
        wanted.payload, wanted.metadata, thread, wanted.reply_to, wanted.correlation, None,
        wanted.requires_ack, _moment(now, wanted.after), _moment(now, wanted.expires), wanted.key, now, None,
    ))  # fmt: skip


def _thread(tx: ReadTx, wanted: Draft) -> str:
    """The thread to continue: named by any message of it, or by what is replied to."""
    ref = wanted.thread or wanted.reply_to or ""
    found = tx.message(ref) if ids.is_uuid(ref) or ids.is_handle(ref) else None
    if found is None:
        raise UnknownMessage(f"there is no message {ref!r} to continue", message_ref=ref)
    return found.thread


def _moment(now: int, seconds: float | None) -> int | None:
    return None if seconds is None else now + int(seconds * 1000)


def answer(message: Message, recipients: list[Agent], rung: dict[str, int]) -> Sent:
    """What is true now: stored for each, and who of them is listening."""
    held = message.not_before is not None and message.not_before > message.created_at
    due = message.not_before if held else message.expires_at
    deliveries = [
        Delivery(
            message.seq, message.id, agent.id,
            agent.name if agent.project == message.project else agent.address,
            State.STORED, None, None, 0, 0, "scheduled" if held else None, message.priority, held, False, due,
            None, None, None, None, message.created_at, None, None, None, None,
        )
        for agent in recipients
    ]  # fmt: skip
    reach = ["live" if rung.get(agent.id) else "left" if agent.left_at else "stored" for agent in recipients]
    return Sent(message, deliveries, reach)


def _duplicate(tx: ReadTx, earlier: Message, wanted: Draft) -> Sent:
    same = (earlier.to, earlier.type, earlier.body, earlier.payload) == (
        wanted.to,
        wanted.type,
        wanted.body,
        wanted.payload,
    )
    if not same and earlier.redacted is None:
        raise KeyConflict(f"key {wanted.key!r} was used for message {earlier.handle}", message_ref=earlier.id)
    deliveries = tx.deliveries(earlier.seq)
    return Sent(earlier, deliveries, ["stored"] * len(deliveries), duplicate=True)


def withdraw(room: "LocalRoom", ref: str, *, sender: str | None = None) -> list[Delivery]:
    """Take back what nobody has seen yet."""
    with room.write() as tx:
        author = directory.caller(tx, sender or room.agent, room.scope)
        message = room.find_message(tx, ref)
        if message.sender_id != author.id:
            raise IllegalMove(f"message {message.handle} is not yours to withdraw", message_ref=message.id)
        open_ones = [
            d for d in tx.deliveries(message.seq) if not ended(d.state) and not reached(d.state, State.SEEN)
        ]
        if not open_ones:
            raise IllegalMove(f"message {message.handle} has been seen or has ended", message_ref=message.id)
        for delivery in open_ones:
            offered = delivery.state is State.OFFERED
            payload = {"n": delivery.attempts, "outcome": "refused"} if offered else {}
            tx.append(
                "delivery.withdrawn",
                delivery.recipient_id,
                about=message,
                payload=payload,
                status="withdrawn",
            )
        return tx.deliveries(message.seq)


def check_rung(rung: str) -> State:
    """A rung that can be waited for."""
    for state in RUNGS:
        if state.value == rung:
            return state
    raise InvalidValue(f"a rung is stored, offered, seen or acked, not {rung!r}", field="wait")
