"""`postroom adopt`."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.adoption import Wish
    from postroom.bridges.tmux.candidate import Candidate
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Json

HELP = """\
Have agents that run in panes of tmux already reached by mail: each gets an address (--as NAME for one; else
it keeps the one it has), and its mail is typed there when it is idle, or its hooks carry it and a line wakes
it. Without PANE, the only pane with a known agent is adopted; if there are several, they are listed. Nothing
is typed into a dialog, a draft, or a screen that is not known.

A program that is not known needs a profile: one of the config ([profiles.NAME]), or by hand, with a pattern
for how the line begins in which one types. Never a shell: it would run its mail. Only a person may adopt."""
EXAMPLES = """\
  postroom adopt --all
  postroom adopt %3 --as backend
  postroom adopt --match 'work:' --dry-run
  postroom adopt work:2.0 --as tutor --prompt 'ask> ' --submit Enter
  postroom adopt --release backend"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "panes", metavar="PANE", nargs="*", default=[], help="%%3, work:1.0, or the name a pane bears"
    )
    parser.add_argument("--all", action="store_true", help="every pane with a known agent, but your own")
    parser.add_argument(
        "--match", metavar="RE", help="those whose place, program, directory or title matches"
    )
    parser.add_argument(
        "--runtime", metavar="RUNTIME", help="which agent CLI it is, where that cannot be told"
    )
    parser.add_argument("--profile", metavar="PROFILE", help="the profile of the config that fits its screen")
    parser.add_argument("--prompt", metavar="RE", help="a profile by hand: how the line begins one types in")
    parser.add_argument("--submit", metavar="KEY", help="the key that submits, as tmux names it (Enter)")
    parser.add_argument("--socket", metavar="PATH", help="of the tmux server (yours)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be adopted")
    parser.add_argument("--release", action="store_true", help="let go of these panes again")
    parser.add_argument("--yes", action="store_true", help="use profiles of a config that lies in the room")


def run(args: "argparse.Namespace", context: "Context") -> int:
    args.name, args.caller = args.caller or "", None  # here, --as says who the pane is
    _check(args)
    context.room(create=True)
    found = _candidates(args, context)
    if args.release:
        _check_person(context)
        return _release(found, args, context)
    chosen = _chosen(found, args)
    if args.dry_run or not chosen:
        return _list(chosen or found, args, context, is_choice=not args.dry_run)
    if args.name and len(chosen) > 1:
        from postroom.errors import UsageError

        raise UsageError(f"{len(chosen)} panes cannot all be {args.name}", hint="Name one pane.")
    _check_person(context)
    done = [_adopt(one, args, context) for one in chosen]
    if any("error" not in one for one in done):
        _observe(done, context)
    if context.json:
        context.put_json({"adopted": [{k: v for k, v in one.items() if k != "manifest"} for one in done]})
    else:
        context.put("".join(_line(one, context) for one in done))
    return 1 if any("error" in one for one in done) else 0


def _check_person(context: "Context") -> None:
    from postroom.room.authority import person

    person(context.room(), "say into which panes mail is typed")


def _check(args: "argparse.Namespace") -> None:
    from postroom.errors import UsageError

    if len([way for way in (args.panes, args.all, args.match) if way]) > 1:
        raise UsageError("name panes, or say --all, or --match", hint="See: postroom help adopt")
    if len([way for way in (args.runtime, args.profile, args.prompt) if way]) > 1:
        raise UsageError("say one of --runtime, --profile and --prompt", hint="See: postroom help adopt")
    if args.submit and not args.prompt:
        raise UsageError("--submit goes with --prompt", hint="See: postroom help adopt")
    if args.release and not args.panes:
        raise UsageError("--release needs PANE", hint="See them: postroom adopt --dry-run --match .")
    if args.runtime:
        from postroom.runtimes import load

        load(args.runtime)


def _candidates(args: "argparse.Namespace", context: "Context") -> "list[Candidate]":
    from postroom.bridges.roster import programs
    from postroom.bridges.tmux.candidate import candidates
    from postroom.bridges.tmux.server import Server, own_socket

    known = programs(context.room().declared.profiles)
    return candidates(Server(os.path.abspath(args.socket) if args.socket else own_socket()), known)


def _chosen(found: "list[Candidate]", args: "argparse.Namespace") -> "list[Candidate]":
    """Those that are meant; none where that cannot be told."""
    if args.panes:
        return [_named(word, found) for word in dict.fromkeys(args.panes)]
    if args.match:
        return [one for one in found if _matches(one, args.match) and _is_known(one, args)]
    known = [one for one in found if one.runtime and not _is_own(one)]
    return known if args.all or len(known) == 1 else []


def _named(word: str, found: "list[Candidate]") -> "Candidate":
    from postroom.errors import NotFound

    for one in found:
        if word in (one.target.id, one.place, one.label, one.label.rpartition("/")[2]):
            return one
    window = [one for one in found if one.place.startswith(f"{word}.")]
    if len(window) == 1:
        return window[0]
    places = ", ".join(one.place for one in found) or "none"
    raise NotFound(f"there is no pane {word!r}", hint=f"There are {places}.", pane=word)


def _matches(one: "Candidate", pattern: str) -> bool:
    import re

    from postroom.errors import InvalidValue

    try:
        return any(re.search(pattern, text) for text in _texts(one))
    except re.error as exc:
        raise InvalidValue(f"--match is no regular expression: {exc}") from None


def _texts(one: "Candidate") -> tuple[str, ...]:
    return one.place, one.program, one.runtime, one.cwd, one.title, one.label


def _is_known(one: "Candidate", args: "argparse.Namespace") -> bool:
    said = args.runtime or args.profile or args.prompt or one.runtime
    return bool(said) and (not _is_own(one) or args.dry_run)


def _is_own(one: "Candidate") -> bool:
    """Whether this command runs there."""
    from postroom.bridges.tmux.server import own_socket

    return os.environ.get("TMUX_PANE") == one.target.id and own_socket() == one.target.socket


def _is_shell(one: "Candidate") -> bool:
    from postroom.bridges.terminal.shell import is_shell

    return is_shell(one.process)


def wish(found: "Candidate", args: "argparse.Namespace", context: "Context") -> "Wish":
    """What is said of a pane; raises what is wrong with it."""
    from postroom.bridges.adoption import Wish
    from postroom.bridges.roster import profile
    from postroom.cli.consent import confirm

    if args.prompt:
        table: Json = {"prompt": args.prompt, **({"submit": args.submit} if args.submit else {})}
        return Wish(args.name, "", table)
    if args.runtime:
        return Wish(args.name, args.runtime)
    profiles = context.room().declared.profiles
    name = args.profile or (found.runtime if found.runtime in profiles else "")
    if not name:
        return Wish(args.name)
    table = profile(profiles, name)
    confirm({f"profiles.{name}": table}, args, context)
    return Wish(args.name, name, table)


def _adopt(found: "Candidate", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    """One pane; what is wrong with it keeps no other from being adopted."""
    from postroom.bridges.adoption import adopt
    from postroom.errors import BridgeError, Refused
    from postroom.room.directory import Scope

    scope = Scope(args.project or os.environ.get("POSTROOM_PROJECT") or None, found.cwd or None)
    try:
        done = adopt(context.room(), found, scope, wish(found, args, context))
    except (BridgeError, Refused) as exc:
        if len(args.panes) == 1 or not (args.all or args.match or args.panes):
            raise
        return {"pane": found.target.id, "place": found.place, "error": str(exc), "hint": exc.hint}
    return {"manifest": done.manifest, "new": done.is_new}


def _observe(done: list[dict[str, Any]], context: "Context") -> None:
    """Have all of them kept, and look at each once."""
    from postroom.cli.kept import document, observed
    from postroom.daemon.launch import keep

    room = context.room()
    keep(room.home)
    kept = [one for one in done if "manifest" in one]
    seen = observed(room.home, [one["manifest"].agent for one in kept], 5.0)
    for one in kept:
        one.update(document(room, one["manifest"], seen.get(one["manifest"].agent)))


def _line(one: dict[str, Any], context: "Context") -> str:
    from postroom.cli.kept import line

    if "error" in one:
        hint = f" {one['hint']}" if one["hint"] else ""
        return f"{one['place']}: not adopted: {one['error']}.{hint}\n"
    text = line(one, context)
    return text if one["new"] else f"{text.rstrip()} (adopted before)\n"


def _list(
    found: "list[Candidate]", args: "argparse.Namespace", context: "Context", *, is_choice: bool
) -> int:
    """What there is, or would be adopted."""
    if context.json:
        context.put_json({"candidates": [_document(one) for one in found], "adopted": []})
    elif found:
        rows = [
            (one.target.id, one.place, one.program, one.runtime or "–", one.label or "–", _verdict(one))
            for one in found
        ]
        head = ("PANE", "PLACE", "PROGRAM", "RUNTIME", "NAME", "")
        context.put_table(rows, ("bold", "", "", "green", "", "dim"), head)
    if not is_choice:
        return 0
    if not any(one.runtime and not _is_own(one) for one in found) or args.match:
        context.note("No pane has an agent that is known. Say which it is: postroom adopt PANE --runtime R")
        return 3
    context.note("Several could be meant: postroom adopt --all, or name one")
    return 2


def _document(one: "Candidate") -> dict[str, Any]:
    return {
        "pane": one.target.id, "place": one.place, "program": one.program, "runtime": one.runtime or None,
        "name": one.label or None, "cwd": one.cwd, "adoptable": bool(one.runtime) and not _is_own(one),
    }  # fmt: skip


def _verdict(one: "Candidate") -> str:
    if _is_own(one):
        return "your own pane"
    if _is_shell(one):
        return "a shell: nothing is typed there"
    if one.label:
        return "bears a name"
    return "adoptable" if one.runtime else "needs --runtime, --profile or --prompt"


def _release(found: "list[Candidate]", args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges import manifest as manifests
    from postroom.bridges.adoption import unlabel
    from postroom.daemon.launch import let_go

    room, released = context.room(), list[str]()
    for word in dict.fromkeys(args.panes):
        one = _named(word, found)
        kept = [each for each in manifests.every(room.home) if each.pane == str(one.target)]
        for each in kept:
            let_go(room, each)
        if not kept:
            unlabel(str(one.target))
        released.append(one.place)
    if context.json:
        context.put_json({"released": released})
    else:
        context.put("".join(f"{place}: let go; what runs there runs on\n" for place in released))
    return 0
