"""`postroom agents`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent, AgentStatus

HELP = """\
Who is here, what waits for each, and how each can be reached: what its session does, by its last sign of
life (--json: which event that was, and when), or whether a program of its own is listening now."""
EXAMPLES = """\
  postroom agents
  postroom agents --all --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--all", action="store_true", help="also those who have left")


def run(args: "argparse.Namespace", context: "Context") -> int:
    room = context.room()
    found = room.agents(everyone=args.all)
    if context.json:
        from postroom.protocol import wire

        now = room.now()
        context.put_json({"agents": [wire.status(each, _above(each.agent, context), now) for each in found]})
    elif found:
        head = ("ADDRESS", "ROLE", "WAITING", "IN HAND", "REACH", "ABOUT")
        rows = [_row(status, room.now()) for status in found]
        context.put_table(rows, ("bold", "", "cyan", "cyan", "green", "dim"), head)
    else:
        context.note("Nobody is here yet. Give somebody an address: postroom join NAME")
    return 0


def _above(agent: "Agent", context: "Context") -> str | None:
    """The address of whoever it reports to."""
    found = context.room().store.look().agent(agent.supervisor) if agent.supervisor else None
    return found and found.address


def _row(status: "AgentStatus", now: int) -> tuple[str, ...]:
    agent = status.agent
    about = agent.description
    if agent.capabilities:
        about = f"[{', '.join(agent.capabilities)}] {about}"
    if agent.manners and (resting := _resting(agent, now)):
        about = f"({resting}) {about}".rstrip()
    if status.sessions and (asked := status.sessions[0].session.details.get("asked")):
        about = f"(asked for {asked['name'] or asked['by']}) {about}".rstrip()
    waiting = f"{status.waiting} + {status.held} held" if status.held else str(status.waiting)
    return agent.address, agent.role or "–", waiting, str(status.offered), _reach(status), about


def _reach(status: "AgentStatus") -> str:
    from postroom.cli.reach import words

    return words(status.reach, status.sessions[0] if status.sessions else None).removesuffix(" now")


def _resting(agent: "Agent", now: int) -> str:
    """Why it is left alone now."""
    from postroom.model.manners import read, rest

    found = rest(read(agent.manners), now)
    return found.reason.value.replace("_", " ") if found else ""
