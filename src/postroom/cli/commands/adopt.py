"""`postroom adopt`."""

import os
from typing import TYPE_CHECKING, Any

from postroom.cli.pane import candidates, is_own, named

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.tmux.candidate import Candidate
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.room.directory import Scope

HELP = """\
Have agents that run in panes of tmux already reached by mail: each gets an address (--as NAME for one; else
it keeps the one it has), and its mail is typed there when it is idle, or its hooks carry it and a line wakes
it. Without PANE, --all or --match nothing is adopted: what there is gets listed. Nothing is typed into a
dialog, a draft, or a screen that is not known. PANE is %3, work:1.0, a window by its name (work:logs.0), or
the name that a pane bears.

A program that is not known needs a profile: one of the config ([profiles.NAME]), or by hand, with a pattern
for how the line begins in which one types. Never a shell: it would run its mail. Only a person may adopt."""
EXAMPLES = """\
  postroom adopt
  postroom adopt --all
  postroom adopt %3 --as backend
  postroom adopt --match 'work:' --dry-run
  postroom adopt work:2.0 --as tutor --pattern 'ask> ' --submit Enter
  postroom adopt --release backend"""


def add_arguments(parser: "Parser") -> None:
    from postroom.cli import profile

    parser.add_argument(
        "panes", metavar="PANE", nargs="*", default=[], help="%%3, work:1.0, or the name a pane bears"
    )
    parser.add_argument("--all", action="store_true", help="every pane with a known agent, but your own")
    parser.add_argument(
        "--match", metavar="RE", help="those whose place, program, directory or title matches"
    )
    profile.add_arguments(parser)
    parser.add_argument("--socket", metavar="PATH", help="of the tmux server (yours)")
    parser.add_argument("--no-server", action="store_true", help="by the pane alone, not its own server")
    parser.add_argument("--dry-run", action="store_true", help="say what would be adopted")
    parser.add_argument("--release", action="store_true", help="let go of these panes, or agents, again")
    parser.add_argument("--yes", action="store_true", help="use profiles of a config that lies in the room")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.directory import agents_own

    args.name, args.caller = args.caller or "", None  # here, --as says who the pane is
    context.room(create=True)
    _check(args, context)
    if args.release:
        from postroom.cli.release import release

        _check_person(context)
        return release(args, context)
    found = candidates(args, context)
    chosen = _chosen(found, args)
    if args.dry_run or not chosen:
        return _list(found, chosen, args, context)
    if args.name and len(chosen) > 1:
        from postroom.errors import UsageError

        raise UsageError(f"{len(chosen)} panes cannot all be {args.name}", hint="Name one pane.")
    _check_person(context)
    if args.name:
        agents_own(args.name)
    done = [_adopt(one, args, context) for one in chosen]
    if any("error" not in one for one in done):
        _observe(done, context)
    if context.json:
        context.put_json({"adopted": [{k: v for k, v in one.items() if k != "manifest"} for one in done]})
    else:
        context.put("".join(_line(one, context) for one in done))
        _tell_next(done, context)
    return 1 if any("error" in one for one in done) else 0


def _check_person(context: "Context") -> None:
    from postroom.room.authority import person

    person(context.room(), "say into which panes mail is typed")


def _check(args: "argparse.Namespace", context: "Context") -> None:
    from postroom.cli import profile
    from postroom.errors import UsageError

    if len([way for way in (args.panes, args.all, args.match) if way]) > 1:
        raise UsageError("name panes, or say --all, or --match", hint="See: postroom help adopt")
    if args.release and not args.panes:
        raise UsageError("--release needs PANE, or an agent's name", hint="See them: postroom adopt")
    profile.check(args, context, "adopt")


def _chosen(found: "list[Candidate]", args: "argparse.Namespace") -> "list[Candidate]":
    """Those that are meant; none where nobody has said which."""
    if args.panes:
        return [named(word, found, args) for word in dict.fromkeys(args.panes)]
    if args.match:
        return [one for one in _matching(found, args.match) if _is_known(one, args)]
    known = [one for one in found if one.runtime and not is_own(one)]
    return known if args.all or (args.name and len(known) == 1) else []


def _matching(found: "list[Candidate]", pattern: str) -> "list[Candidate]":
    """Those that match; that none does is an error."""
    import re

    from postroom.errors import InvalidValue, NotFound

    try:
        fits = re.compile(pattern).search
    except re.error as exc:
        raise InvalidValue(f"--match is no regular expression: {exc}") from None
    matching = [one for one in found if any(map(fits, _texts(one)))]
    if not matching:
        raise NotFound(f"no pane matches {pattern!r}", hint="See what there is: postroom adopt")
    return matching


def _texts(one: "Candidate") -> tuple[str, ...]:
    return one.place, one.program, one.runtime, one.cwd, one.title, one.label


def _is_known(one: "Candidate", args: "argparse.Namespace") -> bool:
    told = args.runtime or args.profile or args.pattern or one.runtime
    return bool(told) and (not is_own(one) or args.dry_run)


def _is_shell(one: "Candidate") -> bool:
    from postroom.bridges.terminal.shell import is_shell

    return is_shell(one.process)


def _adopt(found: "Candidate", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    """One pane; what is wrong with it keeps no other from being adopted."""
    from postroom.bridges.adoption import Wish, adopt
    from postroom.cli.profile import said
    from postroom.errors import PostroomError

    try:
        wish = Wish(args.name, *said(args, found.runtime, context), server=not args.no_server)
        done = adopt(context.room(), found, _scope(found, args), wish)
    except PostroomError as exc:
        if len(args.panes) == 1 or not (args.all or args.match or args.panes):
            raise
        return {"pane": found.target.id, "place": found.place, "error": str(exc), "hint": exc.hint}
    return {"manifest": done.manifest, "new": done.is_new}


def _scope(found: "Candidate", args: "argparse.Namespace") -> "Scope":
    """The project of whatever runs in a pane: that of its directory, unless one is named."""
    from postroom.room.directory import Scope

    return Scope(args.project or os.environ.get("POSTROOM_PROJECT") or None, found.cwd or None)


def _observe(done: list[dict[str, Any]], context: "Context") -> None:
    """Have all of them kept, and look at each once."""
    from postroom.cli import daemon
    from postroom.cli.kept import document, observed
    from postroom.daemon.launch import keep

    room = context.room()
    daemon.start(context)
    keep(room.home)
    kept = [one for one in done if "manifest" in one]
    seen = observed(room.home, [one["manifest"].agent for one in kept], 5.0)
    for one in kept:
        one.update(document(room, one["manifest"], seen.get(one["manifest"].agent)))


def _line(one: dict[str, Any], context: "Context") -> str:
    from postroom.cli.kept import line
    from postroom.cli.output import one_line

    if "error" in one:
        hint = f" {one['hint']}" if one["hint"] else ""
        why = one_line(f"{one['place']}: not adopted: {one['error']}.{hint}")
        return context.out.fold(why, 2) + "\n"
    return line(one, context, "" if one["new"] else "adopted before")


def _tell_next(done: list[dict[str, Any]], context: "Context") -> None:
    names = [one["agent"] for one in done if one.get("new")]
    if names:
        release = f"postroom adopt --release {names[0]}"
        context.note(f"Adopted. Write to it: postroom send {names[0]} TEXT. Let go of it: {release}")


def _list(
    found: "list[Candidate]", chosen: "list[Candidate]", args: "argparse.Namespace", context: "Context"
) -> int:
    """What would be adopted; where nothing would, what there is and how one says what is meant."""
    from postroom.bridges.adoption import objection

    shown = chosen or (_matching(found, args.match) if args.match else found)
    doubts = [objection(context.room(), one, _scope(one, args)) for one in shown]
    if context.json:
        documents = [_document(one, doubt) for one, doubt in zip(shown, doubts, strict=True)]
        context.put_json({"candidates": documents, "adopted": []})
    elif shown:
        rows = [_row(one, doubt) for one, doubt in zip(shown, doubts, strict=True)]
        head = ("PANE", "PLACE", "PROGRAM", "RUNTIME", "NAME", "")
        context.put_table(rows, ("bold", "", "", "green", "", "dim"), head)
    if chosen:
        return 0
    context.note(_advice(shown, args))
    if args.dry_run:
        return 0
    return 3 if args.all or args.match else 2 if args.name else 0


def _advice(shown: "list[Candidate]", args: "argparse.Namespace") -> str:
    """What to say so that something is adopted: on the same server of tmux."""
    import shlex

    name, there = args.name, f" --socket {shlex.quote(args.socket)}" if args.socket else ""
    others = [one for one in shown if not is_own(one) and not _is_shell(one)]
    known = [one for one in others if one.runtime]
    if not known:
        pane = others[0].target.id if others else "PANE"
        return (
            "No agent that is known runs there. Say which it is: "
            f"postroom adopt {pane} --runtime RUNTIME{there}; or how the line begins in which one types: "
            f"postroom adopt {pane} --pattern RE{there}"
        )
    one = next((each for each in known if not each.label), known[0])
    which = f"postroom adopt {one.target.id} --as {name or 'NAME'}{there}"
    return f"Name the pane: {which}" if name else f"Adopt all: postroom adopt --all{there}; or one: {which}"


def _document(one: "Candidate", doubt: str) -> dict[str, Any]:
    """`name`: the one that it bears, if that is believed; else it is a claim."""
    return {
        "pane": one.target.id, "place": one.place, "program": one.program, "runtime": one.runtime or None,
        "name": None if doubt else one.label or None, "claim": one.label if doubt else None, "cwd": one.cwd,
        "adoptable": bool(one.runtime) and not is_own(one) and not doubt,
    }  # fmt: skip


def _row(one: "Candidate", doubt: str) -> tuple[str, ...]:
    runtime, name = one.runtime or "–", one.label or "–"
    return one.target.id, one.place, one.program, runtime, name, _verdict(one, doubt)


def _verdict(one: "Candidate", doubt: str) -> str:
    if is_own(one):
        return "your own pane"
    if _is_shell(one):
        return "a shell: nothing is typed there"
    if doubt:
        return "only says that it is; needs --as NAME"
    if one.label:
        return "bears a name"
    return "adoptable" if one.runtime else "not known"
