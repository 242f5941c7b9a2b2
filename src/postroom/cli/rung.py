"""Waiting for a rung of the ladder, and saying how far everyone got."""

from typing import TYPE_CHECKING

from postroom.errors import PostroomError, Refused, TimedOut
from postroom.model.ladder import State, ended, reached

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import AgentStatus, Delivery, Sent

# `offered to builder`, `seen by builder`, `expired for builder`
_TOWARDS = dict.fromkeys(State, "for") | {
    State.OFFERED: "to",
    State.SEEN: "by",
    State.ACKED: "by",
    State.BOUNCED: "by",
}


def wait(sent: "Sent", rung: str, timeout: float, context: "Context") -> "tuple[Sent, PostroomError | None]":
    """Wait until every delivery stands on the rung: what is so then, and what is wrong if one does not."""
    from postroom.cli.moment import long

    sent = _as_it_is(sent, context.room().until(sent.id, rung, timeout=timeout), context)
    short = [d for d in sent.deliveries if not reached(d.state, State(rung))]
    if len(short) < len(sent.deliveries) and sent.message.to.startswith("one:"):
        short = []  # one of them is enough
    look = f"see how far it got: postroom receipts {sent.message.handle}"
    absent = _absent(short, sent, is_here=context.elsewhere is None)
    facts = {"message_ref": sent.id, "hint": f"{absent}; {look}" if absent else look.capitalize()}
    problem: PostroomError | None = None
    if lost := [d for d in short if ended(d.state)]:
        problem = Refused("; ".join(map(_fate, lost)), **facts)
    elif short:
        names = ", ".join(d.recipient for d in short)
        problem = TimedOut(f"not {rung} {_TOWARDS[State(rung)]} {names} within {long(timeout)}", **facts)
    return sent, problem


def _absent(short: "list[Delivery]", sent: "Sent", *, is_here: bool) -> str:
    """Who of them cannot have got it, because nothing of theirs runs. They are started where the room is."""
    reach = {one.recipient_id: how for one, how in zip(sent.deliveries, sent.reach, strict=True)}
    names = [
        one.recipient
        for one in short
        if reach.get(one.recipient_id) == "stored" and not one.recipient.startswith("human:")
    ]
    if not names:
        return ""
    start = f"start it: postroom spawn {names[0]} -- CMD" if is_here else "start it where the room is"
    return f"Nothing of {', '.join(names)} runs; {start}"


def _as_it_is(sent: "Sent", deliveries: "list[Delivery]", context: "Context") -> "Sent":
    """What was sent as it stands after the wait, with its recipients in the same order."""
    after = {delivery.recipient_id: delivery for delivery in deliveries}
    here = {status.agent.id: status for status in context.room().agents(everyone=True)}
    known = after.keys() & here.keys()  # but of a project that was deleted meanwhile
    order = [delivery.recipient_id for delivery in sent.deliveries if delivery.recipient_id in known]
    return sent._replace(
        deliveries=[after[party] for party in order],
        reach=[here[party].reach for party in order],
        ways={party: here[party].sessions[0] for party in order if _runs(here[party])},
    )


def _runs(status: "AgentStatus") -> bool:
    return bool(status.sessions) and status.sessions[0].is_live


def _fate(delivery: "Delivery") -> str:
    reason = f": {delivery.reason}" if delivery.reason else ""
    return f"{delivery.state} {_TOWARDS[delivery.state]} {delivery.recipient}{reason}"
