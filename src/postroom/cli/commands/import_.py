"""`postroom import`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.imports.plan import Agents, Mail
    from postroom.model.message import Json
    from postroom.room.imported import Standing

HELP = """\
Bring in what another tool has: the agents of an agentcomms config or of an agent-orchestrator.yaml, as tables
of the room's config; or a tree of file mailboxes (DIR/<agent>/inbox/*.json, what was processed, outbox), or a
SQLite file with a table of messages, as mail: what waited there waits here, what was processed is history,
and is offered to nobody again.

With --follow, new rows of such a table are taken in as they come, until Ctrl-C, and the table is told how far
each row got: `claimed` when its reader was offered it, `done` when it was acknowledged or answered; or, in a
table with read_at, when it was read.

What PATH is, is found out. Nothing is written without --apply: what would be done is shown, and what has no
counterpart. Doing it twice does it once. Names that are no addresses are made some, and shown; two that would
be the same are refused, unless --rename says what one of them is called here. Only a person may import."""
EXAMPLES = """\
  postroom import ~/.agentcomms/config.yaml
  postroom import agent-orchestrator.yaml --apply
  postroom import ./mailboxes --rename 'Front End=frontend' --apply
  postroom import messages.db --follow
  postroom import ~/.agentcomms/config.yaml --undo"""

_KINDS = ("agentcomms", "agent-orchestrator", "mailbox", "sqlite")
_BACKUP, _RESTORE = "postroom backup PATH", "postroom restore PATH"
_UNSERVED = "it stands in the config, but no chat is served here yet: nothing comes from there, or goes there"
_SHOWN = 20  # of what is left out, without --all


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("path", metavar="PATH", help="a config, a SQLite file, or the directory of mailboxes")
    parser.add_argument("--apply", action="store_true", help="do it; without, it is only shown")
    parser.add_argument(
        "--follow", action="store_true", help="import, then keep importing new rows (SQLite only)"
    )
    parser.add_argument("--undo", action="store_true", help="take out of the config what was added from PATH")
    parser.add_argument("--kind", metavar="KIND", choices=_KINDS, help=f"what it is: {', '.join(_KINDS)}")
    parser.add_argument(
        "--rename", metavar="OLD=NEW", action="append", default=[], help="what somebody is called here"
    )
    parser.add_argument("--all", action="store_true", help="show all that is left out")


def run(args: "argparse.Namespace", context: "Context") -> int:
    import os

    from postroom.errors import UsageError

    if args.undo and (args.apply or args.follow):
        raise UsageError("say one of --apply and --undo", hint="See: postroom help import")
    args.apply = args.apply or args.follow
    if args.undo:
        return _undo(args, context)
    found = _planned(args, context)
    from postroom.imports.plan import Agents
    from postroom.imports.recognition import aside

    done = _agents(found, args) if isinstance(found, Agents) else _mail(found, args, context)
    document = {
        "source": found.source,
        "names": found.names,
        "left_out": [one._asdict() for one in found.left],
        "aside": aside(os.path.expanduser(args.path), found.source),
    } | done
    if context.json:
        context.put_json(document)
    else:
        _tell(found, document, args, context)
    return _follow(found, args, context) if args.follow else 0


def _planned(args: "argparse.Namespace", context: "Context") -> "Agents | Mail":
    import os

    from postroom import config
    from postroom.bridges.files import naming
    from postroom.errors import UsageError
    from postroom.imports import recognition

    home = config.home(args.home)
    if args.apply:
        _check_person(context)
    path = os.path.expanduser(args.path)
    if args.follow and not recognition.is_queue(path):
        raise UsageError(
            f"{path} cannot be followed", hint="Only a SQLite file with a table of messages can."
        )
    return recognition.plan(path, args.kind or "", config.settings(home), home, naming.renames(args.rename))


def _follow(found: "Agents | Mail", args: "argparse.Namespace", context: "Context") -> int:
    import signal

    from postroom.bridges.files import naming
    from postroom.imports.follow import Follower

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with Follower(context.room(), found.source, naming.renames(args.rename), context.note) as follower:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        context.note(f"Following {found.source}. To end: Ctrl-C")
        try:
            follower.run()
        except KeyboardInterrupt:
            context.note("Stopped. Run the same command to continue.")
    return 0


def _check_person(context: "Context") -> None:
    from postroom.room.authority import person

    person(context.room(create=True), "import what another tool has")


# agents


def _agents(found: "Agents", args: "argparse.Namespace") -> dict[str, Any]:
    from postroom import config
    from postroom.imports import declaration

    home = config.home(args.home)
    wanted = (declaration.write if args.apply else declaration.additions)(home, found)
    if args.apply:
        _introduce(args)
    return {
        "kind": found.kind.value,
        "state": _state(bool(wanted.added), args),
        "agents": found.tables,
        "added": list(wanted.added),
        "here": wanted.same,
        "kept": list(wanted.kept),
        "kept_unserved": _unserved(found.tables),
        "differs": {name: _differs(table, found.tables[name]) for name, table in wanted.kept.items()},
        "config": wanted.change.path,
        "diff": wanted.change.diff() if wanted.added else "",
    }


def _unserved(tables: "dict[str, Json]") -> list[dict[str, str]]:
    """What is written into the config, and nothing here acts on yet."""
    return [
        {"what": f"agents.{name}.channel", "value": str(table["channel"]), "why": _UNSERVED}
        for name, table in tables.items()
        if "channel" in table
    ]


def _introduce(args: "argparse.Namespace") -> None:
    """Whoever is declared now has an address, before anybody writes to it."""
    from postroom.room import declared
    from postroom.room.local import open_room

    with open_room(args.home, project=args.project, create=False) as room, room.write() as tx:
        declared.introduce(room, tx, declared.missing(room, tx, here=True))


def _differs(here: "Json", there: "Json") -> "dict[str, Json]":
    """What the config says otherwise than what is imported."""
    keys = [key for key in {**here, **there} if here.get(key) != there.get(key)]
    return {key: {"here": here.get(key), "there": there.get(key)} for key in keys}


def _state(is_any: bool, args: "argparse.Namespace") -> str:
    return "nothing_to_do" if not is_any else "done" if args.apply else "dry_run"


def _undo(args: "argparse.Namespace", context: "Context") -> int:
    import os

    from postroom import config
    from postroom.errors import UsageError
    from postroom.imports import declaration
    from postroom.imports.recognition import config_at
    from postroom.imports.tree import is_tree

    path = os.path.expanduser(args.path)
    if args.kind == "mailbox" or (not args.kind and os.path.isdir(path) and is_tree(path)):
        raise UsageError(
            "mail that was imported is not taken out again",
            hint=f"Go back to a backup that was made before: {_RESTORE}",
        )
    _check_person(context)
    path = config_at(path)
    change = declaration.undo(config.home(args.home), path)
    if context.json:
        context.put_json({"source": path, "state": "undone", "config": change.path, "diff": change.diff()})
        return 0
    _put_diff(change.diff(), context)
    context.note(f"{change.path} is without it again. The addresses stay: postroom leave NAME")
    return 0


# mail


def _mail(found: "Mail", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.imports import called
    from postroom.room.imported import Standing, take_in

    if args.apply:
        called.check(context.room(), found)
        called.note(context.room(), found)
        what = take_in(context.room(), found.pieces)
    else:
        what = _foreseen(found, context)
    counts = {one.value: what.count(one) for one in Standing}
    return {
        "kind": found.kind.value,
        "state": _state(counts["new"] + counts["moved"] > 0, args),
        "mailboxes": found.mailboxes,
        "messages": counts,
        "rungs": _rungs(found),
    }


def _foreseen(found: "Mail", context: "Context") -> "list[Standing]":
    from postroom.errors import NoRoom
    from postroom.imports import called
    from postroom.room.imported import Standing, standing

    try:
        called.check(context.room(), found)
        return standing(context.room(), found.pieces)
    except NoRoom:
        return [Standing.NEW for _ in found.pieces]


def _rungs(found: "Mail") -> dict[str, dict[str, int]]:
    """For each who gets any: how many lie where."""
    counts: dict[str, dict[str, int]] = {}
    for piece in found.pieces:
        mine = counts.setdefault(piece.to, {})
        mine[piece.rung.value] = mine.get(piece.rung.value, 0) + 1
    return dict(sorted(counts.items()))


# telling


def _tell(
    found: "Agents | Mail", done: dict[str, Any], args: "argparse.Namespace", context: "Context"
) -> None:
    if context.quiet:
        return
    _tell_names(found.names, context)
    if "rungs" in done:
        _put_rungs(done, context)
    else:
        _put_agents(done, context)
        _put_diff(done["diff"], context)
        _tell_kept(done, context)
        _tell_unserved(done["kept_unserved"], context)
    _tell_left(done["left_out"], args, context)
    _tell_aside(done, context)
    _tell_end(done, args, context)


def _tell_names(names: dict[str, str], context: "Context") -> None:
    from postroom.cli.output import one_line

    for word, new in names.items():
        context.put(f"{one_line(word)} is called {context.out.paint(new, 'bold')} here\n")


def _put_agents(done: dict[str, Any], context: "Context") -> None:
    from postroom.cli.output import one_line

    rows = [
        (name, _how(name, done), "" if name in done["kept"] else one_line(_reached(table)))
        for name, table in done["agents"].items()
    ]  # fmt: skip
    if rows:
        context.put_table(rows, ("bold", "", "dim"), ("AGENT", "HERE", "REACHED BY"))


def _tell_kept(done: dict[str, Any], context: "Context") -> None:
    """Of each that stays, what it has otherwise, and how to have it as it is there."""
    from postroom.cli.output import one_line

    for name, differs in done["differs"].items():
        for key, values in differs.items():
            here, there = (_said(values[side]) for side in ("here", "there"))
            context.note(f"{name} stays as it is: {key} is {one_line(here)}, and there {one_line(there)}")
    if done["kept"]:
        names = ", ".join(f"[agents.{name}]" for name in done["kept"])
        context.note(f"To take over what is there, take {names} out of {done['config']} and import again.")


def _tell_unserved(kept: list[dict[str, str]], context: "Context") -> None:
    from postroom.cli.output import one_line

    for one in kept:
        context.note(f"only kept: {one['what']} {one_line(one['value'])}: {one['why']}")


def _said(value: Any) -> str:
    import shlex

    return "not said" if value is None else shlex.join(value) if isinstance(value, list) else repr(value)  # pyright: ignore[reportUnknownArgumentType] - of texts


def _how(name: str, done: dict[str, Any]) -> str:
    if name in done["added"]:
        return "new"
    return "stays as it is" if name in done["kept"] else "here already"


def _reached(table: dict[str, Any]) -> str:
    import shlex

    parts = [str(table[key]) for key in ("bridge", "pane", "directory") if key in table]
    if "command" in table:
        parts.insert(1, shlex.join(table["command"]))
    return ", ".join(parts) or "its own sessions"


def _put_rungs(done: dict[str, Any], context: "Context") -> None:
    kinds = ("waiting", "seen", "acked", "refused", "gone")
    rows = [(name, *(str(counts.get(kind, "")) for kind in kinds)) for name, counts in done["rungs"].items()]
    if rows:
        context.put_table(rows, ("bold",), ("MAIL FOR", "WAITS", "SEEN", "ACKED", "REFUSED", "UNKNOWN"))


def _put_diff(diff: str, context: "Context") -> None:
    from postroom.cli.output import clean

    for line in diff.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        context.put(context.out.paint(clean(line), style) + "\n")


def _tell_left(left: list[dict[str, str]], args: "argparse.Namespace", context: "Context") -> None:
    from postroom.cli.output import count, one_line

    shown = left if args.all else left[:_SHOWN]
    for one in shown:
        context.note(f"left out: {one_line(one['what'])}: {one_line(one['why'])}")
    if len(left) > len(shown):
        context.note(f"… and {count(len(left) - len(shown), 'other thing')} left out; see them: --all")


def _tell_aside(done: dict[str, Any], context: "Context") -> None:
    """That there was more to choose from."""
    import shlex

    if done["aside"]:
        context.note(f"This is {done['source']}. Left aside, and imported by itself:")
    for path in done["aside"]:
        context.note(f"  {shlex.join(['postroom', 'import', path])}", whole=True)


def _tell_end(done: dict[str, Any], args: "argparse.Namespace", context: "Context") -> None:
    state = done["state"]
    if "messages" in done:
        _tell_counts(done["messages"], state, context)
    if state == "nothing_to_do":
        context.note("Nothing to do.")
    elif state == "dry_run":
        if "messages" in done:
            context.note(f"It cannot be undone; make a backup before: {_BACKUP}")
        context.note("Nothing was written. To do it:")
        context.note(f"  {_command(args, '--apply')}", whole=True)
    elif "config" in done:
        context.note("Done. To start what it says: postroom up")
        context.note(f"  to take it back: {_command(args, '--undo')}", whole=True)


def _tell_counts(counts: dict[str, int], state: str, context: "Context") -> None:
    from postroom.cli.output import count

    verb = "taken in" if state == "done" else "to take in"
    parts = [f"{count(counts['new'], 'message')} {verb}"] if counts["new"] else []
    parts += [f"{counts['moved']:,} that got further there"] if counts["moved"] else []
    parts += [f"{counts['here']:,} here already"] if counts["here"] else []
    context.note("; ".join(parts) + "." if parts else "There is no mail in it.")


def _command(args: "argparse.Namespace", verb: str) -> str:
    import shlex

    words: list[str] = ["postroom", "import", args.path, *(["--kind", args.kind] if args.kind else [])]
    if verb == "--apply":
        words += [word for one in args.rename for word in ("--rename", one)]
    return shlex.join([*words, verb])
