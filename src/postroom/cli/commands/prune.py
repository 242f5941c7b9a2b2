"""`postroom prune`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count
from postroom.clock import iso

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Remove messages that ended before a moment (or were seen, where no acknowledgement was asked for), and the
events up to then. What may still arrive is kept. A snapshot stands for what is gone, so that the journals
still rebuild the room."""
EXAMPLES = """\
  postroom prune --before 30d
  postroom prune --before 2026-10-01"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "--before", metavar="WHEN", required=True, help="so long ago (30d), or a date and time"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import past
    from postroom.room.keep import prune

    before = past(args.before)
    done = prune(context.room(), before)
    if context.json:
        context.put_json({"before": iso(before), **done._asdict()})
    elif not context.quiet:
        context.put(f"{count(done.messages, 'message')} removed; the log begins at event {done.first}\n")
    return 0
