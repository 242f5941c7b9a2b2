"""Operations that only look."""

import os
from typing import Any

from postroom.clock import iso
from postroom.errors import InvalidValue, UnknownProject
from postroom.home import default
from postroom.model.address import parse
from postroom.model.message import Agent, AgentStatus, Json, Message
from postroom.protocol import record, wire
from postroom.protocol.operation import OBSERVE, OPERATE
from postroom.room import content, glance
from postroom.room.dead import uncertain
from postroom.room.history import concerns
from postroom.room.identity import is_of
from postroom.room.request import requests as open_requests
from postroom.room.search import browse
from postroom.server.desk import Call

_PAGE = 50


def me(call: Call) -> Json:
    who = call.who
    return {
        "agent": who.address, "id": who.agent.id if who.agent else None,
        "kind": "human" if who.agent and who.agent.is_human else "agent",
        "scopes": sorted(who.scopes), "verified": who.verified, "project": call.room.project(),
        "home": _home(call),
    }  # fmt: skip


def _home(call: Call) -> str | None:
    """Where a person's commands find this room, if they must be told, in whatever terminal they are typed.
    Paths of this machine are for those who are at it, and see to its agents.
    """
    is_told = call.who.is_near and call.who.has(OPERATE)
    return call.room.home if is_told and call.room.home != os.path.abspath(default()) else None


def projects(call: Call) -> Json:
    return {"projects": [wire.project(one) for one in call.room.projects()]}


def agents(call: Call) -> Json:
    project = call.args.get("project")
    if project is not None and call.room.store.look().project(project) is None:
        raise UnknownProject(f"there is no project {project!r}", project=project)
    call.desk.look()
    found = call.room.agents(everyone=bool(call.args.get("everyone")))
    shown = _Showing(call)
    return {"agents": [shown.status(one) for one in found if project in (None, one.agent.project)]}


def agent(call: Call) -> Json:
    wanted = call.agent().id
    call.desk.look()
    found = next(one for one in call.room.agents(everyone=True) if one.agent.id == wanted)
    return _Showing(call).status(found)


class _Showing:
    """Everybody as the page shows them: what waits and why, how each is reached, and how that is known."""

    def __init__(self, call: Call) -> None:
        self._room, self._look, self._now = call.room, call.room.store.look(), call.room.now()
        self._bridges = call.desk.bridges

    def status(self, one: AgentStatus) -> Json:
        agent = one.agent
        above = self._look.agent(agent.supervisor) if agent.supervisor else None
        held = self._look.held_counts(agent.id) if one.held else []
        seen = glance.get(self._room.home, agent.id)
        return {
            **wire.status(one, above.address if above else None, self._now),
            "wishes": agent.manners,
            "why": [_held(*row) for row in held],
            "stops": bool(one.sessions) and self._bridges.stops(agent),
            "told_to_stop": one.waiting > 0 and self._look.has_interrupt(agent.id),
            "bridge": seen and {"doing": seen.doing, "because": seen.words, "reason": seen.reason or None,
                                "at": iso(seen.at), "instead": seen.instead or None},
        }  # fmt: skip


def _held(reason: str, messages: int, due_at: int | None) -> Json:
    return {"reason": reason, "messages": messages, "due_at": iso(due_at)}


def messages(call: Call) -> Json:
    limit, args = call.get("limit", _PAGE), call.args
    if args.get("q"):
        page = search(call)
    else:
        found = browse(call.room, limit, args.get("after"), **_sieve(call))
        page = _page([record.posted(m, deliveries) for m, deliveries in found], limit, args.get("after"))
    page["messages"] = _begun(call, page["messages"])
    return page


def _begun(call: Call, messages: list[Json]) -> list[Json]:
    chars = call.args.get("chars")
    return messages if chars is None else [begun(one, chars) for one in messages]


def begun(message: Json, chars: int) -> Json:
    """The beginning of one, for a list: a body may be a megabyte."""
    body = message["body"]
    return {**message, "body": body[:chars], "payload": None, "metadata": None, "body_chars": len(body)}


def search(call: Call) -> Json:
    limit = call.get("limit", _PAGE)
    times: Any = {name: _moment(name, call.args.get(name)) for name in ("since", "until")}
    found = call.room.search(call.args["q"], limit=limit, **_sieve(call), **times)
    return _page([record.hit(hit) for hit in found], limit, None)


def _page(found: list[Json], limit: int, after: int | None) -> Json:
    if len(found) < limit or not found:
        return {"messages": found, "next": None}
    return {"messages": found, "next": found[0 if after is not None else -1]["seq"]}


def _sieve(call: Call) -> Any:
    """The filters of a list of messages; who may not observe gets none but its own."""
    args, me = call.args, call.who.agent
    names = ("sender", "to", "type", "state", "thread", "project", "before")
    wanted = {name: args[name] for name in names if args.get(name) is not None}
    if (topic := args.get("topic")) is not None:
        wanted["to"] = str(parse(f"topic:{topic.removeprefix('topic:')}"))
    if (party := args.get("with")) is not None:
        wanted["party"] = party
    if not call.who.has(OBSERVE) and me is not None:
        wanted["party"] = me.address
    return wanted


def _moment(field: str, text: str | None) -> int | None:
    """A moment in milliseconds, as it stands or as ISO writes it."""
    if text is None:
        return None
    from datetime import datetime  # noqa: PLC0415 - only who gives one

    try:
        if text.isascii() and text.isdigit() and len(text) < 16:
            return int(text)
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            raise ValueError
        return int(found.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise InvalidValue(
            f"{field} must be a moment with its zone, not {text[:40]!r}", field=field
        ) from None


def message(call: Call) -> Json:
    found = call.message()
    return record.posted(found, call.room.receipts(found.id).deliveries)


def receipts(call: Call) -> Json:
    return record.receipts(call.room.receipts(call.message().id))


def thread(call: Call) -> Json:
    """Who has a part in a conversation sees all of it."""
    found = call.room.thread(call.message().id)
    look = call.room.store.look()
    return {
        "thread": found[0].thread if found else call.args["ref"],
        "messages": [record.posted(one, look.deliveries(one.seq)) for one in found],
    }


def timeline(call: Call) -> Json:
    found = call.message()
    look = call.room.store.look()
    events = [one for d in look.deliveries(found.seq) for one in look.history(found.seq, d.recipient_id)]
    events.sort(key=lambda one: one.seq)
    later = [record.event(one, look.cursor(one)) for one in events]
    return {"message": record.message(found), "events": [_sending(call, found), *later]}


def _sending(call: Call, message: Message) -> Json:
    """The event that stored it, which is the first of its own page."""
    look = call.room.store.look()
    [event] = look.events(str(message.seq - 1), 1)
    return record.event(event._replace(message=None), look.cursor(event))


def attachments(call: Call) -> Json:
    found = call.room.attachments(call.message().id)
    return {"attachments": [record.attachment(n, one) for n, one in enumerate(found, 1)]}


def attachment(call: Call) -> tuple[str, bytes]:
    """The name under which it can do no harm, and the content."""
    message = call.message()
    found = content.pick(message, call.room.attachments(message.id), call.args["n"])
    return content.safe_name(found), content.read(found)


def peek(call: Call) -> Json:
    found = call.room.peek(call.args.get("agent"), limit=call.get("limit", _PAGE))
    return {"messages": [record.mail(one) for one in found]}


def requests(call: Call) -> Json:
    found = open_requests(call.room, call.args.get("agent"), limit=call.get("limit", _PAGE))
    look = call.room.store.look()
    return {"requests": _begun(call, [record.posted(one, look.deliveries(one.seq)) for one in found])}


def held(call: Call) -> Json:
    return {"held": [_held(*row) for row in call.room.held(call.args.get("agent"))]}


def sent(call: Call) -> Json:
    found = call.room.sent(call.args.get("agent"), limit=call.get("limit", _PAGE))
    return {"messages": [record.posted(one, deliveries) for one, deliveries in found]}


def threads(call: Call) -> Json:
    found = call.room.threads(call.args.get("agent"), limit=call.get("limit", 20))
    return {"threads": [record.thread(one) for one in found]}


def stats(call: Call) -> Json:
    return record.stats(call.room.stats(since=_moment("since", call.args.get("since"))))


def graph(call: Call) -> Json:
    found = call.room.stats(since=_moment("since", call.args.get("since")))
    edges = [
        {"sender": one.sender, "recipient": one.recipient, "messages": one.messages} for one in found.pairs
    ]
    nodes = [
        {
            "address": one.address, "kind": "human" if one.address.startswith("human:") else "agent",
            "messages": one.sent + one.received,
        }
        for one in found.agents
    ]  # fmt: skip
    return {"nodes": nodes, "edges": edges}


def events(call: Call) -> Json:
    look, me = call.room.store.look(), call.who.agent
    cursor = checked_cursor(call.args.get("after"))
    party = call.room.known(call.args["agent"]).id if call.args.get("agent") else None
    if (before := call.args.get("before")) is not None:
        until = checked_cursor("" if before == "end" else before)
        page = look.events_before(until, call.get("limit", _PAGE), party)[::-1]
        shown = [one for one in page if is_visible(call, one, me)]
        return _happenings(look, shown, look.cursor(page[0]) if page else until)
    page = look.events(cursor, call.get("limit", 500))
    shown = [one for one in page if concerns(one, party) and is_visible(call, one, me)]
    return _happenings(look, shown, look.cursor(page[-1]) if page else cursor or look.last_cursor())


def _happenings(look: Any, events: list[Any], cursor: str) -> Json:
    """Events in order, and from where to go on: forwards after the last, or backwards before the first."""
    return {"events": [record.event(one, look.cursor(one)) for one in events], "cursor": cursor}


def checked_cursor(cursor: str | None) -> str:
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidValue(f"{cursor[:40]!r} is no cursor of this room", field="after")
    return cursor or ""


def is_visible(call: Call, event: Any, me: Agent | None) -> bool:
    """Who may not observe sees what is about itself, and what becomes of what it wrote."""
    if call.who.has(OBSERVE) or me is None or concerns(event, me.id):
        return True
    seq = event.refs.get("seq")
    message = call.room.store.look().message_at(seq) if seq else None
    return message is not None and is_of(message.sender_id, me.id)


def gates(call: Call) -> Json:
    return {"gates": [record.gate(one) for one in call.room.gates() if _may_see(call, one.message)]}


def _may_see(call: Call, message: Message) -> bool:
    from postroom.errors import UnknownMessage  # noqa: PLC0415 - rarely

    try:
        return bool(call.visible(message))
    except UnknownMessage:
        return False


def gate(call: Call) -> Json:
    return record.gate(call.room.gate(call.message().id))


def groups(call: Call) -> Json:
    found = call.room.groups()
    return {"groups": {name: [record.agent(one) for one in some] for name, some in found.items()}}


def topics(call: Call) -> Json:
    return {"topics": [wire.topic(one) for one in call.room.topics()]}


def topic_history(call: Call) -> Json:
    """What was written to it, for who may observe or follows it; who follows it, for anybody."""
    name, me = call.args["name"], call.who.agent
    following = call.room.subscribers(name)
    follows = me is None or any(is_of(one.id, me.id) for one in following)
    shown = call.room.topic_history(name, limit=call.get("limit", _PAGE))
    may = follows or call.who.has(OBSERVE)
    return {
        "topic": f"topic:{name.removeprefix('topic:')}",
        "messages": [record.message(one) for one in shown] if may else [],
        "subscribers": [record.agent(one) for one in following],
    }


def subscribers(call: Call) -> Json:
    return {"subscribers": [record.agent(one) for one in call.room.subscribers(call.args["name"])]}


def dead(call: Call) -> Json:
    return {
        "dead": [record.mail(one) for one in call.room.dead()],
        "uncertain": [record.mail(one) for one in uncertain(call.room)],
    }


def may_write(call: Call) -> Json:
    args = call.args
    return {"recipients": call.room.may_write(args["sender"], args["to"], call.get("type", "note"))}


def status(call: Call) -> Json:
    from postroom import __version__  # noqa: PLC0415 - not while the package is being loaded

    look, room = call.room.store.look(), call.room
    found = room.agents()
    totals = {
        "agents": len(found),
        "projects": len(room.projects()),
        "waiting": sum(one.waiting for one in found),
        "held": sum(one.held for one in found),
        "offered": sum(one.offered for one in found),
        "uncertain": sum(one.uncertain for one in found),
        "dead": len(look.dead()),
        "gates": len(room.gates()),
    }
    return {
        "version": __version__, "room": room.home, "project": room.project(), "counts": totals,
        "daemon": call.desk.bridges.facts(), "now": iso(room.now()),
    }  # fmt: skip


def routes(call: Call) -> Json:
    return wire.routes(call.desk.room.routes, call.room.settings.routes)


def types(call: Call) -> Json:
    from postroom.protocol import registry  # noqa: PLC0415 - rarely
    from postroom.protocol.builtin import ALIASES  # noqa: PLC0415

    return {"types": list(registry.every(call.room.home)), "aliases": dict(ALIASES)}


def screen(call: Call) -> Json:
    found = call.agent()
    return {"agent": found.address, "text": call.desk.bridges.screen(found, call.get("lines", 0))}
