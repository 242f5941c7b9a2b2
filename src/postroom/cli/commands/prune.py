"""`postroom prune`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count
from postroom.clock import iso

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.errors import UsageError

HELP = """\
Remove messages that ended before a moment (or were seen, where no acknowledgement was asked for), and the
events up to then. What may still arrive is kept. A snapshot stands for what is gone, so that the journals
still rebuild the room."""
EXAMPLES = """\
  postroom prune --before 30d            # says how many messages that are
  postroom prune --before 2026-10-01 --yes"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "--before", metavar="WHEN", required=True, help="so long ago (30d), or a date and time"
    )
    parser.add_argument("--yes", action="store_true", help="really remove them")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import past
    from postroom.room.keep import prune

    before = past(args.before)
    if not args.yes:
        raise _unsure(args.before, before, context)
    done = prune(context.room(), before)
    if context.json:
        context.put_json({"before": iso(before), **done._asdict()})
    elif not context.quiet:
        context.put(f"{count(done.messages, 'message')} removed; the log begins at event {done.first}\n")
    return 0


def _unsure(given: str, before: int, context: "Context") -> "UsageError":
    from shlex import quote

    from postroom.errors import UsageError

    look, found = context.room().store.look(), 0
    page = look.prunable(before, 0)
    while page:
        found += len(page)
        page = look.prunable(before, page[-1])
    return UsageError(
        f"pruning removes {count(found, 'message')} for good, and the events before {iso(before)}",
        hint=f"If so: postroom prune --before {quote(given)} --yes", messages=found,
    )  # fmt: skip
