"""`postroom receipts`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
How far a message got: for each recipient its place on the ladder, when it got there, on what evidence,
and every attempt to hand it over with how that ended."""
EXAMPLES = """\
  postroom receipts 5f0c9a1e
  postroom receipts 5f0c9a1e --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    receipts = context.room().receipts(args.id)
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.receipts(receipts))
    else:
        from postroom.cli.ladder import picture

        context.put(picture(receipts, context.out))
    return 0
