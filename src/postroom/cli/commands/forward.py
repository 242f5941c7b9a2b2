"""`postroom forward`."""

from typing import TYPE_CHECKING

from postroom.cli.commands.send import add_content, content_options, show

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "Pass a message on to somebody else, with what it said quoted, in a thread of its own."
EXAMPLES = """\
  postroom forward 5f0c9a1e reviewer
  postroom forward 5f0c9a1e @leads "Who takes this?" --priority high"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("to", metavar="TO", help="whom to pass it on to; any address, as for send")
    parser.add_argument("note", metavar="NOTE", nargs="?", default="", help="what you have to say about it")
    add_content(parser, "note")


def run(args: "argparse.Namespace", context: "Context") -> int:
    show(context.room().forward(args.id, args.to, args.note, **content_options(args)), context)
    return 0
