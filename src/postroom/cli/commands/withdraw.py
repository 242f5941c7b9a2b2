"""`postroom withdraw`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "Take back a message of yours, for everyone who has not seen it yet."
EXAMPLES = """\
  postroom withdraw 5f0c9a1e"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    deliveries = context.room().withdraw(args.id)
    if context.json:
        from postroom.protocol import wire

        found = [wire.delivery(delivery) for delivery in deliveries]
        context.put_json({"id": deliveries[0].message, "deliveries": found})
    elif not context.quiet:
        paint = context.out.paint
        lines = [f"  {paint(d.recipient, 'bold')}: {d.state}\n" for d in deliveries]
        context.put(f"{paint(deliveries[0].message[-8:], 'cyan')}  withdrawn\n" + "".join(lines))
    return 0
