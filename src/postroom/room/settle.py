"""Settling: what the agent's own acts prove. Seen, acknowledged, refused, answered."""

from typing import TYPE_CHECKING

from postroom.errors import StaleClaim, UnknownMessage
from postroom.model.address import ROOM
from postroom.model.ladder import Evidence, State, move
from postroom.model.message import Agent, Delivery, Json, Mail, Message, Sent
from postroom.room import directory, one
from postroom.room.bounce import bounce
from postroom.room.draft import GATE, REQUEST, check_text, draft
from postroom.room.full_disk import spends
from postroom.room.probe import scope_of
from postroom.room.send import (
    UNCHECKED,
    admitted,
    against_direction,
    answer,
    duplicate,
    held_back,
    is_packed,
    post,
)
from postroom.room.sweep import act_on_due, is_due
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from postroom.room.deferral import Retry
    from postroom.room.local import LocalRoom
    from postroom.room.options import ReplyOptions
    from postroom.store.contract import ReadTx, WriteTx

_AGENT = Evidence.AGENT.value
_BY_MODEL = (Evidence.TRANSCRIPT, Evidence.RUNTIME_ACK, Evidence.BOUNDARY)  # which only its answer is
_ASKER = "who asked"  # no address: it is known under the lock, and a type that needs another is refused


@spends
def settle(room: "LocalRoom", mail: Mail) -> Delivery:
    """Mark as seen what this claim took. Repeating it is harmless; an old claim is refused."""
    with room.write() as tx:
        return settle_in(tx, mail)


@spends
def settle_all(room: "LocalRoom", mails: list[Mail], shown: "Sequence[int]") -> None:
    """The same for what was claimed together; then raises for claims that lapsed meanwhile."""
    lapsed: list[str] = []
    with room.write() as tx:
        for n, mail in enumerate(mails):
            try:
                settle_in(tx, mail, shown[n] if n < len(shown) else None)
            except (StaleClaim, UnknownMessage):
                lapsed.append(mail.handle)
    if lapsed:
        raise StaleClaim(f"the claim on {', '.join(lapsed)} has lapsed", messages=lapsed)


def settle_in(tx: "WriteTx", mail: Mail, shown: int | None = None) -> Delivery:
    current = _current(tx, mail)
    state, is_ours = current.delivery.state, current.delivery.nonce == mail.delivery.nonce
    if is_ours and state in (State.SEEN, State.ACKED):
        return current.delivery
    if not is_ours or state is not State.OFFERED:
        raise StaleClaim(f"message {mail.handle} is {state}: the claim lapsed", message_ref=mail.id)
    return see(tx, current, shown)


def see(
    tx: "WriteTx", mail: Mail, shown: int | None = None, *, evidence: Evidence = Evidence.AGENT
) -> Delivery:
    """It has been seen: all of it, or so many characters where that is less."""
    move(mail.delivery.state, State.SEEN)
    payload: Json = {"n": mail.delivery.attempts, "evidence": evidence.value}
    if shown is not None and shown < len(mail.body):
        payload["shown"] = shown
    tx.append(
        "delivery.seen",
        mail.delivery.recipient_id,
        about=mail.message,
        payload=payload,
        role=_role(mail),
        status="seen",
    )
    if mail.message.type == REQUEST or one.is_one(mail.message):
        tx.watch(mail.delivery.recipient_id, mail.message.seq)
    if evidence in _BY_MODEL and tx.refusal(scope_of(mail.delivery.recipient_id)) is not None:
        from postroom.room.refusal import answered  # noqa: PLC0415 - rarely

        answered(tx, mail.delivery.recipient_id, mail.delivery.handed_at or 0)
    return mail.delivery._replace(
        state=State.SEEN, evidence=evidence, seen_at=tx.now, due_at=None, reason=None
    )


@spends
def ack(room: "LocalRoom", what: Mail | str, agent: str | None) -> Delivery:
    """The agent's own word that it has a message. Repeating it is harmless."""
    with Unit(room, prompt=not isinstance(what, Mail)) as tx:
        mail = _own(tx, room, what, agent)
        if is_due(mail.delivery.due_at, tx.now):
            act_on_due(tx, room.settings)
            mail = _current(tx, mail)
        acknowledge(tx, mail)
        if mail.message.type == REQUEST and mail.delivery.state is not State.ACKED:
            tx.watch(mail.delivery.recipient_id, mail.message.seq)  # it has it, and has not answered
    was, at = mail.delivery, tx.now
    room.acked = was.recipient_id, mail.id
    if was.state is State.ACKED:
        return was
    return was._replace(
        state=State.ACKED, evidence=was.evidence or Evidence.AGENT, seen_at=was.seen_at or at,
        acked_at=at, ended_at=at, due_at=None, reason=None, held=False,
    )  # fmt: skip


def acknowledge(tx: "WriteTx", mail: Mail) -> None:
    state = mail.delivery.state
    if state is State.ACKED:
        return
    move(state, State.ACKED)
    tx.append(
        "delivery.acked",
        mail.delivery.recipient_id,
        about=mail.message,
        payload={"n": _open_attempt(mail), "evidence": _AGENT},
        role=_role(mail),
        status="acked",
    )
    if one.is_one(mail.message):
        _unwatch(tx, mail)
        one.finish(tx, mail, f"{mail.delivery.recipient} has done it")


def _unwatch(tx: "WriteTx", mail: Mail) -> None:
    if mail.delivery.state in (State.SEEN, State.ACKED):
        tx.unwatch(mail.delivery.recipient_id, mail.message.seq)


@spends
def nack(
    room: "LocalRoom", what: Mail | str, reason: str, agent: str | None, retry: "Retry | None" = None
) -> Delivery:
    """Refuse a message; its sender gets one bounce with the reason. With `retry` it comes again first."""
    check_text("reason", reason)
    with room.write() as tx:
        mail = _own(tx, room, what, agent)
        if retry is not None:
            from postroom.room.deferral import defer, is_deferred  # noqa: PLC0415 - rarely

            if not is_deferred(mail.delivery):
                _unwatch(tx, mail)
                party = mail.delivery.recipient_id
                in_hand = room.in_hand.get(party) == mail.delivery.seq
                defer(tx, mail, reason, retry, _role(mail), in_hand=in_hand)
        elif mail.delivery.state is not State.BOUNCED:
            move(mail.delivery.state, State.BOUNCED)
            _unwatch(tx, mail)
            n = _open_attempt(mail)
            payload: Json = {"reason": reason} | ({"n": n, "outcome": "refused"} if n else {})
            tx.append("delivery.bounced", mail.delivery.recipient_id, about=mail.message, payload=payload,
                      role=_role(mail), status="bounced")  # fmt: skip
            if not one.is_one(mail.message) or not one.free(tx, mail.message, mail.delivery.recipient_id):
                bounce(tx, mail, reason, refused=True)
        found = _current(tx, mail).delivery
    if retry is not None:
        room.acked = found.recipient_id, mail.id  # a listener of ours has nothing more to say of it
    return found


def reply(
    room: "LocalRoom", what: Mail | str, body: str, agent: str | None, **options: "Unpack[ReplyOptions]"
) -> Sent:
    """Answer a message in its thread, and acknowledge it, in one transaction."""
    if "attachments" in options and not is_packed(options):
        return _reply_with(room, what, body, agent, options)
    options.setdefault("type", "response")
    checked = draft(room.settings, _ASKER, body, home=room.home, **options)
    unit = room.write()
    with unit as tx:
        asked = _own(tx, room, what, agent)
        if asked.message.sender_id == ROOM:
            raise UnknownMessage("the room itself takes no answers", message_ref=asked.id, hint="")
        question = asked.message
        author = _recipient_of(tx, asked)
        lane = directory.lane(
            author, _sender_of(tx, question), question.project, question.sender,
            origin=room.scope.origin(tx, author), refused=tx.refused(),
        )  # fmt: skip
        wanted = checked._replace(
            to=question.sender, reply_to=asked.id, correlation=question.correlation or asked.id
        )
        if wanted.key and (earlier := tx.message_by_key(lane.author.id, wanted.key)):
            return duplicate(tx, earlier, wanted)
        if room.is_policed:
            lane, _ = admitted(room, tx, lane, wanted)
        note = ""
        if wanted.type not in UNCHECKED and room.settings.directions != "off":
            note = against_direction(room, lane, wanted.type, note)
        if asked.delivery.state in (State.STORED, State.OFFERED, State.SEEN):
            acknowledge(tx, asked)
        if (held := held_back(room, tx, lane, wanted)) is not None:
            return held
        message, holds = post(room, tx, lane, wanted)
        if question.type == REQUEST:
            _unwatch(tx, asked)
        note = "\n".join(filter(None, (_note(tx, question), note)))
    return answer(message, lane.recipients, unit, holds, note)


def _note(tx: "WriteTx", question: Message) -> str:
    """Return what the author of an answer should know."""
    if question.type != GATE:
        return ""
    from postroom.room.denial import undecided  # noqa: PLC0415 - for gates only

    return undecided(tx, question, tx.now)


def _reply_with(
    room: "LocalRoom", what: Mail | str, body: str, agent: str | None, options: "ReplyOptions"
) -> Sent:
    from postroom.room.parcel import sent_with  # noqa: PLC0415 - only who attaches

    return sent_with(room, options, lambda: reply(room, what, body, agent, **options))


def _sender_of(tx: "ReadTx", message: Message) -> list[Agent]:
    sender = tx.agent(message.sender_id)
    if sender is None:
        raise UnknownMessage(f"{message.sender} is no longer here", message_ref=message.id)
    return [directory.reading(sender)]


def _recipient_of(tx: "ReadTx", mail: Mail) -> Agent:
    agent = tx.agent(mail.delivery.recipient_id)
    assert agent is not None
    return agent


def _own(tx: "ReadTx", room: "LocalRoom", what: Mail | str, agent: str | None) -> Mail:
    """The caller's own delivery of a message, as it stands now; about to be taken out of the mailbox."""
    if isinstance(what, Mail):
        mail = _current(tx, what)
    else:
        who = directory.caller(tx, agent or room.agent, room.scope)
        mail = tx.mail(room.find_message(tx, what).seq, who.id)
        if mail is None:
            raise UnknownMessage(f"message {what} was not sent to {who.called}", message_ref=what)
        if mail.delivery.is_scheduled:
            raise UnknownMessage(f"message {what} is not due yet", message_ref=what)
    if one.is_taken(mail.delivery):
        raise StaleClaim(f"another has taken message {mail.handle}", message_ref=mail.id)
    if mail.delivery.state is State.STORED:
        party = mail.delivery.recipient_id
        if room.in_hand.get(party) != mail.delivery.seq:  # else our own listener shows it, and is past it
            room.contest(tx, party)
    return mail


def _current(tx: "ReadTx", mail: Mail) -> Mail:
    current = tx.refresh(mail)
    if current is None:
        raise UnknownMessage(f"message {mail.handle} is no longer in the room", message_ref=mail.id)
    return current


def _open_attempt(mail: Mail) -> int | None:
    return mail.delivery.attempts if mail.delivery.state is State.OFFERED else None


def _role(mail: Mail) -> str:
    return "human" if mail.delivery.recipient_id[0] == "h" else "agent"
