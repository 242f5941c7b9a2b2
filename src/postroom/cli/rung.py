"""Waiting for a rung of the ladder, and saying how far everyone got."""

from typing import TYPE_CHECKING

from postroom.errors import Refused, TimedOut
from postroom.model.ladder import State, ended, reached

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Delivery, Sent


def wait_and_show(sent: "Sent", rung: str, timeout: float, context: "Context") -> int:
    """Wait until every delivery stands on the rung; raises when time ran out, or when one ended below it."""
    from postroom.cli.commands.send import show
    from postroom.cli.moment import long

    deliveries = context.room().until(sent.id, rung, timeout=timeout)
    show(sent._replace(deliveries=deliveries), context)
    short = [d for d in deliveries if not reached(d.state, State(rung))]
    hint = f"See how far it got: postroom receipts {sent.message.handle}"
    if lost := [d for d in short if ended(d.state)]:
        raise Refused("; ".join(map(_fate, lost)), message_ref=sent.id, hint=hint)
    if short:
        names = ", ".join(d.recipient for d in short)
        raise TimedOut(f"not {rung} by {names} within {long(timeout)}", message_ref=sent.id, hint=hint)
    return 0


def _fate(delivery: "Delivery") -> str:
    reason = f": {delivery.reason}" if delivery.reason else ""
    return f"{delivery.state} by {delivery.recipient}{reason}"
