"""`postroom agents`."""

from typing import TYPE_CHECKING

from postroom.cli.reach import DOUBT
from postroom.errors import UnknownProject

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent, AgentStatus

HELP = """\
Who is here, what waits for each, and how each can be reached: what its session does, by its last sign of
life (--json: which event that was, and when), or whether a program of its own is listening now. That is
everybody in the room, wherever you stand (--project); name a project to see only its agents."""
EXAMPLES = """\
  postroom agents
  postroom agents shop
  postroom agents --all --json"""

_HEAD = ("ADDRESS", "ROLE", "WAITING", "IN HAND", "REACH", "ABOUT")
_STYLES = ("bold", "", "cyan", "cyan", "green", "dim")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("of", metavar="PROJECT", nargs="?", help="only those of this project")
    parser.add_argument("--all", action="store_true", help="also those who have left")


def run(args: "argparse.Namespace", context: "Context") -> int:
    room = context.room()
    if args.of is not None and room.store.look().project(args.of) is None:
        raise UnknownProject(f"there is no project {args.of!r}", project=args.of)
    found = [each for each in room.agents(everyone=args.all) if args.of in (None, each.agent.project)]
    if context.json:
        from postroom.protocol import wire

        now = room.now()
        context.put_json({"agents": [wire.status(each, _above(each.agent, context), now) for each in found]})
    elif found:
        _put([_row(status, room.now(), context) for status in found], context)
    else:
        context.note("Nobody is here yet. Give somebody an address: postroom join NAME")
    return 0


def _put(rows: "list[tuple[str, ...]]", context: "Context") -> None:
    """A table, without the columns in which nobody has anything."""
    from postroom.cli.output import width

    columns = [
        (style, column)
        for style, *column in zip(_STYLES, _HEAD, *rows, strict=True)
        if any(cell not in ("", "–") for cell in column[1:])
    ]
    wide = sum(max(map(width, column)) + 2 for _, column in columns)
    if context.out.is_terminal and wide > context.out.columns:
        _put_narrow(rows, context)
        return
    head, *body = zip(*(column for _, column in columns), strict=True)
    context.put_table(body, [style for style, _ in columns], head)


def _put_narrow(rows: "list[tuple[str, ...]]", context: "Context") -> None:
    """What is told of each on lines of its own, below it."""
    from postroom.cli.output import one_line

    short = [
        (address, waiting, hand, reach.removesuffix(DOUBT)) for address, _, waiting, hand, reach, _ in rows
    ]
    head = () if context.quiet else (_HEAD[0], *_HEAD[2:5])
    lines = context.out.table(short, ("bold", "cyan", "cyan", "green"), head, least=34).splitlines()
    above, lines = lines[: len(lines) - len(rows)], lines[len(lines) - len(rows) :]
    told = list(above)
    for line, (_, role, _, _, reach, about) in zip(lines, rows, strict=True):
        facts = [DOUBT.strip(" ()") if reach.endswith(DOUBT) else "", role.strip("–"), one_line(about)]
        told.append(line)
        if text := " · ".join(fact for fact in facts if fact):
            told.append("  " + context.out.paint(context.out.fold(text, 2), "dim"))
    context.put("".join(f"{line}\n" for line in told))


def _above(agent: "Agent", context: "Context") -> str | None:
    """The address of whoever it reports to."""
    found = context.room().store.look().agent(agent.supervisor) if agent.supervisor else None
    return found and found.address


def _row(status: "AgentStatus", now: int, context: "Context") -> tuple[str, ...]:
    agent = status.agent
    about = agent.description
    if agent.capabilities:
        about = f"[{', '.join(agent.capabilities)}] {about}"
    if agent.manners and (resting := _resting(agent, now)):
        about = f"({resting}) {about}".rstrip()
    if status.sessions and (asked := status.sessions[0].session.details.get("asked")):
        about = f"(asked for {asked['name'] or asked['by']}) {about}".rstrip()
    waiting = f"{status.waiting} + {status.held} held" if status.held else str(status.waiting)
    return agent.address, agent.role or "–", waiting, str(status.offered), _reach(status, context), about


def _reach(status: "AgentStatus", context: "Context") -> str:
    from postroom.cli.reach import words

    first = status.sessions[0] if status.sessions else None
    return words(status.reach, status.agent.id, first, context).removesuffix(" now")


def _resting(agent: "Agent", now: int) -> str:
    """Why it is left alone now."""
    from postroom.model.manners import read, rest

    found = rest(read(agent.manners), now)
    return found.reason.value.replace("_", " ") if found else ""
