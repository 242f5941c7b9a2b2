"""`postroom journal`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The room's events as JSON lines, one file an agent, in `events/` of its home: `<project>/<name>.jsonl`, by the
name that the agent had when its file began, and `_room.jsonl` for what belongs to no agent. They follow the
store: a daemon writes them within a second; with none, a command that finds them 200 events or five minutes
behind writes for about 20 ms. `sync` (what this does by default) brings them up to now, `status` says how
far behind they are, `path` where they are, or with a NAME, which file is that agent's.

Where the store has lost events that the journals have, `verify` and `status` say so until they are brought
back (`postroom replay`), or until `accept` marks them as lost. They stay in the files."""
EXAMPLES = """\
  postroom journal
  postroom journal status --json
  postroom journal accept
  tail -n 3 "$(postroom journal path backend)"
  cat "$(postroom journal path)"/*/*.jsonl | grep message.sent"""

_ACTIONS = ("sync", "status", "path", "accept")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="sync", choices=_ACTIONS)
    parser.add_argument("name", metavar="NAME", nargs="?", help="with path: an agent, or the id of one")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room import journal, loss, snapshot

    if args.name and args.action != "path":
        from postroom.errors import UsageError

        raise UsageError(
            f"{args.action} takes no NAME", hint=f"See one file: postroom journal path {args.name}"
        )
    room = context.room()
    room.store.look()  # there must be a room
    where = journal.directory(room)
    if args.name:
        return _show_path(args.name, context)
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


def _show_path(name: str, context: "Context") -> int:
    """The file of one agent, which may have been deleted since."""
    import os

    from postroom.errors import NotFound
    from postroom.room import journal, segment

    room = context.room()
    agent = room.store.look().agent(name) if segment.is_id(name) else None
    party = name if segment.is_id(name) and (agent or journal.has(room, name)) else room.known(name).id
    path = journal.path(room, party)
    if not os.path.exists(path):
        raise NotFound(
            f"{name} has no journal yet", path=path, hint="Write the journals first: postroom journal"
        )
    if context.json:
        context.put_json({"path": path, "agent": party, "files": journal.paths_of(room, party)})
    else:
        context.put(path + "\n")
    return 0
