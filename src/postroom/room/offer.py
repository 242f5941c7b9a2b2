"""Offering: claiming one delivery for one context, exclusively, in one transaction."""

from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import IllegalMove, MailboxLeased, StaleClaim, UnknownMessage
from postroom.model import ids
from postroom.model.context import context_id, session_id
from postroom.model.ladder import Cause, Outcome, State, move
from postroom.model.message import Agent, Delivery, Json, Lease, Mail, Message, make
from postroom.room import directory, one
from postroom.room.full_disk import spends
from postroom.room.rest import keep_resting
from postroom.room.sweep import act_on_due, give_back, is_due, is_offered, reap
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx


def peek(room: "LocalRoom", agent: str | None, limit: int) -> list[Mail]:
    """What waits, in the order it will be offered. Marks nothing."""
    with room.store.read() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        standing = tx.standing(who.id, "")
        settled = not (standing.others or is_due(standing.due, room.store.clock()) or tx.asked_by(who.id))
        if settled or room.store.readonly:
            return tx.ready(who.id, limit, who.called)
    room.sweep(who.id)  # a moment has come, or what somebody holds may have to come back
    return room.store.look().ready(who.id, limit, who.called)


@spends
def offer(
    room: "LocalRoom",
    agent: str | None,
    *,
    ref: str | None = None,
    route: str = "api",
    handed: bool = True,
    claimer: str = "",
) -> Mail | None:
    """Claim the next delivery, or the one named; None when nothing waits.

    `handed` says that returning it is handing it over, as it is to the program that called. Such a claim does
    not wait for the disk: a power cut that takes the claim takes that program, too. A route that still has to
    write it out claims with a lease first. `claimer` is for whom this process claims, if not for itself: its
    identity and one word more, so that the claim ends with it at the latest.
    """
    me = claimer or host.identity()
    with Unit(room, prompt=False, lasting=not handed) as tx:
        who = directory.caller_of(tx, agent or room.agent, room.scope)
        standing, mail = tx.next(who.id, me, who.called)
        if standing.holder is not None or standing.others or is_due(standing.due, tx.now):
            mail = put_in_order(tx, room, who, alone=ref is None)
        if ref is not None:
            mail = _named(tx, room, ref, who, me)
            room.contest(tx, who.id)  # a listener in this process may have read it already
        if mail is None or mail.delivery.state is not State.STORED:
            return mail
        return claim(
            tx, mail, route=route, context=context(me), handed=handed, lease=room.settings.lease_seconds,
            claimer=me,
        )  # fmt: skip


def put_in_order(tx: "WriteTx", room: "LocalRoom", who: Agent, *, alone: bool) -> Mail | None:
    """Do what the clock asks, end what gone processes hold, respect who listens; what is next then."""
    act_on_due(tx, room.settings)
    lease = tx.lease(who.id)
    if alone and lease is not None and lease.holder == host.identity():
        raise MailboxLeased("this process is listening on this mailbox: its listener has the next one")
    guard_lease(tx, who.id, room)
    reap(tx, who.id, room.settings)
    return tx.next(who.id, host.identity(), who.called)[1]


def context(claimer: str = "") -> str:
    """Where mail taken by a plain program goes: (runtime, session, main or subagent, epoch)."""
    return context_id(session_id("python", claimer or host.identity()), 0)


def claim(
    tx: "WriteTx",
    mail: Mail,
    *,
    route: str,
    context: str,
    handed: bool,
    lease: float,
    claimer: str = "",
    nonce: str = "",
) -> Mail:
    """Write the claim; what comes back carries the nonce that proves whose it is."""
    message, delivery = mail.message, mail.delivery
    move(delivery.state, State.OFFERED)
    nonce, n, claimer = nonce or ids.nonce(), delivery.attempts + 1, claimer or host.identity()
    until = None if handed else tx.now + int(lease * 1000)
    payload = {
        "n": n, "route": route, "context": context, "nonce": nonce, "claimer": claimer,
        "handed": handed, "lease_until": until,
    }  # fmt: skip
    tx.append("delivery.offered", delivery.recipient_id, about=message, payload=payload, status="offered")
    if one.is_one(message):
        one.take(tx, mail, route, context, claimer)
    return offered(message, delivery, payload, tx.now)


def offered(message: Message, delivery: Delivery, said: Json, now: int) -> Mail:
    """A delivery after its claim. Spelled out because `_replace` costs as much as a statement."""
    _, route, context, nonce, claimer, handed, until = said.values()
    return make(Mail, (message, make(Delivery, (
        *delivery[:4], State.OFFERED, route, delivery.evidence, said["n"], delivery.unproven, None,
        delivery.priority, False, delivery.shown_before, until, context, nonce, claimer,
        now if handed else None, delivery.stored_at, now, *delivery[20:],
    ))))  # fmt: skip


def offered_first(message: Message, recipient: str, address: str, said: Json, now: int) -> Mail:
    """As `offered` of its `first_delivery`, in less than half the time: a relay may do a thousand at once."""
    n, route, context, nonce, claimer, handed, until = said.values()
    return make(Mail, (message, make(Delivery, (
        message.seq, message.id, recipient, address, State.OFFERED, route, None, n, 0, None, message.priority,
        False, False, until, context, nonce, claimer, now if handed else None, message.created_at, now, None,
        None, None,
    ))))  # fmt: skip


def _named(tx: "ReadTx", room: "LocalRoom", ref: str, who: Agent, me: str) -> Mail:
    mail = tx.mail(room.find_message(tx, ref).seq, who.id)
    if mail is not None and one.is_taken(mail.delivery):
        raise StaleClaim(f"another has taken message {mail.handle}", message_ref=mail.id)
    if mail is None:
        raise UnknownMessage(f"message {ref} was not sent to {who.called}", message_ref=ref)
    if mail.delivery.is_scheduled:
        raise UnknownMessage(f"message {ref} is not due yet", message_ref=ref)
    if mail.delivery.state is State.WITHDRAWN:
        raise IllegalMove(f"message {mail.handle} was withdrawn by its sender", message_ref=mail.id)
    if mail.delivery.state is State.OFFERED and mail.delivery.claimer != me:
        pid = (mail.delivery.claimer or "?").split(".")[0]
        raise StaleClaim(f"message {mail.handle} is being read by process {pid}", message_ref=mail.id)
    return mail


@spends
def give_up(room: "LocalRoom", mail: Mail) -> None:
    """A claim that is known to have come to nothing: the reader of our output went away."""
    with room.write() as tx:
        current = tx.mail(mail.delivery.seq, mail.delivery.recipient_id)
        if current and is_offered(current) and current.delivery.nonce == mail.delivery.nonce:
            give_back(tx, current, room.settings, Outcome.LOST)


def guard_lease(tx: "WriteTx", agent_id: str, room: "LocalRoom") -> None:
    """Refuse while somebody else listens on the mailbox; clear up after one who died listening."""
    lease = tx.lease(agent_id)
    if lease is None or lease.holder is None or lease.holder == host.identity():
        return
    if not host.is_gone(lease.holder):
        pid = lease.holder.split(".")[0]
        raise MailboxLeased(f"process {pid} is listening on this mailbox", holder=lease.holder)
    break_lease(tx, lease, room)


def _was_only_noted(mail: Mail) -> bool:
    """Whether only the note tells that it was shown; what is for one of many is claimed in the store."""
    return mail.delivery.state is State.STORED and not one.is_one(mail.message)


def break_lease(tx: "WriteTx", lease: Lease, room: "LocalRoom") -> None:
    """End the lease of a process that is gone. What it had in hand counts as an unproven attempt.

    Who was just reaching for something has not shown it: that is noted before. Sometimes nobody knows what it
    had in hand: after a power cut the note on the disk may be an older one. Then all that waits is labelled.
    """
    assert lease.holder is not None
    assert lease.context is not None
    from postroom.room.hand import NOTHING, REACHING  # noqa: PLC0415 - after a death only

    noted = room.hand(lease.agent).read(lease.fence)
    in_hand = NOTHING if noted == REACHING else noted
    if in_hand is None or host.is_of_earlier_boot(lease.holder):
        while page := tx.unlabelled(lease.agent):
            for mail in page:
                tx.append("delivery.labelled", lease.agent, about=mail.message, status="stored")
                keep_resting(tx, mail)
    elif (mail := tx.mail(in_hand, lease.agent)) and _was_only_noted(mail):
        taken = claim(
            tx, mail, route="listen", context=lease.context, handed=True, lease=0, claimer=lease.holder
        )
        give_back(tx, taken, room.settings, cause=Cause.GONE)
    tx.append("lease.ended", lease.agent, payload={"fence": lease.fence, "clean": False})
