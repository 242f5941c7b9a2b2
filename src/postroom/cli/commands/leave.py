"""`postroom leave`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Mark an agent as gone for good. Its address and its mail stay, and joining again brings it back. Whoever waits
for an answer of it is told."""
EXAMPLES = """\
  postroom leave --as builder
  postroom leave builder"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="who leaves (you)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    agent = context.room().leave(args.name)
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.agent(agent))
    elif not context.quiet:
        context.put(f"{context.out.paint(agent.address, 'bold')} has left\n")
    return 0
