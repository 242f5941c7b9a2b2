"""Policy: what may be sent, asked where it would be stored. What is refused is not stored, and says why.

Who may write to whom (routes), how much one may send and how much may wait for one. Only the room itself
writes as it must.
"""

import os
from typing import TYPE_CHECKING, Any

from postroom.clock import left
from postroom.errors import InvalidValue, MailboxFull, RateLimited, RouteClosed, UnknownType
from postroom.model.address import Kind, parse
from postroom.model.ladder import Priority
from postroom.model.route import Letter, Route, decide, read
from postroom.room import directory
from postroom.room.rate import DAY, MINUTE, Bucket

if TYPE_CHECKING:
    from postroom.model.message import Agent
    from postroom.room.directory import Lane
    from postroom.room.draft import Draft
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx

_NAMED = 3  # of several
_EIGHTH = 8
_SPANS = {"sender_rate": MINUTE, "sender_quota": DAY}
_SPAN_NAMES = {"sender_rate": "a minute", "sender_quota": "a day"}


def declared_routes(declared: list[Any], home: str) -> list[Route]:
    """The routes of a config, whose types of messages are all known."""
    routes = read(declared)
    for route in routes:
        for type in route.types:
            from postroom.protocol.registry import find  # noqa: PLC0415 - for routes that name types

            try:
                find(type, home)
            except UnknownType as exc:
                text = f"route {route.number} in the config: {exc}"
                raise InvalidValue(text, hint=exc.hint, route=route.number) from None
    return routes


def admit(room: "LocalRoom", tx: "ReadTx", lane: "Lane", wanted: "Draft") -> tuple["Lane", str]:
    """The lane on which it may go, and who had to be left out; raises what forbids it."""
    check_routes(room, tx, lane, wanted)
    if wanted.priority is Priority.URGENT or wanted.cls == "interrupt" or wanted.type == "interrupt":
        return lane, ""  # there is always space for it
    return _with_space(room, tx, lane)


def check_routes(room: "LocalRoom", tx: "ReadTx", lane: "Lane", wanted: "Draft") -> None:
    """Refuse what a route forbids, or, where the room is strict, what none allows."""
    strict = room.settings.routes == "strict"
    if not room.routes and not strict:
        return
    answered = tx.message(wanted.reply_to) if wanted.reply_to is not None else None
    if answered is not None and tx.mail(answered.seq, lane.author.id) is None:
        answered = None  # who was not written to has nothing to answer
    letter = Letter(lane.author, lane.head[1] or "", lane.to, wanted.type)
    for recipient in lane.recipients:
        answers = answered is not None and answered.sender_id == recipient.id
        allowed, route = decide(room.routes, letter, recipient, strict=strict, answers=answers)
        if not allowed:
            why = str(route) if route else "no route allows it, and routes are strict"
            raise RouteClosed(
                f"{lane.author.called} may not write {_a(wanted.type)} to {recipient.address}: {why}",
                rule=str(route or "strict"), recipient=recipient.address,
            )  # fmt: skip


def may_write(room: "LocalRoom", sender: str, to: str, type: str) -> list[str]:
    """Whom somebody would reach; raises what forbids it. Nothing is sent, and nobody is new here."""
    from postroom.protocol.registry import find  # noqa: PLC0415 - a person's question
    from postroom.room.draft import draft  # noqa: PLC0415
    from postroom.room.group import resolve  # noqa: PLC0415

    find(type, room.home)  # or there is no such type
    address = parse(to)
    with room.store.read() as tx:
        author, project = directory.known(tx, sender, room.scope), room.scope.find(tx)
        if address.kind in (Kind.AGENT, Kind.HUMAN):
            recipients = [directory.recipient(tx, address, project)]
        else:
            recipients = resolve(tx, address, author, project, type=type, is_live=room.is_live)
        lane = directory.lane(author, recipients, project, str(address))
        check_routes(room, tx, lane, draft(room.settings, to, "?")._replace(type=type))
        return [agent.address for agent in recipients]


def _with_space(room: "LocalRoom", tx: "ReadTx", lane: "Lane") -> tuple["Lane", str]:
    """Of several, those whose mailbox is not full: nobody keeps the others from getting it."""
    most = room.settings.recipient_quota
    full = [agent for agent in lane.recipients if _is_full(room, tx, agent.id, most)] if most else []
    if not full:
        return lane, ""
    if len(full) == len(lane.recipients):
        raise MailboxFull(
            f"the mailbox of {_names(full)} is full: recipient_quota is {most:,}",
            rule="recipient_quota",
            limit=most,
        )
    others = [agent for agent in lane.recipients if agent not in full]
    note = f"not stored for {_names(full)}, where the mailbox is full: recipient_quota is {most:,}"
    return lane._replace(recipients=others, ids=[agent.id for agent in others]), note


def _is_full(room: "LocalRoom", tx: "ReadTx", mailbox: str, most: int) -> bool:
    """Whether so much waits there already.

    Counting takes longer the more there is. So while there is much space, a process that goes on sending
    counts anew only when it has itself filled an eighth of that.
    """
    space = room.space.pop(mailbox, 0)
    if space == 0:
        free = most - tx.unread(mailbox, most)
        if free <= 0:
            return True
        space = free // _EIGHTH
    if space > 0:
        room.space[mailbox] = space - 1
    return False


def _names(agents: "list[Agent]") -> str:
    names = ", ".join(agent.called for agent in agents[:_NAMED])
    return names if len(agents) <= _NAMED else f"{names} and {len(agents) - _NAMED:,} others"


def draw(room: "LocalRoom", author: "Agent", now: int) -> None:
    """Count what is about to be stored; refuse who sends too much, and say when it may again."""
    limits = [
        (rule, most, bucket(room, rule, author.id, most, span))
        for rule, span in _SPANS.items()
        if (most := getattr(room.settings, rule))
    ]
    for rule, most, counted in limits:
        if wait := counted.wait(now):
            often = f"{most:,} {'message' if most == 1 else 'messages'} {_SPAN_NAMES[rule]}"
            raise RateLimited(
                f"{author.called} may send {often} ({rule}); the next in {_until(wait)}",
                rule=rule, limit=most, retry_after=wait / 1000,
            )  # fmt: skip
    for _, _, counted in limits:
        counted.draw(now)


def _a(type: str) -> str:
    return f"an {type}" if type[:1] in "aeio" else f"a {type}"


def _until(wait: int) -> str:
    """How long to wait, told rather too long than too short."""
    step = 1000 if wait < 2 * MINUTE else MINUTE
    return left(-(-wait // step) * step)


def bucket(room: "LocalRoom", rule: str, party: str, most: int, span: int) -> Bucket:
    return Bucket(os.path.join(room.home, "run", "rate", f"{rule}.{party}"), most, span)
