"""`postroom thread`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "A whole conversation, oldest message first. Any message of it names it."
EXAMPLES = """\
  postroom thread 5f0c9a1e"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    messages = context.room().thread(args.id)
    if context.json:
        from postroom.protocol import wire

        thread = messages[0].thread if messages else None
        context.put_json({"thread": thread, "messages": [wire.message(message) for message in messages]})
    else:
        from postroom.cli.letter import whole

        context.put("\n".join(whole(message, context) for message in messages))
    return 0
