"""Sending: one message, one delivery for each recipient, stored before anyone is told."""

from typing import TYPE_CHECKING

from postroom.clock import iso
from postroom.errors import BroadcastGuard, IllegalMove, InvalidValue, KeyConflict, UnknownMessage
from postroom.model import ids
from postroom.model.address import UP, Kind, parse
from postroom.model.ladder import RUNGS, State, ended, reached
from postroom.model.message import Agent, Delivery, Message, Sent, first_delivery, make
from postroom.room import directory
from postroom.room.draft import BARE, GATE, Draft, check_span, draft, plain
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.model.manners import Hold
    from postroom.room.local import LocalRoom
    from postroom.room.options import ReplyOptions, SendOptions
    from postroom.store.contract import ReadTx, WriteTx

UNCHECKED = frozenset(("note", "request", "response"))  # types that anyone may send to anyone


def send(
    room: "LocalRoom",
    to: str = "",
    body: str = "",
    *,
    sender: str | None = None,
    confirm: bool = False,
    **options: "Unpack[SendOptions]",
) -> Sent:
    """Store a message for whoever has the address, then ring."""
    if "attachments" in options and not is_packed(options):
        return _send_with(room, to, body, sender, options, confirm=confirm)
    to = to or _default_address(options.get("type", ""))
    if options:
        wanted = draft(room.settings, to, body, home=room.home, **options)
        to = wanted.to  # some types say to whom they go
    else:
        wanted = plain(room.settings, to, body)
    who = sender or room.agent or ""
    memory = room.scope.memory
    lane = memory.lanes.get((who, to))
    mailbox = lane.mailbox if lane and room.bell.wants_enclosure(lane.mailbox) else ""
    unit = Unit(room, prompt=False, mailbox=mailbox)
    with unit as tx:
        if lane is None or memory.generation != tx.directory:
            lane = lane_between(room, tx, who, to, wanted.type)
        if lane.to != to:
            wanted = wanted._replace(to=lane.to)
        if not confirm and len(lane.ids) > (room.settings.max_recipients or len(lane.ids)):
            raise BroadcastGuard(
                f"{lane.to} would reach {len(lane.ids):,}; the limit is {room.settings.max_recipients}",
                rule="max_recipients", recipients=len(lane.ids), limit=room.settings.max_recipients,
            )  # fmt: skip
        if wanted.key and (earlier := tx.message_by_key(lane.author.id, wanted.key)):
            return duplicate(tx, earlier, wanted)
        note = ""
        if room.is_policed and not room.has_space(lane.mailbox):
            lane, note = admitted(room, tx, lane, wanted)
        if wanted.type not in UNCHECKED and room.settings.directions != "off":
            note = against_direction(room, lane, wanted.type, note)
        goes_on = wanted.thread is not None or wanted.reply_to is not None
        if goes_on:
            _check_part(tx, lane.author, wanted)
            if (held := held_back(room, tx, lane, wanted)) is not None:
                return held
        # Nothing else is asked in this transaction, so who brings it may be the one to store its deliveries.
        message, holds = post(room, tx, lane, wanted, lingers=bool(room.couriers))
        if tx.vacant == lane.mailbox and holds is None:
            unit.announced = message
    return answer(message, lane.recipients, unit, holds, note)


def against_direction(room: "LocalRoom", lane: directory.Lane, type: str, note: str) -> str:
    from postroom.room import direction  # noqa: PLC0415 - for types that have one

    return direction.joined(note, direction.check(room, lane, type))


def admitted(
    room: "LocalRoom", tx: "WriteTx", lane: directory.Lane, wanted: Draft
) -> tuple[directory.Lane, str]:
    from postroom.room.policy import admit  # noqa: PLC0415 - where there is one

    return admit(room, tx, lane, wanted)


def _count(room: "LocalRoom", tx: "WriteTx", lane: directory.Lane, wanted: Draft) -> None:
    """What is about to be stored counts for its sender; a person may always interrupt."""
    if not (room.settings.sender_rate or room.settings.sender_quota):
        return
    if lane.author.is_human and "interrupt" in (wanted.cls, wanted.type):
        return
    from postroom.room.policy import draw  # noqa: PLC0415 - where there is one

    draw(room, lane.author, tx.now)


def post(
    room: "LocalRoom", tx: "WriteTx", lane: directory.Lane, wanted: Draft, *, lingers: bool = False
) -> "tuple[Message, dict[str, Hold] | None]":
    """Store a message; for whom of them it is held, and why."""
    if room.is_policed:
        _count(room, tx, lane, wanted)
    message = compose(tx, lane, wanted)
    is_all = wanted.type != GATE and not lane.reserved and not room.is_shaped
    tx.post(message, lane.ids, lingers=lingers and is_all)
    if is_all:
        return message, None
    if wanted.type == GATE:
        _post_denial(tx, message)
    if not lane.reserved and not room.is_shaped:
        return message, None
    from postroom.room.manners import hold_new  # noqa: PLC0415 - for who wants to be left alone

    return message, hold_new(room, tx, message, lane.recipients)


def _send_with(
    room: "LocalRoom", to: str, body: str, sender: str | None, options: "SendOptions", *, confirm: bool
) -> Sent:
    """The same with attachments, which are taken in before there is a lock to hold up others with."""
    from postroom.room.parcel import sent_with  # noqa: PLC0415 - only who attaches

    return sent_with(room, options, lambda: send(room, to, body, sender=sender, confirm=confirm, **options))


def is_packed(options: "ReplyOptions") -> bool:
    """Whether the attachments are a `Parcel` already."""
    return hasattr(options.get("attachments"), "enclose")


def held_back(room: "LocalRoom", tx: "WriteTx", lane: directory.Lane, wanted: Draft) -> Sent | None:
    """What the loop guard makes of a message in a thread: None if it may go on its way."""
    from postroom.room import guard  # noqa: PLC0415 - most messages begin a thread

    thread, answered_id = _continued(tx, wanted)
    answered = tx.message(answered_id) if answered_id else None
    if room.settings.max_hops and lane.author.id[0] != "h":
        if answered is not None:
            guard.check_hops(tx, answered, room.settings.max_hops)
        else:
            guard.check_turns(tx, lane.author.id, thread, room.settings.max_hops)
    if guard.is_courtesy(wanted, answered):
        _count(room, tx, lane, wanted)
        message = compose(tx, lane, wanted)
        tx.post(message, [])
        return make(Sent, (message, [], [], False, guard.COURTESY, True, None))
    same = guard.repeated(tx, lane.author.id, lane.ids, wanted, thread=thread, answered=answered_id)
    if same is not None:
        deliveries = tx.deliveries(same.seq)
        return make(Sent, (same, deliveries, ["stored"] * len(deliveries), False, guard.REPEAT, True, None))
    return None


def _post_denial(tx: "WriteTx", message: Message) -> None:
    from postroom.room.denial import post_denial  # noqa: PLC0415 - for gates only

    post_denial(tx, message)


def _default_address(type: str) -> str:
    """An escalation goes up; everything else must say where."""
    return "@up" if type == "escalation" else ""  # of a broadcast: see `protocol.admission`


def lane_between(room: "LocalRoom", tx: "WriteTx", who: str, to: str, type: str) -> directory.Lane:
    """The lane from somebody, who may be new, to whoever has an address now."""
    scope, address = room.scope, parse(to)
    author = directory.caller_or_new(tx, who, scope)
    origin = scope.origin(tx, author)
    if room.declared.agents:
        from postroom.room.declared import introduce, missing  # noqa: PLC0415 - where there are any

        introduce(room, tx, missing(room, tx, here=True))
    project = scope.find(tx)
    if address.kind in (Kind.AGENT, Kind.HUMAN):
        found = directory.lane(
            author, [directory.recipient(tx, address, project)], project, to, origin=origin,
            refused=tx.refused(),
        )  # fmt: skip
    else:
        from postroom.room.group import resolve  # noqa: PLC0415 - most mail is for one

        recipients = resolve(tx, address, author, project, type=type, is_live=room.is_live)
        found = directory.lane(
            author, recipients, project, str(address), personal=False, origin=origin, refused=tx.refused()
        )
        if address.live or address.name == UP:  # which may mean others the next time
            return found
    scope.remember(tx).lanes[who, to] = found
    return found


def compose(tx: "WriteTx", lane: directory.Lane, wanted: Draft) -> Message:
    """The message a draft becomes when it is the next thing that happens in the room."""
    now, seq = tx.now, tx.next_seq
    thread = message_id = ids.message_id(now, seq)
    more = lane.rest
    if (rest := wanted[7:]) != BARE:
        payload, metadata, begun, answered, correlation, after, expires, key, parcel = rest
        if begun is not None or answered is not None:
            thread, answered = _continued(tx, wanted)
        not_before = None if after is None else _moment("after", after, now)
        expires_at = None if expires is None else _moment("expires", expires, now)
        if not_before is not None and expires_at is not None:
            check_span(not_before, expires_at)
        files = None if parcel is None else parcel.enclose()  # last: what is refused leaves no file
        more = (
            *lane.rest[:2], payload, metadata, answered, correlation, files, not_before, expires_at, key,
            None,
        )  # fmt: skip
    return make(Message, (
        seq, message_id, *lane.head, *wanted[:5], thread, now, *wanted[5:7], *more,
    ))  # fmt: skip


def _moment(field: str, value: float | int, now: int) -> int:
    """When that is by the room's clock, under whose lock it must still lie ahead."""
    if isinstance(value, float):
        return now + int(value * 1000)
    if value < now:
        raise InvalidValue(f"{iso(value)} lies in the past: it is {iso(now)} now", field=field)
    return value


def _continued(tx: "ReadTx", wanted: Draft) -> tuple[str, str | None]:
    """The thread to continue, named by any message of it or by what is replied to; and what is replied to."""
    answered = None if wanted.reply_to is None else _named(tx, wanted.reply_to)
    begun = answered if wanted.thread is None else _named(tx, wanted.thread)
    assert begun is not None
    return begun.thread, answered and answered.id


def _named(tx: "ReadTx", ref: str) -> Message:
    found = tx.message(ref) if ids.is_uuid(ref) or ids.is_handle(ref) else None
    if found is None:
        raise _not_there(ref)
    return found


def _not_there(ref: str) -> UnknownMessage:
    return UnknownMessage(f"there is no message {ref!r} of yours to continue", message_ref=ref)


def _check_part(tx: "ReadTx", author: Agent, wanted: Draft) -> None:
    """An agent continues what it has a part in: with a part, it may read all of it."""
    for ref in () if author.is_human else filter(None, (wanted.reply_to, wanted.thread)):
        if not _has_part(tx, author.id, _named(tx, ref)):
            raise _not_there(ref)


def _has_part(tx: "ReadTx", author: str, message: Message) -> bool:
    """Whether somebody, or a child of theirs, or who is above them, wrote or got any of its conversation."""
    if message.sender_id == author or tx.mail(message.seq, author) is not None:
        return True
    return tx.thread_has(message.thread, author)


def answer(
    message: Message,
    recipients: list[Agent],
    unit: Unit,
    holds: "dict[str, Hold] | None" = None,
    note: str = "",
) -> Sent:
    """What is true now: stored for each, who of them is listening, and what their sessions do."""
    rung, ways = unit.reached, unit.ways_after(message) if unit.woken else None
    held = message.not_before is not None and message.not_before > message.created_at
    deliveries: list[Delivery] = []
    reach: list[str] = []
    for agent in recipients:
        address = agent.name if agent.project == message.project else agent.address
        delivery = first_delivery(message, agent.id, address, held=held)
        if holds and (hold := holds.get(agent.id)):
            delivery = delivery._replace(held=True, reason=hold.reason.value, due_at=hold.until)
        deliveries.append(delivery)
        if ways and agent.id in ways and not rung.get(agent.id):
            reach.append(ways[agent.id].presence.value)
        else:
            reach.append("live" if rung.get(agent.id) else "left" if agent.left_at else "stored")
    return make(Sent, (message, deliveries, reach, False, note, False, ways))


def duplicate(tx: "ReadTx", earlier: Message, wanted: Draft) -> Sent:
    same = (earlier.to, earlier.type, earlier.body, earlier.payload, earlier.attachments) == (
        wanted.to,
        wanted.type,
        wanted.body,
        wanted.payload,
        wanted.parcel and wanted.parcel.attachments,
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
        deliveries = tx.deliveries(message.seq)
        open_ones = [
            d
            for d in deliveries
            if not ended(d.state) and not reached(d.state, State.SEEN) and not _may_be_in_hand(tx, room, d)
        ]
        if not open_ones:
            taken_back = all(d.state is State.WITHDRAWN for d in deliveries)
            why = "was withdrawn before" if taken_back else "has been seen, is being shown, or has ended"
            raise IllegalMove(f"message {message.handle} {why}", message_ref=message.id)
        for delivery in open_ones:
            outcome = "unproven" if delivery.handed_at else "refused"
            offered = delivery.state is State.OFFERED
            payload = {"n": delivery.attempts, "outcome": outcome} if offered else {}
            tx.append(
                "delivery.withdrawn",
                delivery.recipient_id,
                about=message,
                payload=payload,
                status="withdrawn",
            )
        if message.type == GATE:
            from postroom.room.denial import withdraw_denial  # noqa: PLC0415 - for gates only

            withdraw_denial(tx, message, "it was withdrawn")
        return tx.deliveries(message.seq)


def _may_be_in_hand(tx: "ReadTx", room: "LocalRoom", delivery: Delivery) -> bool:
    """Whether a listener is showing it, or reaching for whatever is next; the store does not know that."""
    in_hand = room.contest(tx, delivery.recipient_id)
    if in_hand is None:
        return False
    from postroom.room.hand import REACHING  # noqa: PLC0415 - only where somebody listens

    return in_hand in (delivery.seq, REACHING)


def check_rung(rung: str) -> State:
    """A rung that can be waited for."""
    for state in RUNGS:
        if state.value == rung:
            return state
    raise InvalidValue(f"a rung is stored, offered, seen or acked, not {rung!r}", field="wait")
