"""`postroom agents`."""

from typing import TYPE_CHECKING, NamedTuple

from postroom.cli.reach import DOUBT, Way, way
from postroom.errors import UnknownProject
from postroom.text import width

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent, AgentStatus, Json
    from postroom.room.local import LocalRoom

HELP = """\
Who is here, what waits for each, and how each can be reached: what its session does, by its last sign of
life (--json: which event that was, and when), or whether a program of its own is listening now. Those that a
bridge reaches are looked at now: what their screens say (--json: because), in which pane, and whether mail is
typed there, or their hooks carry it and a line wakes them. That is everybody in the room, wherever you stand
(--project); name a project to see only its agents."""
EXAMPLES = """\
  postroom agents
  postroom agents shop
  postroom agents --all --json"""

_HEAD = ("ADDRESS", "ROLE", "WAITING", "IN HAND", "REACH", "ABOUT")
_SHORT = (_HEAD[0], *_HEAD[2:5])
_LEAST = 34  # columns for how somebody is reached
_STYLES = ("bold", "", "cyan", "cyan", "green", "dim")


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
    parser.add_argument("of", metavar="PROJECT", nargs="?", help="only those of this project")
    parser.add_argument("--all", action="store_true", help="also those who have left")


def run(args: "argparse.Namespace", context: "Context") -> int:
    room = context.room()
    if args.of is not None and room.store.look().project(args.of) is None:
        raise UnknownProject(f"there is no project {args.of!r}", project=args.of)
    where, paused = _look(room, context)
    found = [each for each in room.agents(everyone=args.all) if args.of in (None, each.agent.project)]
    if context.json:
        from postroom.protocol import wire

        now = room.now()
        told = [
            {**wire.status(each, _above(each.agent, context), now), "pause": paused.get(each.agent.id)}
            for each in found
        ]
        context.put_json({"agents": told})
    elif found:
        _put([_row(status, room.now(), where, paused, context) for status in found], context)
        for status in found:
            _note_open_names(status, context)
    else:
        context.note("Nobody is here yet. Give somebody an address: postroom join NAME")
    return 0


def _look(room: "LocalRoom", context: "Context") -> tuple[dict[str, str], dict[str, str]]:
    """Have the daemon look at the agents that bridges reach; in which place each of their panes is.

    And of those that have ended and are started again, when, by their ids.
    """
    from postroom.bridges.manifest import every

    kept = [] if context.elsewhere else every(room.home)
    if not kept:
        return {}, {}
    from postroom.cli.bridged import last_seen, places
    from postroom.cli.kept import observed, pause
    from postroom.daemon.place import running

    paused: dict[str, str] = {}
    if running(room.home):
        found = observed(room.home, [one.agent for one in kept])
        paused = {agent: again for agent, one in found.items() if (again := pause(one["words"]))}
    else:
        _tell_last(last_seen(room.home, {one.agent: one.address for one in kept if _runs(one)}), context)
    return places([one.pane for one in kept if one.pane]), paused


def _tell_last(seen: str, context: "Context") -> None:
    """What those did that still run, when somebody looked."""
    if seen:
        context.note(f"No daemon runs, so nobody looks; seen last: {seen}")


def _runs(manifest: "Manifest") -> bool:
    from postroom import host

    return not host.is_gone(manifest.process)


def _put(rows: list[_Row], context: "Context") -> None:
    """A table, without the columns in which nobody has anything."""
    columns = [
        (style, column)
        for style, *column in zip(_STYLES, _HEAD, *(row.wide for row in rows), strict=True)
        if any(cell not in ("", "–") for cell in column[1:])
    ]
    wide = sum(max(map(width, column)) + 2 for _, column in columns)
    if context.out.is_terminal and wide > context.out.columns:
        _put_narrow(rows, context)
        return
    head, *body = zip(*(column for _, column in columns), strict=True)
    least = max(map(width, columns[-1][1])) if head[-1] == _HEAD[4] else 24  # how it is reached is told whole
    context.put_table(body, [style for style, _ in columns], head, least=least)


def _room_for_reach(rows: list[_Row], context: "Context") -> int:
    """Columns that the others leave to it in a narrow terminal."""
    first = zip(*((row.address, row.waiting, row.in_hand) for row in rows), strict=True)
    used = [max(map(width, (head, *cells))) + 2 for head, cells in zip(_SHORT[:3], first, strict=True)]
    return max(_LEAST, context.out.columns - sum(used))


def _put_narrow(rows: list[_Row], context: "Context") -> None:
    """What is told of each on lines of its own, below it; so is how it is reached, where that is long."""
    room = _room_for_reach(rows, context)
    is_long = [width(row.way.text) > room for row in rows]
    short = [
        (row.address, row.waiting, row.in_hand, "" if long else row.way.text)
        for row, long in zip(rows, is_long, strict=True)
    ]
    facts = [
        (row.way.text if long else "", DOUBT if row.way.is_doubted else "", row.role, row.about)
        for row, long in zip(rows, is_long, strict=True)
    ]
    below = [" · ".join(filter(None, each)) for each in facts]
    context.put_table(short, ("bold", "cyan", "cyan", "green"), _SHORT, least=_LEAST, below=below)


def _above(agent: "Agent", context: "Context") -> str | None:
    """The address of whoever it reports to."""
    found = context.room().store.look().agent(agent.supervisor) if agent.supervisor else None
    return found and found.address


def _row(
    status: "AgentStatus", now: int, where: dict[str, str], paused: dict[str, str], context: "Context"
) -> _Row:
    agent = status.agent
    about = agent.description
    if agent.capabilities:
        about = f"[{', '.join(agent.capabilities)}] {about}"
    if agent.manners and (resting := _resting(agent, now)):
        about = f"({resting}) {about}".rstrip()
    if status.refusal is not None:
        from postroom.cli.moment import clock

        about = (
            f"(its model API returns errors; next attempt at {clock(status.refusal.until)}) {about}".rstrip()
        )
    about = f"{_asked(status)} {about}".strip()
    waiting = f"{status.waiting} + {status.held} held" if status.held else str(status.waiting)
    if status.uncertain:
        waiting += f" ({status.uncertain} uncertain)"
    first = status.sessions[0] if status.sessions else None
    place = next((where[one.session.pane] for one in status.sessions if one.session.pane in where), "")
    found = way(status.reach, agent.id, first, context, place)
    if not status.sessions and agent.id in paused:
        found = Way(f"not running: {paused[agent.id]}")
    return _Row(agent.address, agent.role, waiting, str(status.offered), found, about)


def _asked(status: "AgentStatus") -> str:
    """Which name its session asked for without getting it, or which ones it may have been meant to have."""
    asked = status.sessions[0].session.details.get("asked") if status.sessions else None
    if not asked:
        return ""
    if names := _open_names(status):
        return f"(name unclear: {' or '.join(names)})"
    return "" if "names" in asked else f"(asked for {asked['name'] or asked['by']})"


def _open_names(status: "AgentStatus") -> list[str]:
    asked: Json = (status.sessions[0].session.details.get("asked") if status.sessions else None) or {}
    names: list[str] = asked.get("names", [])
    return [] if status.agent.name in names else names


def _note_open_names(status: "AgentStatus", context: "Context") -> None:
    """Say how a person settles which name is the right one."""
    if names := _open_names(status):
        context.note(
            f"{status.agent.address} may be {' or '.join(names)}: several terminals share the server of its "
            f"runtime. Settle it: postroom rename NAME --as {status.agent.address}"
        )


def _resting(agent: "Agent", now: int) -> str:
    """Why it is left alone now."""
    from postroom.model.manners import read, rest

    found = rest(read(agent.manners), now)
    return found.reason.value.replace("_", " ") if found else ""
