"""`postroom inbox`."""

from typing import TYPE_CHECKING

from postroom.cli import framed, held
from postroom.cli.parser import PAGE

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
    show(context.room().peek(limit=args.limit + 1), args, context)
    held.note(context)
    return 0


def show(found: "list[Mail]", args: "argparse.Namespace", context: "Context") -> None:
    """What was found by asking for one more than shall be shown, so as to know whether more wait."""
    mails, more = found[: args.limit], _is_more(found, args.limit, context)
    if args.frame:
        framed.look(mails, args, context, more=more)
    elif context.json:
        from postroom.protocol import wire

        document = {"messages": [wire.mail(mail) for mail in mails]}
        waits = held.documents(context.room().held())
        context.put_json(document | ({"more": True} if more else {}) | ({"held": waits} if waits else {}))
    elif mails:
        from postroom.cli.letter import put_list

        put_list(mails, context)
    else:
        context.note("No mail.")
    if more:
        wider = f"--limit {min(PAGE, 2 * args.limit)}" if args.limit < PAGE else "postroom read"
        context.note(f"These are the first {args.limit}; more wait: {wider}")


def _is_more(found: "list[Mail]", limit: int, context: "Context") -> bool:
    if limit < PAGE or len(found) < PAGE:
        return len(found) > limit
    room = context.room()  # which shows no more than that at once
    return room.store.look().counts(room.who().id)[0] > limit
