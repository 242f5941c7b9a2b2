"""`postroom setup`."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.setup.change import Change
    from postroom.setup.plan import Target, Undoing

HELP = """\
Wire an agent CLI to this room: its hooks then show mail to the model. With --mcp it gets an MCP server,
beside the hooks or without them: its mailbox as tools of its own, which also work where hooks cannot, in a
sandbox. What would be written is shown first, as a diff; what you had stays. Without RUNTIME, each one that
is installed is offered. A second run finds nothing to do, and --undo puts every file back as it was (with
--mcp, only what the server needed). A CLI works with one room: if another room's hooks are there, --replace
puts this one's in their place."""
EXAMPLES = """\
  postroom setup                       # finds what is installed
  postroom setup claude codex
  postroom setup codex --dry-run       # only the diff
  postroom setup gemini --scope project --yes
  postroom setup codex --mcp           # the mailbox as tools, beside the hooks
  postroom setup claude --plugin       # as a plugin, not in the settings
  postroom setup claude --undo
  postroom setup claude --replace      # it was wired to another room"""


def add_arguments(parser: "Parser") -> None:
    from postroom.runtimes import NAMES

    names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    parser.add_argument("runtimes", metavar="RUNTIME", nargs="*", help=names)
    parser.add_argument("--scope", metavar="WHERE", default="user", help="user (default) or project")
    parser.add_argument("--mcp", action="store_true", help="the MCP server; the hooks stay as they are")
    parser.add_argument("--undo", action="store_true", help="take it back")
    parser.add_argument("--replace", action="store_true", help="put it in the place of another room's")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")
    parser.add_argument("--allow", action="store_true", help="let the agent run postroom without asking you")
    parser.add_argument("--plugin", action="store_true", help="make a plugin, where the CLI takes one")
    parser.add_argument("--into", metavar="DIR", help="where the plugin is made (beside the room)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    _check(args)
    reports = _undo(args, context) if args.undo else _set_up(args, context)
    if context.json:
        context.put_json({"runtimes": reports})
    return 0


def _set_up(args: "argparse.Namespace", context: "Context") -> list[dict[str, Any]]:
    from postroom.config import home
    from postroom.setup import installed
    from postroom.setup.plan import target

    names = list(dict.fromkeys(args.runtimes)) or installed.names()
    if not names:
        from postroom.runtimes import NAMES

        context.note(f"No agent CLI was found. Name one to set it up anyway: {', '.join(NAMES)}")
    room, plugin = home(args.home), _plugin(args)
    chosen = [
        target(room, name, args.scope, plugin=plugin, allow=args.allow, part=part)
        for name in names
        if (part := _part(name, args))
    ]
    return [_tried(one, args, context) for one in chosen]


def _part(name: str, args: "argparse.Namespace") -> str:
    """Hooks, unless the server is asked for, or is all it takes; empty: it takes none, and was not named."""
    from postroom.errors import UsageError
    from postroom.runtimes import load
    from postroom.runtimes.wiring import of
    from postroom.setup.record import HOOKS, TOOLS

    found = of(load(name).name)
    if not args.mcp:
        return TOOLS if found.has_tools and not found.has_hooks else HOOKS
    if not found.has_tools and args.runtimes:
        what = f"how {load(name).title} is told of an MCP server is not known here"
        raise UsageError(what, hint="Where it takes one, the command is: postroom mcp")
    return TOOLS if found.has_tools else ""


def _tried(one: "Target", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    """Set it up; what its user is to add by hand is shown before the error, which must not scroll away."""
    from postroom.errors import CannotEdit

    try:
        return _set_one_up(one, args, context)
    except CannotEdit as exc:
        if exc.hint == CannotEdit.hint:
            exc.hint = f"See what would be added to which file: {one.command} --dry-run"
        if exc.facts.get("add"):
            from postroom.cli.wiring import show_by_hand

            exc.hint = show_by_hand(exc, context)
        raise


def _undo(args: "argparse.Namespace", context: "Context") -> list[dict[str, Any]]:
    from postroom.cli import undo
    from postroom.config import home
    from postroom.setup.plan import target

    room, names, plugin = home(args.home), list(dict.fromkeys(args.runtimes)), _plugin(args)
    chosen = [target(room, names[0], plugin=plugin)] if plugin else undo.targets(names, args, room)
    reports = [undo.undo(one, args, context) for one in chosen]
    ended = [address for each in reports for address in each.get("ended", [])]
    was_told = not args.dry_run and undo.clear(room, ended, context)
    if not chosen and not was_told:
        context.note("Nothing is set up here: nothing to undo.")
    if args.scope != "project":
        undo.tell_elsewhere(room, names, context)
    return reports


def _plugin(args: "argparse.Namespace") -> str:
    """Where the plugin is made; empty: it shall be none."""
    import os

    from postroom.config import beside, home

    if not args.plugin:
        return ""
    return os.path.abspath(args.into or beside(home(args.home), "plugin", args.runtimes[0]))


def _check(args: "argparse.Namespace") -> None:
    from postroom.config import home
    from postroom.errors import UsageError
    from postroom.setup.plan import calling

    if args.scope not in ("user", "project"):
        raise UsageError(f"--scope is user or project, not {args.scope!r}")
    if args.plugin and (len(args.runtimes) != 1 or args.scope == "project"):
        hint = f"Try: {calling(home(args.home))} setup claude --plugin"
        raise UsageError("a plugin is for one runtime, and for the user", hint=hint)
    if args.plugin and args.mcp:
        raise UsageError(
            "the plugin has hooks, and the server is set up without it", hint="Leave out: --plugin"
        )
    if args.into and not args.plugin:
        raise UsageError("--into says where a plugin is made, and there is none", hint="Add: --plugin")


def _set_one_up(one: "Target", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.cli.wiring import report, show

    if one.is_hooks and one.wiring.instead:
        context.note(f"{one.runtime.title} cannot be wired. {one.wiring.instead}")
        return report(one, "impossible", [], [one.wiring.instead])
    wanted = _planned(one, replace=args.replace)
    show(one, wanted.files, context, whole=args.dry_run)
    state = _carried_out(wanted, args, context)
    return report(one, state, wanted.files, [] if state == "declined" else wanted.left)


class _Planned(NamedTuple):
    """What setting up does."""

    one: "Target"
    todo: "list[Change]"
    other: "Target | None"  # of another room, whose place it takes
    undone: "list[Undoing]"  # of that
    left: list[str]  # what only the user can do
    files: list[dict[str, Any]]  # as they are told of


def _planned(one: "Target", *, replace: bool) -> _Planned:
    from postroom.setup.file import glance
    from postroom.setup.neighbour import displaced
    from postroom.setup.plan import changes

    other, undone = displaced(one, replace=replace)
    todo = changes(one, undone, replace=replace)
    left = one.wiring.left_to_do(one.place, glance) if one.is_hooks and one.wiring.left_to_do else []
    taken = [
        {"path": each.change.path, "change": "taken_out", "diff": each.change.diff(),
         "why": f"the hooks of the room {other.place.room if other else ''}"}
        for each in undone if each.change.is_one
    ]  # fmt: skip
    files = [
        {"path": each.path, "change": "edited" if each.before is not None else "made", "why": each.why,
         "diff": each.diff()}
        for each in todo if each.is_one
    ]  # fmt: skip
    return _Planned(one, todo, other, undone, left, taken + files)


def _carried_out(wanted: _Planned, args: "argparse.Namespace", context: "Context") -> str:
    """Do it, if there is anything to do and it is agreed to; what became of it."""
    from postroom.cli.wiring import agreed
    from postroom.hooks import program
    from postroom.setup.plan import carry_out, carry_out_undo, is_wired

    one, left, files = wanted.one, wanted.left, wanted.files
    if not files and (not one.is_hooks or program.is_current(one.place.room)):
        context.note(f"{_done(one, left)}: nothing to {'write' if left else 'do'}.")
        _tell_left(one, left, context)
        return "unchanged"
    if args.dry_run:
        return "dry_run"
    if files and not agreed(f"Write this for {one.runtime.title}?", args, context, _about(one, files)):
        return "declined"
    is_new = not is_wired(one)
    context.room(create=True).projects()  # what is wired wants a room that is there
    if wanted.other is not None:
        carry_out_undo(wanted.other, wanted.undone)
    carry_out(one, wanted.todo)
    context.note(f"{_done(one, left)}. To take it back: {one.command} --undo")
    _tell_left(one, left, context)
    _tell_before_use(one, context, is_new=is_new)
    context.note(f"  then see that it works: {one.call} doctor {one.runtime.name}")
    return "done"


def _about(one: "Target", files: list[dict[str, Any]]) -> list[str]:
    """What is told above the question: what is done to which file, and whether its CLI is there."""
    from postroom.cli.wiring import summary
    from postroom.room.call import program_of

    title = one.runtime.title
    absent = [] if program_of(one.runtime) else [f"{title} is not on your PATH: this is for when it is"]
    return [*summary(one, files), *absent]


def _done(one: "Target", left: list[str]) -> str:
    if one.scope == "plugin" and left:
        return f"The plugin for {one.runtime.title} is written, and not installed yet"
    return f"{one.runtime.title} is set up" if one.is_hooks else f"{one.runtime.title} has our tools"


def _tell_before_use(one: "Target", context: "Context", *, is_new: bool) -> None:
    from postroom.room.call import program_of

    if is_new and program_of(one.runtime):
        context.note("  sessions that run already take part after a restart")


def _tell_left(one: "Target", left: list[str], context: "Context") -> None:
    from postroom.setup import installed

    for step in left:
        is_command = one.scope == "plugin"
        context.note(f"  now run: {step}" if is_command else f"  left to do: {step}", whole=is_command)
    if one.runtime.remark and (one.is_hooks or not one.wiring.has_hooks):
        context.note(f"  good to know: {one.runtime.remark}")
    if not one.is_hooks:
        return
    if installed.own() is None:
        context.note("  postroom is not on your PATH: an agent could neither send nor answer.")
        context.note(f"    {installed.remedy()}", whole=True)
    if one.wiring.login_shell and installed.is_found_at_login() is False:
        from postroom.setup.examine import unfound

        problem = unfound(one)
        context.note(f"  {problem.what}. {problem.advice}")
        context.note(f"    {problem.command}", whole=True)
