"""`postroom tasks`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The tasks of a team of Claude Code, as its own files tell: NAME is a team (see: postroom teams), or an agent
that was adopted from one. They are read, and never written."""
EXAMPLES = """\
  postroom tasks session-1f0c9a2e
  postroom tasks lead --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="a team, or an agent of one")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.team.roster import tasks
    from postroom.cli.output import one_line

    found = tasks(_team(args.name, context))
    if context.json:
        context.put_json({"tasks": [task._asdict() for task in found]})
    elif found:
        rows = [
            (task.id, task.status, task.owner or "–", ", ".join(task.blocked_by), one_line(task.subject))
            for task in found
        ]
        context.put_table(rows, ("bold",), ("ID", "STATUS", "OWNER", "AFTER", "TASK"))
    else:
        context.note("It has no tasks.")
    return 0


def _team(name: str, context: "Context") -> str:
    import os

    from postroom.bridges import manifest as manifests
    from postroom.bridges.team.roster import teams
    from postroom.errors import NoRoom, NotFound, UnknownAgent

    if name in [team.name for team in teams()]:
        return name
    try:
        room = context.room()
        manifest = manifests.get(room.home, room.known(name).id)
    except (NoRoom, UnknownAgent):
        manifest = None
    if manifest is None or "team" not in manifest.details:
        raise NotFound(f"there is no team {name!r}, and no agent of one", hint="See them: postroom teams")
    return os.path.basename(str(manifest.details["team"]))
