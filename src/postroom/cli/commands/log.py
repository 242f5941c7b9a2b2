"""`postroom log`."""

from typing import TYPE_CHECKING, Any

from postroom.cli.moment import clock
from postroom.cli.output import cut, one_line
from postroom.protocol import wire
from postroom.text import width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Event, Json
    from postroom.room.local import LocalRoom

HELP = """\
Every change in the room, in order: the latest ones, and with --follow each new one as it happens. With a
name, only what concerns that agent."""
EXAMPLES = """\
  postroom log
  postroom log builder --limit 10
  postroom log --follow --json | grep delivery.dead"""

_STYLES = {
    "sent": "cyan",
    "seen": "green",
    "acked": "green",
    "dead": "red",
    "bounced": "red",
    "returned": "yellow",
}
_NAME = 16  # columns; more where the terminal has more than 80
_OF_LETTERS = ("message.sent", "delivery.withdrawn")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="an agent or a person")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what happens from now on")
    parser.add_limit(50)


def run(args: "argparse.Namespace", context: "Context") -> int:
    room = context.room()
    party = room.known(args.name).id if args.name else None
    look = room.store.look()
    cursor = look.last_cursor()
    _print(_latest(room, args.limit, party), room, context)
    if args.follow:
        _follow(room.events(follow=True, agent=args.name, after=cursor), room, context)
    return 0


def _latest(room: "LocalRoom", limit: int, party: str | None) -> "list[Event]":
    look, cursor = room.store.look(), ""
    found: list[Event] = []
    while len(found) < limit and (page := look.events_before(cursor, limit, party)):
        found += [event for event in page if not _is_unsaid(event, room)]
        cursor = look.cursor(page[-1])
    return found[:limit][::-1]


def _follow(events: "Iterable[Event]", room: "LocalRoom", context: "Context") -> None:
    for event in events:
        if not _is_unsaid(event, room):
            _print([event], room, context)


def _is_unsaid(event: "Event", room: "LocalRoom") -> bool:
    """Whether it is about a letter that the room wrote ahead: that shows when it is due, and not before."""
    if event.type not in _OF_LETTERS:
        return False
    message = event.message or room.store.look().message(event.refs["message"])
    if message is None or message.said_at == message.created_at:
        return False
    from postroom.room.denial import is_unsaid

    return event.type == "message.sent" or is_unsaid(room.store.look(), message)


def _print(events: "list[Event]", room: "LocalRoom", context: "Context") -> None:
    if context.json:
        context.put("".join(context.to_json(_document(event)) + "\n" for event in events))
    else:
        names: dict[str, str] = {}
        context.put("".join(_line(event, room, names, context) for event in events))


def _document(event: "Event") -> dict[str, Any]:
    """As the journal has it, without what would prove an attempt if an agent's conversation had it."""
    document = wire.event(event)
    document["payload"] = {key: value for key, value in document["payload"].items() if key != "nonce"}
    return document


def _line(event: "Event", room: "LocalRoom", names: dict[str, str], context: "Context") -> str:
    style, out = _STYLES.get(event.type.rpartition(".")[2], ""), context.out
    name, detail = one_line(_name(event.party, room, names)), one_line(_detail(event, room))
    handle = (event.refs.get("message") or "")[-8:]
    wide = _NAME + max(0, out.columns - 80) // 4 if out.is_terminal else max(_NAME, width(name))
    name = cut(name, wide)  # so that the columns stay where they are
    name += " " * (wide - width(name))
    cells = [clock(event.timestamp), event.type.ljust(18), name, handle.ljust(8)]
    if out.is_terminal:
        detail = cut(detail, max(1, out.columns - sum(map(width, cells)) - 2 * len(cells)))
    painted = [out.paint(cell, of) for cell, of in zip(cells, ("dim", style, "", "cyan"), strict=True)]
    return "  ".join([*painted, detail]).rstrip() + "\n"


def _name(party: str, room: "LocalRoom", names: dict[str, str]) -> str:
    if party and party not in names:
        agent = room.store.look().agent(party)
        names[party] = agent.address if agent else party
    return names.get(party, "–")


def _detail(event: "Event", room: "LocalRoom") -> str:
    payload = event.payload
    if event.type in ("message.sent", "delivery.due"):
        message = event.message or room.store.look().message(event.refs["message"])
        if message is None:
            return "(pruned)"
        from postroom.cli.letter import gist

        return f"→ {message.to}  {message.type}: {gist(message, 80)}"
    if event.type == "delivery.offered":
        return f"attempt {payload.get('n')} by {payload.get('route')}"
    if event.type in _TOLD:
        return _TOLD[event.type](payload)
    if payload.get("reason") == payload.get("outcome"):
        payload = {**payload, "reason": None}
    facts = [
        f"{key} {payload[key]}"
        for key in ("evidence", "outcome", "reason", "was", "name")
        if payload.get(key)
    ]
    return ", ".join(facts)


def _output(payload: "Json") -> str:
    """The first line that says anything."""
    lines = [line for line in str(payload.get("text")).splitlines() if line.strip()]
    more = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    return f"{lines[0].strip()}{more}" if lines else ""


def _ended(payload: "Json") -> str:
    code, again = payload.get("exit_code"), payload.get("again_in")
    how = payload.get("signal") or ("" if code is None else f"exit {code}")
    starts = "" if again is None else f"starts again in {again:.0f} s"
    return ", ".join(filter(None, (how, starts, payload.get("reason"))))


def _started(payload: "Json") -> str:
    return f"{payload.get('program')} by {payload.get('bridge')}"


def _decided(payload: "Json") -> str:
    return ": ".join(filter(None, (payload.get("option"), payload.get("note"))))


_TOLD: "dict[str, Callable[[Json], str]]" = {
    "agent.output": _output,
    "agent.ended": _ended,
    "agent.started": _started,
    "gate.decided": _decided,
    "gate.withdrawn": lambda payload: str(payload.get("note")),
}
