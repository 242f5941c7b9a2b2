"""`postroom nack`."""

from typing import TYPE_CHECKING

from postroom.cli.commands.ack import show

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Refuse a message. It is `bounced`, and its sender gets one letter with your reason.
To refuse it again does nothing, and says so.

With --retry-after it is refused for now: it is `stored` again, and comes back after that time; each later
pause is --backoff times as long. After --attempts refusals it is `dead`, and its sender gets the letter."""
EXAMPLES = """\
  postroom nack 5f0c9a1e --reason "Not my part of the code: ask backend."
  postroom nack 5f0c9a1e --reason "It builds." --retry-after 5m --attempts 5"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why; the sender will read it")
    parser.add_argument("--retry-after", metavar="TIME", help="let it come again after 90s, 10m, 2h …")
    parser.add_argument("--attempts", metavar="N", type=int, help="refusals until the message is dead (3)")
    parser.add_argument(
        "--backoff", metavar="FACTOR", type=float, help="factor by which each pause grows (2)"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    if not args.reason.strip():
        from postroom.errors import UsageError

        raise UsageError("the reason is empty", hint="Say why, so that the sender can do something about it.")
    room = context.room()
    now = room.now()
    if args.retry_after is not None or args.attempts is not None or args.backoff is not None:
        return _defer(args, context)
    delivery = room.nack(args.id, args.reason)
    note = ""
    if delivery.ended_at is not None and delivery.ended_at < now:
        note = f"it was bounced before, and its sender was told: {delivery.reason}"
    show(delivery, context, note)
    if note:
        context.note(f"Nothing was done: {note}")
    return 0


def _defer(args: "argparse.Namespace", context: "Context") -> int:
    """Refuse it for now."""
    from postroom.cli.moment import minute, span

    for name in ("attempts", "backoff"):
        if args.retry_after is None and getattr(args, name) is not None:
            from postroom.errors import InvalidValue

            raise InvalidValue(f"--{name} needs --retry-after", field=name, hint="Add: --retry-after 5m")
    room = context.room()
    now = room.now()
    delivery = room.nack(
        args.id, args.reason, retry_after=None if args.retry_after is None else span(args.retry_after),
        attempts=args.attempts, backoff=args.backoff,
    )  # fmt: skip
    deferral = room.receipts(args.id).deferral(delivery.recipient_id)
    if delivery.due_at is not None and deferral is not None and deferral.at < now:
        note = f"it is refused for now already, and comes again at {minute(delivery.due_at)}"
        show(delivery, context, note)
        context.note(f"Nothing was done: {note}.")
        return 0
    show(delivery, context)
    if delivery.due_at is not None:
        context.note(f"It comes again at {minute(delivery.due_at)}.")
    elif delivery.ended_at is not None:
        context.note(f"That was the last refusal, and its sender is told: {delivery.reason}")
    return 0
