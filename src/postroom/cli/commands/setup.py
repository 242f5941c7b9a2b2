"""`postroom setup`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.setup.plan import Target

HELP = """\
Wire an agent CLI to this room: its hooks then show mail to the model. What would be written is shown first,
as a diff; what you had stays. Without RUNTIME, each one that is installed is offered. A second run finds
nothing to do, and --undo puts every file back as it was. A CLI works with one room: if another room's hooks
are there, --replace puts this one's in their place."""
EXAMPLES = """\
  postroom setup                       # finds what is installed
  postroom setup claude
  postroom setup codex --dry-run       # only the diff
  postroom setup gemini --scope project --yes
  postroom setup claude --plugin       # as a plugin, not in the settings
  postroom setup claude --undo
  postroom setup claude --replace      # it was wired to another room"""


def add_arguments(parser: "Parser") -> None:
    from postroom.runtimes import NAMES

    names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    parser.add_argument("runtime", metavar="RUNTIME", nargs="?", help=names)
    parser.add_argument("--scope", metavar="WHERE", default="user", help="user (default) or project")
    parser.add_argument("--undo", action="store_true", help="take it back")
    parser.add_argument("--replace", action="store_true", help="put it in the place of another room's")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")
    parser.add_argument("--allow", action="store_true", help="let the agent run postroom without asking you")
    parser.add_argument("--plugin", action="store_true", help="make a plugin, where the CLI takes one")
    parser.add_argument("--into", metavar="DIR", help="where the plugin is made (beside the room)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    _check(args)
    targets = _targets(args)
    if not targets and args.undo:
        context.note("Nothing is set up here: nothing to undo.")
    elif not targets:
        from postroom.runtimes import NAMES

        context.note(f"No agent CLI was found. Name one to set it up anyway: {', '.join(NAMES)}")
    reports = [(_undo if args.undo else _set_up)(one, args, context) for one in targets]
    if args.undo and not args.dry_run:
        _clear(args, context)
    if context.json:
        context.put_json({"runtimes": reports})
    return 0


def _clear(args: "argparse.Namespace", context: "Context") -> None:
    """With the last runtime goes what all of them ran, unless a session still runs it."""
    import os

    from postroom.config import home
    from postroom.errors import NoRoom
    from postroom.setup import leftover
    from postroom.setup.plan import calling

    room = home(args.home)
    where = leftover.directory(room)
    if not os.path.isdir(where) or leftover.is_needed(room):
        return
    try:
        living = leftover.living(context.room())
    except NoRoom:
        living = 0
    if living:
        from postroom.cli.output import count

        context.note(f"{where} stays: {count(living, 'session')} may still run hooks from it.")
        context.note(f"  When none lives any more: {calling(room)} setup --undo")
        return
    leftover.clear(room)
    context.note(f"removed: {where}" if not os.path.exists(where) else f"not empty, so it stays: {where}")


def _check(args: "argparse.Namespace") -> None:
    from postroom.config import home
    from postroom.errors import UsageError
    from postroom.setup.plan import calling

    if args.scope not in ("user", "project"):
        raise UsageError(f"--scope is user or project, not {args.scope!r}")
    if args.plugin and (args.runtime is None or args.scope == "project"):
        hint = f"Try: {calling(home(args.home))} setup claude --plugin"
        raise UsageError("a plugin is for one runtime, and for the user", hint=hint)
    if args.into and not args.plugin:
        raise UsageError("--into says where a plugin is made, and there is none", hint="Add: --plugin")


def _targets(args: "argparse.Namespace") -> "list[Target]":
    import os

    from postroom.config import beside, home
    from postroom.setup import installed
    from postroom.setup.plan import target
    from postroom.setup.record import every

    room = home(args.home)
    into = args.into or beside(room, "plugin", args.runtime or "")
    plugin = os.path.abspath(into) if args.plugin else ""
    known = [each.runtime for each in every(room) if each.scope == args.scope]
    names = [args.runtime] if args.runtime else list(dict.fromkeys(known)) if args.undo else installed.names()
    return [target(room, name, args.scope, plugin=plugin, allow=args.allow) for name in names]


def _set_up(one: "Target", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.hooks import program
    from postroom.setup.file import glance
    from postroom.setup.neighbour import displaced
    from postroom.setup.plan import carry_out, carry_out_undo, changes

    title = one.runtime.title
    if one.wiring.instead:
        context.note(f"{title} cannot be wired. {one.wiring.instead}")
        return _report(one, "impossible", [], [one.wiring.instead])
    other, undone = displaced(one, replace=args.replace)
    todo = changes(one, undone)
    files = [
        {"path": each.path, "change": "edited" if each.before is not None else "made", "why": each.why,
         "diff": each.diff()}
        for each in todo if each.is_one
    ]  # fmt: skip
    left = one.wiring.left_to_do(one.place, glance) if one.wiring.left_to_do else []
    taken = [
        {"path": each.change.path, "change": "taken_out", "diff": each.change.diff(),
         "why": f"the hooks of the room {other.place.room if other else ''}"}
        for each in undone if each.change.is_one
    ]  # fmt: skip
    files = taken + files
    _show(one, files, context)
    if not files and program.is_current(one.place.room):
        context.note(f"{_done(one, left)}: nothing to {'write' if left else 'do'}.")
        _tell_left(one, left, context)
        return _report(one, "unchanged", files, left)
    if args.dry_run:
        return _report(one, "dry_run", files, left)
    if files and not _agreed(f"Write this for {title}?", args, context):
        return _report(one, "declined", files, [])
    context.room(create=True).projects()  # the hooks want a room that is there
    if other is not None:
        carry_out_undo(other, undone)
    carry_out(one, todo)
    context.note(f"{_done(one, left)}. To take it back: {one.command} --undo")
    _tell_left(one, left, context)
    context.note(f"  then see that it works: {one.call} doctor {one.runtime.name}")
    return _report(one, "done", files, left)


def _done(one: "Target", left: list[str]) -> str:
    if one.scope == "plugin" and left:
        return f"The plugin for {one.runtime.title} is written, and not installed yet"
    return f"{one.runtime.title} is set up"


def _tell_left(one: "Target", left: list[str], context: "Context") -> None:
    from postroom.setup import installed

    for step in left:
        is_command = one.scope == "plugin"
        context.note(f"  now run: {step}" if is_command else f"  left to do: {step}", whole=is_command)
    if installed.own() is None:
        context.note("  postroom is not on your PATH: an agent could neither send nor answer.")
        context.note(f"    {installed.remedy()}", whole=True)
    if one.wiring.login_shell and installed.is_found_at_login() is False:
        from postroom.setup.examine import unfound

        problem = unfound(one)
        context.note(f"  {problem.what}. {problem.advice}")
        context.note(f"    {problem.command}", whole=True)


def _undo(one: "Target", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.setup.file import glance
    from postroom.setup.plan import carry_out_undo, undoing

    title, todo = one.runtime.title, undoing(one)
    left = one.wiring.left_to_undo(one.place, glance) if one.wiring.left_to_undo else []
    files = [
        {"path": each.change.path, "diff": each.change.diff(),
         "change": "left" if each.is_left else "removed" if each.change.after is None
         else "restored" if each.exact else "taken_out"}
        for each in todo
    ]  # fmt: skip
    if not todo:
        if not args.dry_run:
            carry_out_undo(one, todo)  # somebody else has: its record goes
        context.note(f"{title} is not set up here: nothing to undo.")
        for step in left:
            context.note(f"  {title} still has it; now run: {step}", whole=True)
        return _report(one, "unchanged", files, left)
    _show(one, files, context)
    if args.dry_run:
        return _report(one, "dry_run", files, left)
    if not _agreed(f"Undo this for {title}?", args, context):
        return _report(one, "declined", files, [])
    carry_out_undo(one, todo)
    for each in files:
        context.note(f"{_UNDONE[each['change']]}: {each['path']}")
    for step in left:
        context.note(f"  {title} still has it; now run: {step}", whole=True)
    return _report(one, "undone", files, left)


_UNDONE = {
    "restored": "as it was before",
    "removed": "removed",
    "taken_out": "changed since it was set up, so only our entries were taken out",
    "left": "changed since it was set up, so it stays; remove it yourself",
}


def _report(one: "Target", state: str, files: list[dict[str, Any]], left: list[str]) -> dict[str, Any]:
    name = one.runtime.name
    return {"runtime": name, "scope": one.scope, "state": state, "files": files, "left_to_do": left}


def _show(one: "Target", files: list[dict[str, Any]], context: "Context") -> None:
    if context.json or context.quiet:
        return
    for each in files:
        why = each.get("why", "")
        context.put(context.out.paint(f"# {one.runtime.title}" + (f": {why}" if why else ""), "bold") + "\n")
        context.put("".join(_coloured(line, context) for line in each["diff"].splitlines(keepends=True)))


def _coloured(line: str, context: "Context") -> str:
    from postroom.cli.output import clean

    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    text = clean(line.rstrip("\n"))
    lead = len(text) - len(text[1:].lstrip())
    return context.out.paint(text[:lead] + context.out.fold(text[lead:], lead + 2), style) + "\n"


def _agreed(question: str, args: "argparse.Namespace", context: "Context") -> bool:
    """Whether it may be written. Who cannot be asked must have said so."""
    import sys

    from postroom.errors import UsageError

    if args.yes:
        return True
    if context.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "nobody can be asked here, so nothing was written", hint="If that is what you want, add: --yes"
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    context.note("Nothing was changed.")
    return False
