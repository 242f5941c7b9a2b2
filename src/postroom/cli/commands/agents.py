"""`postroom agents`."""

from typing import TYPE_CHECKING, NamedTuple

from postroom.cli.reach import DOUBT, Way, way

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

_HEAD = ("ADDRESS", "ROLE", "WAITING", "IN HAND", "REACH", "ABOUT")


class _Row(NamedTuple):
    """What is told of somebody."""

    address: str
    role: str
    waiting: str
    in_hand: str
    way: Way
    about: str

    @property
    def wide(self) -> tuple[str, ...]:
        """In one line, where there is room for it."""
        reach = f"{self.way.text} ({DOUBT})" if self.way.is_doubted else self.way.text
        return self.address, self.role or "–", self.waiting, self.in_hand, reach, self.about


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
        rows = [_row(status, room.now(), context) for status in found]
        if context.out.is_terminal and not _fits([row.wide for row in rows], context):
            _put_narrow(rows, context)
        else:
            styles = ("bold", "", "cyan", "cyan", "green", "dim")
            context.put_table([row.wide for row in rows], styles, _HEAD)
    else:
        context.note("Nobody is here yet. Give somebody an address: postroom join NAME")
    return 0


def _fits(rows: "list[tuple[str, ...]]", context: "Context") -> bool:
    from postroom.cli.output import width

    return (
        sum(max(map(width, column)) + 2 for column in zip(_HEAD, *rows, strict=True)) <= context.out.columns
    )


def _put_narrow(rows: "list[_Row]", context: "Context") -> None:
    """What is told of each on lines of its own, below it."""
    short = [(row.address, row.waiting, row.in_hand, row.way.text) for row in rows]
    facts = [(DOUBT if row.way.is_doubted else "", row.role, row.about) for row in rows]
    below = [" · ".join(filter(None, each)) for each in facts]
    head = (_HEAD[0], *_HEAD[2:5])
    context.put_table(short, ("bold", "cyan", "cyan", "green"), head, least=34, below=below)


def _above(agent: "Agent", context: "Context") -> str | None:
    """The address of whoever it reports to."""
    found = context.room().store.look().agent(agent.supervisor) if agent.supervisor else None
    return found and found.address


def _row(status: "AgentStatus", now: int, context: "Context") -> _Row:
    agent = status.agent
    about = agent.description
    if agent.capabilities:
        about = f"[{', '.join(agent.capabilities)}] {about}"
    if agent.manners and (resting := _resting(agent, now)):
        about = f"({resting}) {about}".rstrip()
    if status.sessions and (asked := status.sessions[0].session.details.get("asked")):
        about = f"(asked for {asked['name'] or asked['by']}) {about}".rstrip()
    waiting = f"{status.waiting} + {status.held} held" if status.held else str(status.waiting)
    first = status.sessions[0] if status.sessions else None
    found = way(status.reach, agent.id, first, context)
    return _Row(agent.address, agent.role, waiting, str(status.offered), found, about)


def _resting(agent: "Agent", now: int) -> str:
    """Why it is left alone now."""
    from postroom.model.manners import read, rest

    found = rest(read(agent.manners), now)
    return found.reason.value.replace("_", " ") if found else ""
