"""`postroom rename`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "Take another name. Your mail, your threads and what you sent stay yours."
EXAMPLES = """\
  postroom rename parser-builder --as builder"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NEW", help="the new name")


def run(args: "argparse.Namespace", context: "Context") -> int:
    agent = context.room().rename(args.name)
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.agent(agent))
    elif not context.quiet:
        context.put(f"now {context.out.paint(agent.address, 'bold')}\n")
    return 0
