"""`postroom ack`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Delivery

HELP = "Say that you have a message. Its sender sees `acked`; saying it twice is harmless."
EXAMPLES = """\
  postroom ack 5f0c9a1e"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    show(context.room().ack(args.id), context)
    return 0


def show(delivery: "Delivery", context: "Context") -> None:
    """Where a delivery stands now."""
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.delivery(delivery))
    elif not context.quiet:
        context.put(f"{context.out.paint(delivery.message[-8:], 'cyan')}  {delivery.state}\n")
