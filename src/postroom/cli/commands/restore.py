"""`postroom restore`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Put a backup in the place of what the room holds, for all who have it open. The room as it was is kept beside
it, in `before-restore-…`."""
EXAMPLES = """\
  postroom restore room-2026-11-15.db --yes"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("path", metavar="PATH", help="a file that `postroom backup` made")
    parser.add_argument("--yes", action="store_true", help="really replace what the room holds")


def run(args: "argparse.Namespace", context: "Context") -> int:
    import os

    from postroom.errors import NotFound, UsageError
    from postroom.room.backup import restore

    if not os.path.exists(args.path):
        raise NotFound(f"there is no file {args.path}", hint="Give one that `postroom backup` made.")
    if not args.yes:
        hint = f"If so: postroom restore {args.path} --yes"
        raise UsageError("restoring replaces what the room holds now", hint=hint)
    done = restore(context.room(create=True), args.path)
    if context.json:
        context.put_json(done._asdict())
    elif not context.quiet:
        context.put(f"restored up to event {done.last}; the room as it was is in {done.kept}\n")
    return 0
