"""`postroom replay`."""

import os
from typing import TYPE_CHECKING

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Rebuild a room from its journals alone, in a directory that has none. The digest of its state is that of the
room the journals came from (`postroom verify` prints it)."""
EXAMPLES = """\
  postroom replay --into ~/rebuilt
  postroom replay --from /backup/events --into ~/rebuilt"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--into", metavar="DIR", required=True, help="the home of the new room")
    parser.add_argument(
        "--from", metavar="DIR", dest="source", help="the journals, or the home they are in (this one)"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.config import home
    from postroom.errors import JournalBroken
    from postroom.room.replay import replay

    source = os.path.abspath(args.source) if args.source else home(args.home)
    if not args.source:
        _bring_up_to_date(context, source)
    if os.path.isdir(os.path.join(source, "events")):
        source = os.path.join(source, "events")
    target = os.path.abspath(args.into)
    try:
        done = replay(source, target)
    except JournalBroken as problem:
        if problem.facts.get("path") == source:  # there are none at all
            problem.hint = "Write them first: postroom journal. Or say where they are: --from DIR"
        raise
    if context.json:
        context.put_json({"home": target, **done._asdict()})
    elif not context.quiet:
        since = "" if done.snapshot is None else f" after a snapshot at {done.snapshot}"
        context.put(f"{count(done.events, 'event')} replayed{since} into {target}\n")
        context.put(context.out.paint(f"state {done.digest}\n", "dim"))
    return 0


def _bring_up_to_date(context: "Context", source: str) -> None:
    """Let the journals catch up with their room, unless it is lost: then they are all there is."""
    from postroom.errors import StoreError
    from postroom.room.journal import sync

    if os.path.exists(os.path.join(source, "room.db")):
        try:
            sync(context.room())
        except StoreError:
            pass
