"""`postroom resume`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Let an agent go on that `postroom interrupt --kind pause` has paused: what waited for that is offered now. A
person may, and the agent's supervisor."""
EXAMPLES = """\
  postroom resume backend
  postroom resume backend --as human:ana --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="an agent")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.output import count
    from postroom.room.authority import steering
    from postroom.room.manners import pause

    room = context.room()
    agent = room.known(args.name)
    if distant := context.elsewhere:
        done = distant.call("resume", address=agent.address)
    else:
        by = steering(room, agent, "resume")
        was_going, released = pause(room, agent, by, paused=False)
        done = {"agent": agent.address, "by": by.name, "was_paused": not was_going, "released": released}
    if context.json:
        context.put_json(done)
    elif not done["was_paused"]:
        context.put(f"{agent.called} was not paused\n")
    else:
        context.put(f"{agent.called} goes on: {count(int(done['released']), 'message')} let go\n")
    return 0
