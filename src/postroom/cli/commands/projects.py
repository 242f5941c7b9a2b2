"""`postroom projects`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count
from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The projects of this room. A project is usually one git repository with all its worktrees; agents of
other projects are written to as project/name. Deleting one removes its agents and their mail."""
EXAMPLES = """\
  postroom projects
  postroom projects delete old-site --yes"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "action", metavar="list|delete", nargs="?", default="list", choices=("list", "delete")
    )
    parser.add_argument("name", metavar="PROJECT", nargs="?", help="the project to delete")
    parser.add_argument("--yes", action="store_true", help="really delete")


def run(args: "argparse.Namespace", context: "Context") -> int:
    return _delete(args, context) if args.action == "delete" else _list(args, context)


def _list(args: "argparse.Namespace", context: "Context") -> int:
    if args.name:
        raise UsageError(f"too many arguments: {args.name}", hint="See: postroom help projects")
    found = context.room().projects()
    if context.json:
        from postroom.protocol import wire

        context.put_json({"projects": [wire.project(project) for project in found]})
    elif found:
        rows = [(project.name, project.root or "–") for project in found]
        context.put_table(rows, ("bold",), ("PROJECT", "DIRECTORY"))
    else:
        context.note("There is no project yet.")
    return 0


def _delete(args: "argparse.Namespace", context: "Context") -> int:
    if not args.name:
        raise UsageError("projects delete needs PROJECT", hint="List them: postroom projects")
    if not args.yes:
        raise UsageError(
            f"deleting {args.name} removes its agents and their mail",
            hint=f"If so: postroom projects delete {args.name} --yes",
        )
    messages = context.room().delete_project(args.name)
    if context.json:
        context.put_json({"deleted": args.name, "messages": messages})
    elif not context.quiet:
        context.put(f"{args.name} deleted, with {count(messages, 'message')}\n")
    return 0
