"""`postroom up`."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.bridges.roster import Entry
    from postroom.bridges.tmux.candidate import Candidate
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent, Json
    from postroom.room.local import LocalRoom

HELP = """\
Start the daemon of this room, which types mail into the terminals of agents and wakes them, and bring up the
agents that the config declares with a `pane` (adopted there), a `command` (started), or a mailbox (`bridge =
"files"` and a `directory`: served). Those that run already are left alone, and one that fails keeps no other
from starting. A daemon that runs already reads its config again (as it does on SIGHUP) and goes on; one that
makes no sense is refused, and the one before counts.

`postroom status` says where the daemon's log is: JSON, one object a line. With --foreground it is shown as it
is written, too: in plain words at a terminal, else as JSON.

A config that lies in the room, where agents may write, is shown and asked about first; what was agreed to is
remembered, and asked again when it has changed."""
EXAMPLES = """\
  postroom up
  postroom up --yes
  postroom up --foreground      # for a service manager
  postroom up --log-level debug"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--foreground", action="store_true", help="be the daemon, until C-c")
    parser.add_argument("--yes", action="store_true", help="use what a config in the room says")
    parser.add_argument(
        "--log-level", metavar="LEVEL", help="of the daemon's log: debug, info, warning, error"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.roster import entries
    from postroom.room.authority import person
    from postroom.room.declared import belongs

    if args.log_level:  # for the daemon, if it is started; it stands above the config
        from postroom.config import checked, environment_name

        os.environ[environment_name("log_level")] = checked("log_level", args.log_level)
    room = context.room(create=True)
    person(room, "start the daemon and what the config declares")
    look = room.store.look()
    every = entries(room.declared)
    wanted = [one for one in every if belongs(room, look, one.name)]
    for one in every:
        if one not in wanted:
            context.note(f"{one.name}: of another project, where {one.directory} is: postroom up there")
    _confirm(wanted, args, context)
    if args.foreground:
        return _serve(wanted, args, context)
    from postroom.daemon.instance import ensure

    started = ensure(room.home)
    read = None if started else _renew(args, context)
    page = _complain(context)
    done = bring_up(wanted, context, is_new=started)
    _put({"started": started, "config": read, "page": page}, done, _rest(done, context), context)
    return 1 if any("error" in one for one in done) else 0


def _renew(args: "argparse.Namespace", context: "Context") -> "Json | None":
    """The daemon that runs reads its config again, if it knows how to; what came of it."""
    from postroom.cli.daemon import warn
    from postroom.daemon.control import ask

    if warn(context):
        return None
    done = ask(context.room().home, "renew", log_level=args.log_level)
    if done["problem"]:
        context.note(f"warning: its config stays as it was: {done['problem']}")
    elif done["changed"]:
        context.note(f"it goes by the config as it is now: {', '.join(done['changed'])}")
    return done


def _complain(context: "Context") -> "Json":
    """Say what the daemon should do by its settings, and does not; what it tells of its page."""
    from postroom.cli.daemon import missing, warn_of_port
    from postroom.daemon.control import ask

    said = ask(context.room().home, "ping")
    page: Json = said.get("web") or {}
    warn_of_port(page, context)
    for words in missing(page, said.get("spans")):
        context.note(f"warning: {words}")
    return page


def _confirm(wanted: "list[Entry]", args: "argparse.Namespace", context: "Context") -> None:
    from postroom.bridges.roster import profile
    from postroom.cli.consent import confirm

    profiles = context.room().declared.profiles
    items: dict[str, Json] = {f"agents.{one.name}": one.table for one in wanted}
    named = {one.profile for one in wanted if one.profile}
    confirm(items | {f"profiles.{name}": profile(profiles, name) for name in named}, args, context)


def _serve(wanted: "list[Entry]", args: "argparse.Namespace", context: "Context") -> int:
    """The daemon in this process; who is declared is brought up beside it."""
    import sys
    import threading

    from postroom import host
    from postroom.daemon.loop import serve
    from postroom.daemon.place import running
    from postroom.errors import BridgeError

    home = context.room().home
    if process := running(home):
        words = f"this room has a daemon already (process {host.pid_of(process)})"
        raise BridgeError(words, hint="End it first: postroom down")
    if wanted:
        threading.Thread(target=_beside, args=(wanted, args), daemon=True).start()
    context.note(f"the daemon of {home}; C-c ends it")
    serve(home, sys.stderr)
    return 0


def _beside(wanted: "list[Entry]", args: "argparse.Namespace") -> None:
    """In a thread of its own, and so with a room of its own, once the daemon answers."""
    import time

    from postroom.cli.context import Context
    from postroom.daemon.control import ping

    context = Context(args)
    until = time.monotonic() + 15.0
    while not ping(context.room().home) and time.monotonic() < until:
        time.sleep(0.1)
    for one in bring_up(wanted, context, is_new=True):
        context.note(_line(one, context).rstrip())


def bring_up(wanted: "list[Entry]", context: "Context", *, is_new: bool) -> list[dict[str, Any]]:
    """Each that is declared: what came of it. `is_new`: the daemon has just begun, and starts some itself."""
    from postroom.cli.kept import document, observed

    room = context.room()
    done = [_bring(one, context, is_new) for one in wanted]
    kept = [one for one in done if "manifest" in one]
    seen = observed(room.home, [one["manifest"].agent for one in kept], 5.0)
    for one in kept:
        manifest = one.pop("manifest")
        one.update(document(room, manifest, seen.get(manifest.agent)))
    return done


def _bring(entry: "Entry", context: "Context", is_new: bool) -> dict[str, Any]:
    from postroom.errors import PostroomError

    try:
        manifest, how = _brought(entry, context, is_new)
    except (PostroomError, OSError) as exc:
        return {"agent": entry.name, "error": str(exc), "hint": getattr(exc, "hint", "")}
    return {"manifest": manifest, "how": how}


def _brought(entry: "Entry", context: "Context", is_new: bool) -> "tuple[Manifest, str]":
    from postroom import host
    from postroom.bridges import manifest as manifests
    from postroom.bridges.roster import FILES
    from postroom.daemon.launch import comes_back

    room = context.room()
    agent = _known(entry.name, room)
    known = manifests.get(room.home, agent.id) if agent else None
    if known is not None and not host.is_gone(known.process):
        return known, "ran already"
    if is_new and known is not None and known.command == entry.command and comes_back(known):
        return known, "the daemon starts it again"
    if entry.bridge == FILES and not entry.command:
        return _served(entry, context), "served"
    there = _there(entry, agent, context)
    if there is not None:
        return _adopted(entry, there, context), "adopted"
    if not entry.command:
        from postroom.errors import NotFound

        raise NotFound(f"there is no pane {entry.pane!r} with a program", hint="See them: postroom adopt")
    return _started(entry, context), "started"


def _served(entry: "Entry", context: "Context") -> "Manifest":
    """Its mailbox, which need not be somewhere where the caller is."""
    from postroom.bridges.files import place, tree
    from postroom.bridges.roster import place as placed
    from postroom.daemon.launch import keep

    room = context.room()
    where = entry.directory if "://" in entry.directory else placed(entry)
    manifest = tree.add(room, place.checked(where), entry.name, room.scope)[0]
    keep(room.home)
    return manifest


def _known(name: str, room: "LocalRoom") -> "Agent | None":
    """Who has that address; nobody is given one before what can be checked was."""
    from postroom.errors import UnknownAgent

    try:
        return room.known(name)
    except UnknownAgent:
        return None


def _there(entry: "Entry", agent: "Agent | None", context: "Context") -> "Candidate | None":
    """The pane that the config means, or that bears the agent's name and is believed; not a bare shell."""
    from postroom.bridges.adoption import objection
    from postroom.bridges.roster import programs
    from postroom.bridges.terminal.shell import is_shell
    from postroom.bridges.tmux.candidate import candidates
    from postroom.bridges.tmux.server import Server, own_socket
    from postroom.errors import BridgeError

    room = context.room()
    try:
        found = candidates(Server(own_socket()), programs(room.declared.profiles))
    except BridgeError:
        return None  # there is no tmux, or no server
    named = [one for one in found if entry.pane and entry.pane in (one.target.id, one.place)]
    names = (agent.address, agent.name) if agent else (entry.name,)
    labelled = [one for one in found if one.label in names and not objection(room, one, room.scope)]
    fits = [one for one in (*named, *labelled) if one.runtime or entry.runtime or entry.profile]
    chosen = [one for one in fits if not is_shell(one.process)]
    return chosen[0] if chosen else None


def _adopted(entry: "Entry", there: "Candidate", context: "Context") -> "Manifest":
    from postroom.bridges.adoption import Wish, adopt
    from postroom.daemon.launch import keep

    runtime, table = _profile(entry, there.runtime, context)
    room = context.room()
    manifest = adopt(room, there, room.scope, Wish(entry.name, runtime, table)).manifest
    keep(room.home)
    return manifest


def _profile(entry: "Entry", found: str, context: "Context") -> "tuple[str, Json]":
    """The runtime of an agent, or its profile."""
    from postroom.bridges.roster import profile

    profiles = context.room().declared.profiles
    name = entry.profile or entry.runtime or found
    return name, profile(profiles, name) if name in profiles else {}


def _started(entry: "Entry", context: "Context") -> "Manifest":
    from postroom.bridges.registry import usual
    from postroom.bridges.roster import place, programs
    from postroom.bridges.tmux.candidate import meant
    from postroom.cli.commands.spawn import start
    from postroom.daemon.launch import Plan

    known = programs(context.room().declared.profiles)
    runtime, table = _profile(entry, meant(entry.command, known), context)
    details: Json = {"session": entry.session} if entry.session else {}
    if table:
        details["profile"] = table
    plan = Plan(
        entry.bridge or usual(), entry.command, place(entry), dict(os.environ), runtime, details,
        entry.restart,
    )  # fmt: skip
    return start(entry.name, plan, context)


def _rest(done: list[dict[str, Any]], context: "Context") -> "list[tuple[Manifest, bool]]":
    """Who went down with an earlier daemon, and is not declared; whether this one starts it again."""
    from postroom import host
    from postroom.bridges import manifest as manifests
    from postroom.bridges.registry import capabilities
    from postroom.daemon.launch import comes_back

    told = {one["agent"] for one in done}
    children = [one for one in manifests.every(context.room().home) if capabilities(one.bridge).owned]
    gone = [one for one in children if one.exit_code is None and host.is_gone(one.process)]
    return [(one, comes_back(one)) for one in gone if one.address not in told]


def _put(
    daemon: "Json", done: list[dict[str, Any]], rest: "list[tuple[Manifest, bool]]", context: "Context"
) -> None:
    from postroom import host
    from postroom.daemon.place import running

    pid = host.pid_of(running(context.room().home))
    if context.json:
        told = [{"agent": one.address, "comes_back": is_back, "again": one.again} for one, is_back in rest]
        context.put_json({"daemon": {**daemon, "process": pid}, "agents": done, "ended": told})
        return
    state = "is up" if daemon["started"] else "was up already"
    context.put(f"the daemon {state} (process {pid})\n" + "".join(_line(one, context) for one in done))
    for one, is_back in rest:
        words = "it is started again" if is_back else f"it stays so (restart: {one.restart}): {one.again}"
        context.note(f"{one.address}: ended with an earlier daemon; {words}")


def _line(one: dict[str, Any], context: "Context") -> str:
    from postroom.cli.kept import line

    if "error" in one:
        hint = f" {one['hint']}" if one["hint"] else ""
        text = context.out.fold(f"{one['agent']}: not up: {one['error']}.{hint}", 2)
        return context.out.paint(one["agent"], "bold") + text.removeprefix(one["agent"]) + "\n"
    return line(one, context, one["how"])
