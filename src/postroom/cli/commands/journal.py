"""`postroom journal`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The room's events as JSON lines, one file an agent, in `events/` of its home. They follow the store: `sync`
(what this does by default) brings them up to now, `status` says how far behind they are, `path` where.

Where the store has lost events that the journals have, `verify` and `status` say so until they are brought
back (`postroom replay`), or `accept` is told that they are gone. They stay in the files."""
EXAMPLES = """\
  postroom journal
  postroom journal status --json
  postroom journal accept
  cat "$(postroom journal path)"/*.jsonl | grep message.sent"""

_ACTIONS = ("sync", "status", "path", "accept")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="sync", choices=_ACTIONS)


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room import journal, loss, snapshot

    room = context.room()
    room.store.look()  # there must be a room
    where = journal.directory(room)
    if args.action == "path":
        context.put_json({"path": where}) if context.json else context.put(where + "\n")
        return 0
    if args.action == "accept":
        return _accept(context)
    mirrored = snapshot.sync(room) if args.action == "sync" else None
    lag, files, lost = journal.lag(room), journal.paths(room), loss.noted(where)
    if context.json:
        report = {"path": where, "behind": lag, "files": files, "lost": lost and lost._asdict()}
        context.put_json(report if mirrored is None else {**report, "mirrored": mirrored})
    elif mirrored is None:
        context.put(f"{count(lag, 'event')} behind, in {count(len(files), 'file')} under {where}\n")
    elif not context.quiet:
        context.put(f"{count(mirrored, 'event')} written, in {count(len(files), 'file')} under {where}\n")
    if lost and not context.json:
        context.put(f"lost from the store: {lost.words}; see: postroom verify\n")
    return 0


def _accept(context: "Context") -> int:
    """Note that what the store has lost is gone."""
    from postroom.room import loss, snapshot

    room = context.room()
    snapshot.sync(room)
    found = loss.accept(room)
    if context.json:
        context.put_json({"accepted": [one._asdict() for one in found]})
    elif not context.quiet:
        words = "".join(f"accepted as lost: {one.words}\n" for one in found)
        context.put(words or "the store has lost nothing that the journals have\n")
    return 0
