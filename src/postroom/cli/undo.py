"""Undoing what `postroom setup` did, as its user sees it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.setup.plan import Target

_UNDONE = {
    "restored": "as it was before",
    "removed": "removed",
    "taken_out": "changed since it was set up, so only our entries were taken out",
    "left": "changed since it was set up, so it stays; remove it yourself",
}


def targets(names: list[str], args: "argparse.Namespace", room: str) -> "list[Target]":
    """All that applies here, unless a place was named. Who names a runtime is told of it in any case."""
    from postroom.runtimes import NAMES
    from postroom.setup import standing
    from postroom.setup.plan import target
    from postroom.setup.record import TOOLS

    found: list[Target] = []
    for name in names or NAMES:
        parts = (TOOLS,) if args.mcp else ()
        stands = [one for one in standing.here(room, name, *parts) if args.scope in ("user", one.scope)]
        found += stands or ([target(room, name, args.scope)] if names else [])
    return found


def undo(one: "Target", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.cli.wiring import agreed, report, show
    from postroom.setup.file import glance
    from postroom.setup.plan import carry_out_undo, undoing

    title, todo = one.runtime.title, undoing(one)
    left = one.wiring.left_to_undo(one.place, glance) if one.is_hooks and one.wiring.left_to_undo else []
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
        _tell_left(title, left, context)
        return report(one, "unchanged", files, left)
    show(one, files, context, whole=args.dry_run)
    if args.dry_run:
        return report(one, "dry_run", files, left)
    if not agreed(f"Undo this for {title}?", args, context):
        return report(one, "declined", files, [])
    carry_out_undo(one, todo)
    for each in files:
        context.note(f"{_UNDONE[each['change']]}: {each['path']}")
    _tell_left(title, left, context)
    return {**report(one, "undone", files, left), "ended": _end_sessions(one, context)}


def _tell_left(title: str, left: list[str], context: "Context") -> None:
    for step in left:
        context.note(f"  {title} still has it; now run: {step}", whole=True)


def _end_sessions(one: "Target", context: "Context") -> list[str]:
    """With a runtime's last hook its sessions are gone for us."""
    from postroom.errors import NoRoom
    from postroom.setup import standing

    if not one.is_hooks or standing.is_left(one.place.room, one.runtime.name):
        return []
    try:
        ended = standing.end_all(context.room(), one.runtime.name)
    except NoRoom:
        return []
    if ended:
        context.note(f"  not reached any more, so their mail waits: {', '.join(ended)}")
        context.note(f"  restart {one.runtime.title} there: a session may still run the hooks it began with")
    return ended


def tell_elsewhere(room: str, names: list[str], context: "Context") -> None:
    """What is set up for other projects is undone there."""
    from shlex import quote

    from postroom.runtimes import NAMES, load
    from postroom.setup import standing
    from postroom.setup.plan import calling
    from postroom.setup.record import TOOLS

    for each in standing.elsewhere(room, names or list(NAMES)):
        context.note(f"{load(each.runtime).title} is set up for another project; to undo that:")
        part = " --mcp" if each.part == TOOLS else ""
        undoing = f"{calling(room)} setup {each.runtime}{part} --scope project --undo"
        context.note(f"  cd {quote(each.directory)} && {undoing}", whole=True)


def clear(room: str, ended: list[str], context: "Context") -> bool:
    """With the last runtime goes what all of them ran, unless a session runs it; whether it was told."""
    import os

    from postroom.errors import NoRoom
    from postroom.setup import leftover, standing
    from postroom.setup.plan import calling

    where = leftover.directory(room)
    if not os.path.isdir(where) or leftover.is_needed(room):
        return False
    try:
        living = dict.fromkeys([*ended, *standing.living(context.room()).values()])
    except NoRoom:
        living = {}
    if living:
        context.note(f"{where} stays: hooks may still run from it, of {', '.join(living)}.")
        context.note(f"  When these have ended: {calling(room)} setup --undo")
        return True
    leftover.clear(room)
    if os.path.exists(where):
        context.note(f"removed: all that hooks ran and wrote in {where}")
        context.note(
            "  What else is there stays: the room's daemon, for one, has its log and its tokens there."
        )
    else:
        context.note(f"removed: {where}")
    return True
