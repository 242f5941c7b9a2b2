"""What `postroom setup` shows before it writes, asks, and reports."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from postroom.cli.context import Context
    from postroom.errors import CannotEdit
    from postroom.setup.plan import Target


def report(one: "Target", state: str, files: list[dict[str, Any]], left: list[str]) -> dict[str, Any]:
    name = one.runtime.name
    return {
        "runtime": name, "part": one.part, "scope": one.scope, "state": state, "files": files,
        "left_to_do": left,
    }  # fmt: skip


def show(one: "Target", files: list[dict[str, Any]], context: "Context", *, whole: bool) -> None:
    """What is to be written, as diffs. Not `whole`: of our hooks, only the first has its whole command."""
    if context.json or context.quiet:
        return
    is_shown = whole
    for each in files:
        why, lines = each.get("why", ""), each["diff"].splitlines()
        head = f"# {one.runtime.title}" + (f": {why}" if why else "")
        context.put(context.out.paint(context.out.fold(head, 2), "bold") + "\n")
        for line in lines:
            short = "" if whole else _shortened(line, one)
            context.put(_coloured(short if short and is_shown else line, context))
            if short and not is_shown:
                is_shown = True
                context.put("# (the commands of the other hooks are shortened here; --dry-run shows all)\n")


def _shortened(line: str, one: "Target") -> str:
    """The line of one of our hooks without what is the same for all; empty when it is another."""
    import re

    events = "|".join(re.escape(point.event) for point in one.runtime.points)
    found = re.search(rf"^([-+].*?: \").*\b({one.runtime.name} (?:{events}))\b", line)
    comma = "," if line.rstrip().endswith(",") else ""
    return f'{found[1]}… {found[2]} …"{comma}' if found and "/hook" in line else ""


def summary(one: "Target", files: list[dict[str, Any]]) -> list[str]:
    """What is done to which file, a line each."""
    import os

    told: list[str] = []
    for each in files:
        path = each["path"]
        above = os.path.join(one.place.user, "")
        name = f"~/{path.removeprefix(above)}" if path.startswith(above) else path
        if each["change"] == "taken_out":
            told.append(f"out of {name}: {each['why']}")
            continue
        purposes = [edit.purpose for edit in one.edits if edit.path == path]
        parts = " and ".join(purpose.part(len(one.runtime.points)) for purpose in purposes)
        told.append(f"{parts} in {name}, {_AFTER[each['change']]}")
    return told


def show_by_hand(problem: "CannotEdit", context: "Context") -> str:
    """What somebody would have to add to a file that cannot be edited: in the hint if it is short."""
    from postroom.runtimes.wiring import Entry, pretty
    from postroom.setup.change import by_hand

    path, content = problem.facts["path"], problem.facts["add"]
    line = by_hand(path, content)
    if len(line) <= _SHORT and "\n" not in line:
        return f"Mend it, or add this yourself: {line}"
    if not (context.json or context.quiet):
        shown = line + "\n" if isinstance(content, Entry) else pretty(content)
        context.put(f"# what is to be added to {path}\n{shown}")
        return "Mend it, or add yourself what is shown above."
    return "Mend it."


_SHORT = 200  # characters that a hint may have
_AFTER = {"made": "a new file", "edited": "which is changed"}


def _coloured(line: str, context: "Context") -> str:
    from postroom.cli.output import clean

    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    text = clean(line.rstrip("\n"))
    lead = len(text) - len(text[1:].lstrip())
    return context.out.paint(text[:lead] + context.out.fold(text[lead:], lead + 2), style) + "\n"


def agreed(
    question: str, args: "argparse.Namespace", context: "Context", about: "Iterable[str]" = ()
) -> bool:
    """Whether it may be written: what, is told right above the question. Who cannot be asked must say so."""
    import sys

    from postroom.errors import UsageError

    is_asked = not context.json and sys.stdin.isatty() and sys.stderr.isatty()
    if not (args.yes or is_asked):
        raise UsageError(
            "nobody can be asked here, so nothing was written", hint="If that is what you want, add: --yes"
        )
    for line in about:
        context.note(line)
    if args.yes:
        return True
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    context.note("Nothing was changed.")
    return False
