"""`postroom sent`."""

from typing import TYPE_CHECKING

from postroom.cli.output import cut, one_line
from postroom.model.address import is_of_several

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Delivery, Message

HELP = "What became of what you sent, newest first."
EXAMPLES = """\
  postroom sent
  postroom sent --as planner --limit 5"""

_LONGEST = 32  # columns for a reason


def add_arguments(parser: "Parser") -> None:
    parser.add_limit(20)


def run(args: "argparse.Namespace", context: "Context") -> int:
    found = context.room().sent(limit=args.limit)
    if context.json:
        from postroom.protocol import wire

        messages = [{**wire.message(m), "deliveries": [wire.delivery(d) for d in ds]} for m, ds in found]
        context.put_json({"messages": messages})
    elif found:
        from postroom.cli.letter import gist
        from postroom.cli.moment import age

        here = context.project()
        rows = [
            (m.handle, whom(m, ds, here), m.type, age(m.created_at), rungs(ds), gist(m)) for m, ds in found
        ]
        head = ("ID", "TO", "TYPE", "AGE", "RUNG", "TEXT")
        context.put_table(rows, ("cyan", "bold", "", "dim", "green"), head, least=len("TEXT"))
    else:
        context.note("Nothing was sent.")
    return 0


def whom(message: "Message", deliveries: "list[Delivery]", here: str) -> str:
    """Whom it went to, as the project `here` would write to them; a reply that crosses projects has no such
    name in what was written.
    """
    several = is_of_several(message.to)
    if several or len(deliveries) != 1:
        return message.to
    [one] = deliveries
    is_elsewhere = message.project != here and one.recipient_id[:1] == "a" and "/" not in one.recipient
    return f"{message.project}/{one.recipient}" if is_elsewhere else one.recipient


def rungs(deliveries: "list[Delivery]") -> str:
    """How far each got; nobody has what the loop guard kept."""
    if not deliveries:
        return "held back"
    return _rungs(deliveries)


def _rungs(deliveries: "list[Delivery]") -> str:
    """`acked`, or `bounced: too late`, or `2 acked, 1 stored` where there are several.

    `due 10:00:00` for what waits for its time.
    """
    if len(deliveries) == 1:
        return _rung(deliveries[0], why=True)
    counts: dict[str, int] = {}
    for delivery in deliveries:
        rung = _rung(delivery)
        counts[rung] = counts.get(rung, 0) + 1
    return ", ".join(f"{count} {rung}" for rung, count in counts.items())


def _rung(delivery: "Delivery", *, why: bool = False) -> str:
    if delivery.held and delivery.due_at is not None:
        from postroom.cli.moment import clock

        return f"due {clock(delivery.due_at)}"
    if delivery.is_paused and delivery.due_at is not None and why:
        from postroom.cli.moment import clock

        return f"{delivery.state}: next attempt {clock(delivery.due_at)}"
    reason = one_line(delivery.reason or "").replace("_", " ") if why else ""
    return f"{delivery.state}: {cut(reason, _LONGEST)}" if reason else str(delivery.state)
