"""Gates: questions that need a decision. Whoever was asked decides, once; at expiry the answer is no.

A gate is a message of type `decision_gate`. With it, a letter of the room is stored that says it was denied,
held until the moment it expires; a decision withdraws that letter. So nothing has to run for a gate to end.
"""

from typing import TYPE_CHECKING

from postroom.errors import AlreadyDecided, InvalidValue, NotAsked, StaleClaim, UnknownMessage
from postroom.model.conversation import Gate
from postroom.model.ladder import State
from postroom.model.message import Agent, Json, Mail, Message, Sent
from postroom.room import directory, one
from postroom.room.denial import withdraw, withdraw_denial
from postroom.room.draft import GATE, check_text, draft
from postroom.room.send import answer, compose
from postroom.room.settle import acknowledge

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx

OVER = (State.WITHDRAWN, State.BOUNCED, State.DEAD)  # for one who was asked
OPTIONS = ["approve", "deny"]  # where the gate names none


def options(message: Message) -> list[str]:
    return list(dict.fromkeys((message.payload or {}).get("options") or OPTIONS))


def is_permission(message: Message) -> bool:
    """Whether it is what a running agent asks to be allowed."""
    return message.type == GATE and bool((message.metadata or {}).get("permission"))


def digest(message: Message) -> str:
    """What is asked, in a few digits: whoever approves can tell that it is what was shown."""
    import hashlib  # noqa: PLC0415 - only where gates are looked at

    from postroom.text import encode  # noqa: PLC0415

    asked = [message.id, message.subject, message.body, message.payload]
    return hashlib.sha256(encode(asked).encode()).hexdigest()[:16]


def gates(room: "LocalRoom") -> list[Gate]:
    """What waits for a decision now, the most pressing first."""
    with room.store.read() as tx:
        me = directory.caller_or_none(tx, room.agent, room.scope)
        found = [gate(tx, message, me) for message in tx.gates(room.store.clock())]
        return [each for each in found if each.asked]


def show(room: "LocalRoom", ref: str) -> Gate:
    """One gate, whatever has become of it."""
    with room.store.read() as tx:
        return gate(tx, _found(tx, room, ref), directory.caller_or_none(tx, room.agent, room.scope))


def gate(tx: "ReadTx", message: Message, me: Agent | None) -> Gate:
    asked = [d for d in tx.deliveries(message.seq) if d.state not in OVER]
    mine = me is not None and any(d.recipient_id == me.id and not one.is_taken(d) for d in asked)
    decision = tx.decision(message.seq)
    if decision is not None and (by := tx.agent(decision.by)):
        decision = decision._replace(by=by.address)
    names = [d.recipient for d in asked]
    return Gate(message, options(message), digest(message), names, decision, mine)


def _found(tx: "ReadTx", room: "LocalRoom", ref: str) -> Message:
    message = room.find_message(tx, ref)
    if message.type != GATE:
        raise UnknownMessage(
            f"message {message.handle} asks for no decision", message_ref=message.id,
            hint="See what does: postroom gates",
        )  # fmt: skip
    return message


def decide(room: "LocalRoom", ref: str, option: str, note: str, agent: str | None) -> Sent:
    """Answer a gate, once and for all."""
    check_text("note", note)
    unit = room.write()
    with unit as tx:
        message = _found(tx, room, ref)
        who = directory.caller(tx, agent or room.agent, room.scope)
        mine = tx.mail(message.seq, who.id)
        if mine is None:
            raise _not_asked(tx, message, who.address)
        _still_open(tx, message)
        if one.is_taken(mine.delivery):
            raise StaleClaim(f"another has taken {message.handle}", message_ref=message.id)
        if mine.delivery.state in OVER:
            raise AlreadyDecided(
                f"{message.handle} is {mine.delivery.state}", message_ref=message.id, option=None
            )
        chosen = _choice(message, option)
        _end_all(tx, message, mine, who.called)
        author = tx.agent(message.sender_id)
        assert author is not None, "its mail would have gone with it"
        origin = room.scope.origin(tx, who)
        lane = directory.lane(who, [author], message.project, message.sender, origin=origin)
        payload: Json = {"decision": {"gate": message.id, "option": chosen, "note": note}}
        body = f"{chosen}: {note}" if note else chosen
        wanted = draft(
            room.settings, message.sender, body, type="response", reply_to=message.id,
            correlation=message.correlation or message.id, priority=message.priority,
        )._replace(payload=payload)  # fmt: skip
        reply = compose(tx, lane, wanted)
        tx.post(reply, lane.ids)
        facts: Json = {"option": chosen, "note": note, "answer": reply.seq}
        role = "human" if who.is_human else "agent"
        tx.append("gate.decided", who.id, about=message, payload=facts, role=role, status="decided")
    return answer(reply, lane.recipients, unit)


def _still_open(tx: "WriteTx", message: Message) -> None:
    if message.redacted is not None:
        raise AlreadyDecided(f"{message.handle} is redacted", message_ref=message.id, option=None)
    decision = tx.decision(message.seq)
    if decision is not None and decision.option not in options(message):
        words = f"{message.handle} was withdrawn: {decision.note}"
        raise AlreadyDecided(words, message_ref=message.id, option=None)
    if decision is not None:
        by = tx.agent(decision.by)
        raise AlreadyDecided(
            f"{by.called if by else decision.by} has decided {message.handle}: {decision.option}",
            message_ref=message.id, option=decision.option,
        )  # fmt: skip
    if message.expires_at is not None and message.expires_at <= tx.now:
        raise AlreadyDecided(
            f"{message.handle} was denied: nobody decided in time", message_ref=message.id, option=None
        )


def _not_asked(tx: "ReadTx", message: Message, address: str) -> NotAsked:
    asked = ", ".join(d.recipient for d in tx.deliveries(message.seq))
    return NotAsked(
        f"{message.handle} is not for {address} to decide, but for {asked}", message_ref=message.id
    )


def _choice(message: Message, wanted: str) -> str:
    """One of the options, as the gate writes it; its beginning will do if no other begins so, but where an
    agent is allowed something: `approve` is not `approve-always`.
    """
    known = options(message)
    if wanted in known:
        return wanted
    found = [o for o in known if o.casefold() == wanted.casefold()]
    if not found and wanted and not is_permission(message):
        found = [o for o in known if o.casefold().startswith(wanted.casefold())]
    if len(found) != 1:
        import shlex  # noqa: PLC0415 - only where a command is told

        several = f"{wanted!r} fits several: {', '.join(found)}"
        none = f"{wanted!r} is none of the options: {', '.join(known)}"
        example = shlex.quote((found or known)[0])
        raise InvalidValue(
            several if found else none, field="option",
            hint=f"Write one of them, like: postroom decide {message.handle} {example}",
        )  # fmt: skip
    return found[0]


def _end_all(tx: "WriteTx", message: Message, mine: Mail, name: str) -> None:
    """Who decides has it; for the others who were asked, and for the letter that denies it, it is over."""
    for delivery in tx.deliveries(message.seq):
        if delivery.recipient_id != mine.delivery.recipient_id:
            withdraw(tx, message, delivery, f"{name} has decided")
    acknowledge(tx, mine)
    withdraw_denial(tx, message, f"{name} has decided")


def decided(tx: "ReadTx", gate: Message) -> Mail | None:
    """The answer to a gate as its asker gets it: what was decided, or that it was denied."""
    decision = tx.decision(gate.seq)
    found = tx.mail(decision.answer if decision else gate.seq + 1, gate.sender_id)
    if found is None or found.delivery.held or found.delivery.state is State.WITHDRAWN:
        return None  # the last: it was decided between the two looks
    return found
