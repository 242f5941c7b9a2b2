"""`postroom decide`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Decide what a gate asks, once. Whoever asked gets your answer, and for the others who were asked it is over.
The beginning of an option is enough if no other begins so."""
EXAMPLES = """\
  postroom decide 5f0c9a1e approve
  postroom decide 5f0c9a1e deny --note "not on a Friday" --as human:ana"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a gate's id or its last 8 digits")
    parser.add_argument("option", metavar="OPTION", help="one of its options")
    parser.add_argument("--note", metavar="TEXT", default="", help="why, or under what condition")


def run(args: "argparse.Namespace", context: "Context") -> int:
    room = context.room()
    sent = room.decide(args.id, args.option, note=args.note)
    if context.json:
        from postroom.protocol import wire

        context.put_json({"gate": wire.gate(room.gate(args.id)), "answer": wire.sent(sent)})
    elif not context.quiet:
        from postroom.cli.output import one_line

        context.put(f"decided: {one_line(sent.message.body)}  ({sent.message.to} is told)\n")
    return 0
