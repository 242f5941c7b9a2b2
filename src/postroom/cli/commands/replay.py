"""`postroom replay`."""

import os
from typing import TYPE_CHECKING

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Rebuild a room from its journals alone, in a directory that has none. The digest of its state is that of the
room the journals came from (`postroom verify` prints it). Where the store has lost events that the journals
have, they are in the rebuilt room; if the journals went on without them, `--voided` brings them back."""
EXAMPLES = """\
  postroom replay --into ~/rebuilt
  postroom replay --voided --into ~/rebuilt
  postroom replay --from /backup/events --into ~/rebuilt"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--into", metavar="DIR", required=True, help="the home of the new room")
    parser.add_argument(
        "--from", metavar="DIR", dest="source", help="the journals, or the home they are in (this one)"
    )
    parser.add_argument(
        "--voided",
        action="store_true",
        help="rebuild the room as it was before the store lost events",
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.config import home
    from postroom.errors import JournalBroken
    from postroom.room.replay import replay

    source = os.path.abspath(args.source) if args.source else home(args.home)
    later = 0 if args.source else _bring_up_to_date(context, source)
    if os.path.isdir(os.path.join(source, "events")):
        source = os.path.join(source, "events")
    target = os.path.abspath(args.into)
    try:
        done = replay(source, target, voided=args.voided)
    except JournalBroken as problem:
        if problem.facts.get("path") == source:  # there are none at all
            problem.hint = "Write them first: postroom journal. Or say where they are: --from DIR"
        raise
    if context.json:
        context.put_json({"home": target, **done._asdict(), "stored_later": later})
    elif not context.quiet:
        since = "" if done.snapshot is None else f" after a snapshot at {done.snapshot}"
        context.put(f"{count(done.events, 'event')} replayed{since} into {target}\n")
        context.put(context.out.paint(f"state {done.digest}\n", "dim"))
        context.put(
            "".join(f"{one}\n" for one in _left_out(done.left_out, later, source, target, args.voided))
        )
    return 0


def _left_out(left_out: int, later: int, source: str, target: str, voided: bool) -> "Iterator[str]":
    home = os.path.dirname(source)
    if later:
        yield f"left out: {count(later, 'event')} recorded after the loss; they are only in {home}/room.db"
    if left_out and voided:
        yield f"left out: {count(left_out, 'event')} that the journals have from after the loss; see {home}"
    elif left_out:
        more = (
            f"to rebuild the room as it was before the loss: postroom replay --voided --into {target}-voided"
        )
        yield f"left out: {count(left_out, 'event')} that the store had lost; {more}"


def _bring_up_to_date(context: "Context", source: str) -> int:
    """Let the journals catch up with their room, unless it is lost, or has lost what they have.

    How many events it has recorded after such a loss: they are not in the journals.
    """
    from postroom.errors import StoreError
    from postroom.room import journal, loss, snapshot

    if not os.path.exists(os.path.join(source, "room.db")):
        return 0
    try:
        room = context.room()
        if not journal.is_ahead(room):
            snapshot.sync(room)
            return 0
        lost = loss.find(journal.directory(room), room.store)
        ahead = min((one.first for one in lost if not one.voided), default=0)
        return max(0, int(room.store.look().last_cursor()) - ahead + 1) if ahead else 0
    except StoreError:
        return 0
