"""`postroom inbox`."""

from typing import TYPE_CHECKING

from postroom.cli import framed, held

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail

HELP = "List what waits for you, in the order you will get it. Looking marks nothing."
EXAMPLES = """\
  postroom inbox
  postroom inbox --as builder --limit 5
  postroom inbox --frame
  postroom inbox --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_limit(50)
    framed.add_arguments(parser)


def run(args: "argparse.Namespace", context: "Context") -> int:
    framed.check(args)
    show(context.room().peek(limit=args.limit), args, context)
    held.note(context)
    return 0


def show(mails: "list[Mail]", args: "argparse.Namespace", context: "Context") -> None:
    if args.frame:
        framed.look(mails, args, context)
    elif context.json:
        from postroom.protocol import wire

        waits = held.documents(context.room().held())
        context.put_json(
            {"messages": [wire.mail(mail) for mail in mails], **({"held": waits} if waits else {})}
        )
    elif mails:
        from postroom.cli.letter import put_list

        put_list(mails, context)
    else:
        context.note("No mail.")
