"""Waiting for a rung of the ladder, and saying how far everyone got."""

from typing import TYPE_CHECKING

from postroom.errors import PostroomError, Refused, TimedOut
from postroom.model.ladder import State, ended, reached

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Delivery, Sent

# `offered to builder`, `seen by builder`, `expired for builder`
_TOWARDS = dict.fromkeys(State, "for") | {
    State.OFFERED: "to",
    State.SEEN: "by",
    State.ACKED: "by",
    State.BOUNCED: "by",
}


def wait(sent: "Sent", rung: str, timeout: float, context: "Context") -> "tuple[Sent, PostroomError | None]":
    """Wait until every delivery stands on the rung: how far they got, and what is wrong if one did not."""
    from postroom.cli.moment import long

    deliveries = context.room().until(sent.id, rung, timeout=timeout)
    short = [d for d in deliveries if not reached(d.state, State(rung))]
    if len(short) < len(deliveries) and sent.message.to.startswith("one:"):
        short = []  # one of them is enough
    facts = {"message_ref": sent.id, "hint": f"See how far it got: postroom receipts {sent.message.handle}"}
    problem: PostroomError | None = None
    if lost := [d for d in short if ended(d.state)]:
        problem = Refused("; ".join(map(_fate, lost)), **facts)
    elif short:
        names = ", ".join(d.recipient for d in short)
        problem = TimedOut(f"not {rung} {_TOWARDS[State(rung)]} {names} within {long(timeout)}", **facts)
    return sent._replace(deliveries=deliveries), problem


def _fate(delivery: "Delivery") -> str:
    reason = f": {delivery.reason}" if delivery.reason else ""
    return f"{delivery.state} {_TOWARDS[delivery.state]} {delivery.recipient}{reason}"
