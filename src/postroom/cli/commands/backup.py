"""`postroom backup`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Copy the room to a file while it is in use. The copy is complete, checked and private when it appears. Put it
back with `postroom restore`."""
EXAMPLES = """\
  postroom backup room-2026-11-15.db
  postroom backup /backup/room.db --force"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("path", metavar="PATH", help="the file to write")
    parser.add_argument("--force", action="store_true", help="overwrite it if it exists")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.backup import backup

    made = backup(context.room(), args.path, force=args.force)
    if context.json:
        context.put_json(made._asdict())
    elif not context.quiet:
        context.put(f"{made.path}: {made.size:,} bytes, up to event {made.last}\n")
    return 0
