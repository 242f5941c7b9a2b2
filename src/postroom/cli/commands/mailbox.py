"""`postroom mailbox`."""

import shlex
from typing import TYPE_CHECKING, Any

from postroom.errors import MailboxUnreachable, UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.files.letter import Flaw, Letter
    from postroom.bridges.files.tree import Tree
    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Json

HELP = """\
Reach agents that can only read and write files: in a container, on a volume, in a sandbox. DIR is a tree with
a directory for each; its mail comes into DIR/NAME/inbox, and what it leaves in DIR/NAME/outbox is sent.

`add DIR` serves every directory in DIR, and those that appear later; but a name that somebody has already
must be said (`add DIR NAME`), because whoever may write in DIR/NAME speaks as NAME. Folders that are missing
are made, and one that fails keeps no other from being served. `remove` serves a tree (or only NAMEs) no
longer: your files and addresses stay, and what we kept there for ourselves goes, at the next `remove` if it
is out of reach now. `list` says what lies in each mailbox, and why something waits there. `check FILE` says
whether a letter is one, and if not, why; - is the standard input. Only a person may add and remove."""
EXAMPLES = """\
  postroom mailbox add ./mail
  postroom mailbox add ./mail builder tester
  postroom mailbox
  postroom mailbox check letter.json
  postroom mailbox remove ./mail"""

_ACTIONS = ("list", "add", "remove", "check")
_NO_HINT = {"hint": ""}  # for who has just done what it says


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("place", metavar="DIR", nargs="?", help="a tree, or its URL; of check, a file")
    parser.add_argument("names", metavar="NAME", nargs="*", default=[], help="of agents")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.place is None) != (args.action == "list") or (args.names and args.action == "check"):
        needs = "FILE" if args.action == "check" else "DIR"
        wrong = "too many arguments" if args.place else f"mailbox {args.action} needs {needs}"
        raise UsageError(wrong, hint="See: postroom help mailbox")
    match args.action:
        case "add":
            return _add(args, context)
        case "remove":
            return _remove(args, context)
        case "check":
            return _check(args.place, context)
        case _:
            return _list(context)


def _add(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.files import place as places
    from postroom.cli import added, daemon
    from postroom.daemon.launch import keep
    from postroom.room.authority import person

    room = context.room(create=True)
    person(room, "say whose mail is read from files")
    where = places.checked(args.place)
    try:
        found = added.named(where, args.names, context) if args.names else added.whole(where, context)
    except MailboxUnreachable as exc:
        hint = f"{added.advice(exc)} Nothing was added."
        raise MailboxUnreachable(str(exc), hint=hint, **exc.facts) from exc
    if not found.is_nothing:
        context.stored(f"{where} is served")
    try:
        if not found.is_nothing:
            daemon.start(context)
            keep(room.home)
    finally:  # whatever comes of that, they are added
        added.tell(found, context)
    return 0 if found.is_all else 1


def _remove(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.files import tree
    from postroom.daemon.launch import let_go
    from postroom.errors import NotFound
    from postroom.room.authority import person

    room = context.room()
    person(room, "say whose mail is read from files")
    where = _known_place(args.place)
    served = tree.served(room.home, where)
    wanted = {room.known(name).id for name in args.names}
    going = [one for one in served if not wanted or one.agent in wanted]
    going += tree.unfinished(room, where, wanted)
    was_whole, was_left = not args.names and tree.remove(room, where), _left_behind(where, wanted, context)
    if not going or was_left:
        tree.clear(room, where, wanted)
    if not going and not was_whole and not was_left:
        raise NotFound(f"{args.place} is not served", hint="See what is: postroom mailbox")
    for one in going:
        let_go(room, one)
    context.stored(f"{where} is served no longer")
    stays = _left_behind(where, wanted, context)
    if context.json:
        left = [{"place": at, "why": why} for at, why in stays.items()]
        context.put_json({"tree": where, "removed": [one.address for one in going], "left": left})
    elif not context.quiet:
        names = ", ".join(context.out.paint(one.address, "bold") for one in going) or where
        files = "" if stays else ", other files stay"
        context.put(f"{names}: served no longer; unread letters wait in the room again{files}\n")
        _tell_of_left(stays, shlex.join(["postroom", "mailbox", "remove", where, *args.names]), context)
    return 0


def _left_behind(where: str, wanted: set[str], context: "Context") -> dict[str, str]:
    """Where of what was meant something of ours stays, and why."""
    from postroom.bridges.files import left

    found = left.find(context.room().home, where).items()
    return {
        f"{where}/{folder}".rstrip("/"): one.why for folder, one in found if not wanted or one.agent in wanted
    }


def _tell_of_left(stays: dict[str, str], again: str, context: "Context") -> None:
    for why in dict.fromkeys(stays.values()):
        context.note(f"Out of reach: {why}")
    for place in stays:
        context.note(f"All files stay in {place}. Letters that are read there may come a second time.")
    if stays:
        context.note("When it can be reached again, take away what is ours:")
        context.note(f"  {again}", whole=True)


def _known_place(place: str) -> str:
    """A tree as it is kept; one that is gone by now, too."""
    import os

    return place.rstrip("/") if "://" in place else os.path.realpath(os.path.expanduser(place))


# what there is


def _list(context: "Context") -> int:
    from postroom.bridges.files import tree
    from postroom.cli.kept import observed
    from postroom.daemon.place import running

    room = context.room()
    served, trees = tree.served(room.home), tree.every(room.home)
    seen = observed(room.home, [one.agent for one in served])
    found = [_described(one, seen.get(one.agent)) for one in served]
    if context.json:
        whole = [{"tree": one.place, "project": one.project} | _not_served(one, context) for one in trees]
        context.put_json({"mailboxes": found, "trees": whole, "daemon": bool(running(room.home))})
        return 0
    if found:
        head = ("AGENT", "PLACE", "INBOX", "OUTBOX", "REJECTED", "")
        context.put_table([_row(one) for one in found], ("bold", "", "", "", "", "yellow"), head)
    for one in trees:
        context.note(f"Directories that appear in {one.place} are served, too{_left(one, context)}.")
    if not found and not trees:
        context.note("There is no mailbox. Serve a directory: postroom mailbox add DIR")
    elif not running(room.home):
        context.note("No daemon runs, so nothing is carried now. Start it: postroom up")
    return 0


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    counts = ("–" if one[key] is None else str(one[key]) for key in ("inbox", "outbox", "rejected"))
    return (one["agent"], one["place"], *counts, one["why"])


def _left(one: "Tree", context: "Context") -> str:
    """Those that are not, and must be named."""
    from postroom.cli.output import one_line

    found = _not_served(one, context)
    if found["why"]:
        return f"; it cannot be looked at now: {one_line(found['why'])}"
    names = [f"{one_line(each['name'])} ({one_line(each['why'])})" for each in found["not_served"]]
    return f"; not served: {', '.join(names[:5])}" if names else ""


def _not_served(one: "Tree", context: "Context") -> dict[str, Any]:
    """The directories of a tree that are no mailboxes, and why; or why it cannot be looked at."""
    from postroom.bridges.files import place as places
    from postroom.bridges.files import tree
    from postroom.errors import BridgeError

    room = context.room()
    known = {each.details["folder"] for each in tree.served(room.home, one.place)}
    try:
        others = [name for name in places.members(one.place) if name not in known]
    except BridgeError as exc:
        return {"not_served": [], "why": str(exc)}
    return {
        "not_served": [{"name": name, "why": tree.objection(room, one, name)} for name in others],
        "why": "",
    }


def _described(manifest: "Manifest", seen: "dict[str, Any] | None") -> dict[str, Any]:
    """What lies where, as far as it can be told now."""
    from contextlib import closing, suppress

    from postroom.bridges.files import place as places
    from postroom.bridges.files.shelf import Folder
    from postroom.errors import PostroomError

    facts: dict[str, Any] = {
        "agent": manifest.address, "place": manifest.details["place"],
        "inbox": None, "outbox": None, "rejected": None, "why": "",
    }  # fmt: skip
    if seen and (seen["reason"] or seen.get("unsent")):
        facts["why"] = seen["words"]
    try:
        with closing(places.shelf(str(manifest.details["tree"]), str(manifest.details["folder"]))) as shelf:
            for folder in (Folder.INBOX, Folder.OUTBOX, Folder.REJECTED):
                facts[folder.rpartition("/")[2]] = _count(shelf.names(folder))
            with suppress(FileNotFoundError):
                facts["outbox"] += _count(shelf.names(Folder.TAKING))  # that waits, too
    except (PostroomError, OSError) as exc:
        facts["why"] = facts["why"] or str(exc)
    return facts


def _count(names: list[str]) -> int:
    from postroom.bridges.files.letter import SUFFIX

    return sum(name.endswith(SUFFIX) for name in names)


# one letter


def _check(path: str, context: "Context") -> int:
    from postroom.cli.output import one_line

    rows: list[Json] = [{"letter": n + 1, "ok": not told, **told} for n, told in enumerate(_problems(path))]
    is_well = all(row["ok"] for row in rows)
    if context.json:
        context.put_json({"file": path, "ok": is_well, "letters": rows})
    else:
        for row in rows:
            where = f"{path}" if len(rows) == 1 else f"{path}, letter {row['letter']}"
            context.put(f"{where}: {'well-formed' if row['ok'] else one_line(row['message'])}\n")
            if not row["ok"] and row["hint"]:
                context.note(row["hint"])
    return 0 if is_well else 1


def _problems(path: str) -> "list[Json]":
    """For each letter in a file what is wrong with it, if anything; who would get it is not asked."""
    from postroom.bridges.files.letter import letters
    from postroom.errors import InvalidLetter

    try:
        return [_problem(one) for one in letters(_content(path))]
    except InvalidLetter as exc:
        return [exc.as_json() | _NO_HINT]


def _problem(letter: "Letter | Flaw") -> "Json":
    from postroom import config
    from postroom.bridges.files.letter import ACK, NACK, Flaw, options
    from postroom.errors import PostroomError
    from postroom.model.address import parse
    from postroom.room.draft import draft

    if isinstance(letter, Flaw):
        return letter.why.as_json() | _NO_HINT
    if letter.type in (ACK, NACK):
        return {}
    home = config.home()
    try:
        if letter.to:
            parse(letter.to)
        draft(config.settings(home), letter.to or "who asked", letter.body, home=home, **options(letter))
    except PostroomError as exc:
        return exc.as_json()
    return {}


def _content(path: str) -> bytes:
    """As much as may be in a letter's file; of more, `InvalidLetter`."""
    import os
    import stat
    import sys

    from postroom import config
    from postroom.errors import InvalidLetter, NotFound

    hint = "Give the file of a letter, or -"
    here = config.Settings() if config.address() else config.settings(config.home())
    limit = here.mailbox_file_bytes
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        elif not stat.S_ISREG(os.stat(path).st_mode):  # to read from a pipe might not end
            raise NotFound(f"{path} is not a regular file", hint=hint)
        else:
            with open(path, "rb") as file:
                data = file.read(limit + 1)
    except OSError as exc:
        raise NotFound(f"{path} cannot be read: {exc.strerror}", hint=hint) from None
    if len(data) > limit:
        raise InvalidLetter(f"it has more than {limit:,} bytes (mailbox_file_bytes)")
    return data
