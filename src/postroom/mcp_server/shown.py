"""What a model is shown of the room: short names, clean text, and nothing that it has no use for."""

from typing import TYPE_CHECKING, Any, cast

from postroom.clock import iso
from postroom.protocol.plain import clean, one_line
from postroom.room.denial import UNDECIDED
from postroom.room.gate import options

if TYPE_CHECKING:
    from postroom.model.message import Agent, AgentStatus, Mail, Message, Sent

Json = dict[str, Any]

_EXPECTED = {"request": "reply", "dispatch": "reply", "assign": "reply", "health_check": "reply"}
_GATE = "decision_gate"
_LINE = 100


def mail(m: "Mail", *, missing: int = 0, path: str | None = None) -> Json:
    """A message that was taken; `missing`: how much of its body is left out, which a file at `path` has."""
    found = message(m.message)
    if missing:
        found["body"] = found["body"][: len(m.body) - missing]
        found["missing"] = f"{missing} more characters" + (f", in {path}" if path else "")
    if m.delivery.shown_before:
        found["note"] = "may have been shown to you before"
    return found


def message(m: "Message") -> Json:
    found: Json = {
        "id": m.handle, "from": m.sender, "verified": m.verified, "to": m.to, "type": m.type,
        "at": iso(m.created_at), "subject": clean(m.subject), "body": clean(m.body),
        "thread": m.thread[-8:] if m.thread != m.id else "", "reply_to": (m.reply_to or "")[-8:],
        "priority": m.priority.name.lower() if m.priority.name != "NORMAL" else "",
        "payload": _plain(m.payload), "expects": expected(m),
        "files": [clean(str(one.get("name"))) for one in m.attachments or ()],
    }  # fmt: skip
    return {key: value for key, value in found.items() if value or key == "body"}


def _plain(value: Any) -> Any:
    """The same, with nothing hidden in any text of it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _plain(one) for key, one in cast("Json", value).items()}
    if isinstance(value, list):
        return [_plain(one) for one in cast("list[Any]", value)]
    return value


def expected(m: "Message") -> str:
    """What its sender waits for: the tool that gives it."""
    if m.type == _GATE:
        return f"reply with option: {clean(' or '.join(options(m)))}"
    return _EXPECTED.get(m.type) or ("ack" if m.requires_ack else "")


def line(m: "Mail") -> Json:
    """A message that waits, in brief."""
    found: Json = {
        "id": m.handle, "from": m.sender, "type": m.type, "at": iso(m.message.created_at),
        "subject": one_line(m.message.subject or m.body, _LINE),
        "priority": m.message.priority.name.lower() if m.message.priority.name != "NORMAL" else "",
    }  # fmt: skip
    return {key: value for key, value in found.items() if value}


def sent(s: "Sent") -> Json:
    pairs = zip(s.deliveries, s.reach, strict=True)
    found: Json = {
        "id": s.message.handle,
        "to": [{"name": d.recipient, "state": d.state.value, "reach": reachable(r)} for d, r in pairs],
    }
    note = f"{UNDECIDED}; to decide, reply with `option`" if s.note.startswith(UNDECIDED) else s.note
    return found | {"note": note} if note else found


def reachable(reach: str) -> str:
    """In words: that mail is stored tells nobody whether somebody is there."""
    return {"stored": "not listening now", "live": "listening"}.get(reach, reach)


def status(s: "AgentStatus", here: str) -> Json:
    found: Json = {
        "name": called(s.agent, here), "role": s.agent.role, "about": s.agent.description,
        "reach": reachable(s.reach), "waiting": s.waiting,
    }  # fmt: skip
    return {key: value for key, value in found.items() if value}


def called(agent: "Agent", here: str) -> str:
    """How somebody is addressed from a project."""
    return agent.name if agent.project == here and not agent.is_human else agent.address
