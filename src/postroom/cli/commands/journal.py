"""`postroom journal`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The room's events as JSON lines, one file an agent, in `events/` of its home. They follow the store: `sync`
(what this does by default) brings them up to now, `status` says how far behind they are, `path` where."""
EXAMPLES = """\
  postroom journal
  postroom journal status --json
  cat "$(postroom journal path)"/*.jsonl | grep message.sent"""

_ACTIONS = ("sync", "status", "path")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="sync", choices=_ACTIONS)


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room import journal

    room = context.room()
    room.store.look()  # there must be a room
    where = journal.directory(room)
    if args.action == "path":
        context.put_json({"path": where}) if context.json else context.put(where + "\n")
        return 0
    mirrored = journal.sync(room) if args.action == "sync" else None
    lag, files = journal.lag(room), journal.paths(room)
    if context.json:
        report = {"path": where, "behind": lag, "files": files}
        context.put_json(report if mirrored is None else {**report, "mirrored": mirrored})
    elif mirrored is None:
        context.put(f"{count(lag, 'event')} behind, in {count(len(files), 'file')} under {where}\n")
    elif not context.quiet:
        context.put(f"{count(mirrored, 'event')} written, in {count(len(files), 'file')} under {where}\n")
    return 0
