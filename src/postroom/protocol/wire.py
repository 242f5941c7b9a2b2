"""How rows look as JSON: on the command line, on the wire and in the journal. Field names are promises."""

from typing import TYPE_CHECKING, Any

from postroom.clock import iso
from postroom.model.ladder import Outcome
from postroom.model.message import (
    Agent,
    AgentStatus,
    Attempt,
    Deferral,
    Delivery,
    Event,
    Mail,
    Message,
    Project,
    Receipts,
    Sent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postroom.model.conversation import Gate, Thread, Topic
    from postroom.model.manners import Manners
    from postroom.model.presence import Sight
    from postroom.model.refusal import Refusal
    from postroom.model.route import Route

Document = dict[str, Any]


def message(m: Message) -> Document:
    document: Document = {
        "id": m.id,
        "handle": m.handle,
        "tenant": m.tenant,
        "project": m.project,
        "sender": m.sender,
        "sender_id": m.sender_id,
        "sender_session": m.sender_session,
        "sender_runtime": m.sender_runtime,
        "sender_role": m.sender_role,
        "to": m.to,
        "type": m.type,
        "priority": m.priority.name.lower(),
        "subject": m.subject,
        "body": m.body,
        "payload": m.payload,
        "metadata": m.metadata,
        "thread": m.thread,
        "reply_to": m.reply_to,
        "correlation": m.correlation,
        "requires_ack": m.requires_ack,
        "attachments": m.attachments or [],
        "class": m.cls,
        "not_before": iso(m.not_before),
        "expires_at": iso(m.expires_at),
        "key": m.key,
        "verified": m.verified,
        "created_at": iso(m.created_at),
    }
    if m.redacted is not None:
        document["redacted"] = m.redacted
    return document


def delivery(d: Delivery, reach: str | None = None, way: "Sight | None" = None) -> Document:
    document: Document = {
        "message": d.message,
        "recipient": d.recipient,
        "recipient_id": d.recipient_id,
        "state": d.state.value,
        "route": d.route,
        "evidence": d.evidence.value if d.evidence else None,
        "attempts": d.attempts,
        "reason": d.reason,
        "shown_before": d.shown_before,
    }
    for rung in ("stored_at", "offered_at", "seen_at", "acked_at", "ended_at"):
        if (at := getattr(d, rung)) is not None:
            document[rung] = iso(at)
    if d.held:
        document["held_until"] = iso(d.due_at)
    if d.is_paused:
        document["next_attempt_at"] = iso(d.due_at)
    if reach is not None:
        document["reach"] = reach
    if way is not None:
        document["session"] = session(way)
    return document


def session(s: "Sight") -> Document:
    """What an agent's session does, and how that is known."""
    bridge = s.session.details.get("bridge")  # its session is not kept under the name of its runtime
    return {
        "id": s.session.id,
        "runtime": s.session.details.get("runtime") or None if bridge else s.session.runtime,
        "presence": s.presence.value,
        "event": s.event or None,
        "since": iso(s.since),
        "worktree": s.session.worktree,
        "branch": s.session.branch,
        "pane": s.session.pane,
        "asked": s.session.details.get("asked"),
        "wake": s.wake or None,
        "proven": s.proven,
        "bridge": bridge,
        "because": s.because or None,
    }


def attempt(a: Attempt) -> Document:
    """A try. Its nonce is what proves it, so while it is open nobody is told: it would prove itself."""
    return {
        "recipient_id": a.recipient_id,
        "n": a.n,
        "route": a.route,
        "context": a.context,
        "nonce": None if a.outcome is Outcome.OPEN else a.nonce,
        "claimer": a.claimer,
        "claimed_at": iso(a.claimed_at),
        "handed_at": iso(a.handed_at),
        "outcome": a.outcome.value,
        "evidence": a.evidence.value if a.evidence else None,
        "ended_at": iso(a.ended_at),
        "missing": a.missing,
        "cause": a.cause.value if a.cause else None,
    }


def mail(m: Mail) -> Document:
    """A message as its recipient sees it."""
    return {**message(m.message), "state": m.delivery.state.value, "shown_before": m.delivery.shown_before}


def sent(s: Sent) -> Document:
    pairs, ways = zip(s.deliveries, s.reach, strict=True), s.ways or {}
    return {
        "id": s.message.id,
        "handle": s.message.handle,
        "thread": s.message.thread,
        "duplicate": s.duplicate,
        "held_back": s.is_held_back,
        "note": s.note or None,
        "deliveries": [delivery(d, reach, ways.get(d.recipient_id)) for d, reach in pairs],
    }


def receipts(r: Receipts) -> Document:
    return {
        "message": message(r.message),
        "deliveries": [
            {
                **delivery(d),
                **_deferral(r.deferral(d.recipient_id)),
                "history": [attempt(a) for a in r.attempts if a.recipient_id == d.recipient_id],
            }
            for d in r.deliveries
        ],
    }


def _deferral(d: Deferral | None) -> Document:
    """Tell when, why and how often its recipient has refused it for now; nothing if it never has."""
    if d is None:
        return {}
    return {"deferral": {"words": d.words, "n": d.n, "limit": d.limit, "at": iso(d.at)}}


def manners(m: "Manners", now: int) -> Document:
    """How somebody wants to be left alone, and whether that is so now."""
    from postroom.model.manners import rest  # noqa: PLC0415 - few have any

    hours = "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in m.hours) if m.hours else None
    resting = rest(m, now)
    return {
        "left_alone": resting is not None,
        "until": iso(resting.until) if resting else None,
        "muted": m.muted == 0 or (m.muted or 0) > now,
        "hours": hours,
        "zone": m.zone or None,
        "digest_seconds": m.digest,
        "paused": m.paused,
    }


def agent(a: Agent) -> Document:
    return {
        "id": a.id,
        "tenant": a.tenant,
        "project": a.project or None,
        "name": a.name,
        "address": a.address,
        "kind": "human" if a.is_human else "agent",
        "role": a.role,
        "capabilities": a.capabilities,
        "description": a.description,
        "supervisor": a.supervisor,
        "created_at": iso(a.created_at),
        "left_at": iso(a.left_at),
    }


def api_error(r: "Refusal") -> Document:
    """Tell since when the API refuses an agent's requests, in which words, and when the next one is tried."""
    return {
        "reason": r.reason, "words": r.words, "since": iso(r.since), "at": iso(r.at),
        "next_attempt_at": iso(r.until), "attempts": r.tries,
    }  # fmt: skip


def status(s: AgentStatus, supervisor: str | None, now: int) -> Document:
    """Somebody, with the address of whoever stands above."""
    from postroom.model.manners import read  # noqa: PLC0415 - not on the mail path

    return {
        **agent(s.agent),
        "supervisor_address": supervisor,
        "manners": manners(read(s.agent.manners), now) if s.agent.manners else None,
        "waiting": s.waiting,
        "held": s.held,
        "api_error": api_error(s.refusal) if s.refusal else None,
        "uncertain": s.uncertain,
        "offered": s.offered,
        "reach": s.reach,
        "listening": s.listening,
        "sessions": [session(sight) for sight in s.sessions],
    }


def topic(t: "Topic") -> Document:
    return {
        "topic": t.address,
        "name": t.name,
        "project": t.project,
        "subscribers": t.subscribers,
        "messages": t.messages,
        "latest_at": iso(t.latest_at),
    }


def gate(g: "Gate") -> Document:
    decision = None if g.withdrawn else g.decision
    return {
        "message": message(g.message),
        "options": g.options,
        "digest": g.digest,
        "asked": g.asked,
        "mine": g.mine,
        "expires_at": iso(g.message.expires_at),
        "decision": decision and {"option": decision.option, "note": decision.note, "by": decision.by,
                                  "at": iso(decision.at)},
        "withdrawn": g.withdrawn or None,
    }  # fmt: skip


def thread(t: "Thread") -> Document:
    return {
        "thread": t.id,
        "summary": t.summary,
        "participants": t.participants,
        "messages": t.messages,
        "unread": t.unread,
        "latest": message(t.latest),
    }


def project(p: Project) -> Document:
    return {"name": p.name, "root": p.root or None, "created_at": iso(p.created_at)}


def routes(found: "Iterable[Route]", otherwise: str) -> Document:
    rules = [
        {
            "number": one.number,
            "rule": "allow" if one.allow else "refuse",
            "from": ", ".join(one.sender) or "*",
            "to": ", ".join(one.to) or "*",
            "type": ", ".join(one.types) or "*",
        }
        for one in found
    ]
    return {"routes": rules, "otherwise": otherwise}


def event(e: Event) -> Document:
    """The journal's form: the fields of the event, and the store's order."""
    payload = e.payload if e.message is None else {**e.payload, "message": message(e.message)}
    return {
        "seq": e.seq,
        "id": e.id,
        "tenant_id": e.tenant_id,
        "conversation_id": e.conversation_id,
        "agent_id": e.agent_id,
        "human_id": e.human_id,
        "channel_id": e.channel_id,
        "type": e.type,
        "role": e.role,
        "timestamp": iso(e.timestamp),
        "payload": payload,
        "refs": e.refs,
        "status": e.status,
    }
