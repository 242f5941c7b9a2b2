"""`postroom nack`."""

from typing import TYPE_CHECKING

from postroom.cli.commands.ack import show

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Refuse a message. It is `bounced`, and its sender gets one letter with your reason.
To refuse it again does nothing, and says so."""
EXAMPLES = """\
  postroom nack 5f0c9a1e --reason "Not my part of the code: ask backend." """


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why; the sender will read it")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if not args.reason.strip():
        from postroom.errors import UsageError

        raise UsageError("the reason is empty", hint="Say why, so that the sender can do something about it.")
    room = context.room()
    now = room.now()
    delivery = room.nack(args.id, args.reason)
    note = ""
    if delivery.ended_at is not None and delivery.ended_at < now:
        note = f"it was bounced before, and its sender was told: {delivery.reason}"
    show(delivery, context, note)
    if note:
        context.note(f"Nothing was done: {note}")
    return 0
