"""`postroom inbox`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail

HELP = "List what waits for you, in the order you will get it. Looking marks nothing."
EXAMPLES = """\
  postroom inbox
  postroom inbox --as builder --limit 5
  postroom inbox --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_limit(50)


def run(args: "argparse.Namespace", context: "Context") -> int:
    show(context.room().peek(limit=args.limit), context)
    return 0


def show(mails: "list[Mail]", context: "Context") -> None:
    if context.json:
        from postroom.protocol import wire

        context.put_json({"messages": [wire.mail(mail) for mail in mails]})
    elif mails:
        from postroom.cli.letter import put_list

        put_list(mails, context)
    else:
        context.note("No mail.")
