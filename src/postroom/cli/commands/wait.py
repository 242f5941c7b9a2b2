"""`postroom wait`."""

from typing import TYPE_CHECKING

from postroom.cli import framed, held
from postroom.cli.commands.inbox import show
from postroom.errors import TimedOut

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Sleep, without using the processor, until there is mail; then list it as `inbox` does. Nothing is marked:
take it with `postroom read`. Returns at once when mail is there already.

With --correlation it waits for the reply to a message that you sent earlier. A reply that came before is
listed at once, also one that you have read."""
EXAMPLES = """\
  postroom wait
  postroom wait --timeout 10m && postroom read
  postroom wait --correlation t-1 --timeout 10m"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--timeout", metavar="TIME", help="give up after 90s, 10m, 2h … (never)")
    parser.add_argument(
        "--correlation", metavar="ID",
        help="wait for the reply to your message with that id, or with that correlation",
    )  # fmt: skip
    parser.add_limit(50)
    framed.add_arguments(parser)


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import long, span

    framed.check(args)
    timeout = None if args.timeout is None else span(args.timeout)
    if args.correlation is not None:
        show([context.room().wait_for_reply(args.correlation, timeout=timeout)], args, context)
        return 0
    mails = context.room().wait(timeout=timeout, limit=args.limit + 1)
    if not mails:
        held.note(context)
        raise TimedOut(
            f"no mail within {long(timeout or 0)}", hint="Sleep again: postroom wait. Look: postroom inbox"
        )
    show(mails, args, context)
    return 0
