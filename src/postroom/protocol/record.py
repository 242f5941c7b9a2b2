"""Rows as the API gives them: what `wire` says, and what a program elsewhere needs to have the same row.

`unwire` reads them back. A claim's nonce is told to nobody but who made the claim.
"""

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING

from postroom.clock import iso
from postroom.model.ids import handle
from postroom.model.ladder import Priority
from postroom.model.message import NOTHING
from postroom.protocol import wire
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.model.conversation import Attachment, Gate, Thread
    from postroom.model.manners import Manners
    from postroom.model.message import Agent, Delivery, Event, Mail, Message, Receipts, Sent
    from postroom.model.query import Hit
    from postroom.model.tally import Stats

Document = wire.Document
_PRIORITIES = {one: one.name.lower() for one in Priority}


def message(m: "Message") -> Document:
    return {**wire.message(m), "seq": m.seq}


def spelt(m: "Message") -> str:
    """`message` as JSON. Most have nothing but a body: theirs is written out, at a third of the cost."""
    if m[17:] != NOTHING:
        return encode(message(m))
    # By position: that many lookups by name would cost as much as a statement.
    seq, id, tenant, project, author, sender, role, verified, to, kind, cls, title, body, thread, at = m[:15]
    return (
        f'{{"id":"{id}","handle":"{handle(id)}","tenant":{quote(tenant)},"project":{quote(project)},'
        f'"sender":{quote(sender)},"sender_id":"{author}","sender_session":null,"sender_runtime":null,'
        f'"sender_role":{quote(role) if role is not None else "null"},"to":{quote(to)},"type":{quote(kind)},'
        f'"priority":"{_PRIORITIES[m[15]]}","subject":{quote(title)},"body":{quote(body)},'
        f'"payload":null,"metadata":null,"thread":"{thread}","reply_to":null,"correlation":null,'
        f'"requires_ack":{"true" if m[16] else "false"},"attachments":[],"class":"{cls}","not_before":null,'
        f'"expires_at":null,"key":null,"verified":"{verified}","created_at":"{iso(at)}","seq":{seq}}}'
    )


def delivery(d: "Delivery") -> Document:
    return {
        **wire.delivery(d),
        "seq": d.seq,
        "priority": d.priority.name.lower(),
        "held": d.held,
        "unproven": d.unproven,
        "due_at": iso(d.due_at),
        "handed_at": iso(d.handed_at),
    }


def mail(m: "Mail", *, claimed: bool = False) -> Document:
    """As its recipient has it; with the claim, for who has just made it."""
    document = {
        **message(m.message), "state": m.delivery.state.value, "shown_before": m.delivery.shown_before,
        "delivery": delivery(m.delivery),
    }  # fmt: skip
    return document | {"claim": m.delivery.nonce} if claimed else document


def sent(s: "Sent") -> Document:
    full = [delivery(d) for d in s.deliveries]
    document = wire.sent(s)
    document["deliveries"] = [{**told, **row} for told, row in zip(document["deliveries"], full, strict=True)]
    return document | {"message": message(s.message)}


def posted(m: "Message", deliveries: "list[Delivery]") -> Document:
    """A message, and what became of it."""
    return {**message(m), "deliveries": [delivery(d) for d in deliveries]}


def hit(h: "Hit") -> Document:
    snippet = {"field": h.snippet.field, "text": h.snippet.text, "marks": [list(m) for m in h.snippet.marks]}
    return {**posted(h.message, h.deliveries), "snippet": snippet}


def receipts(r: "Receipts") -> Document:
    document = wire.receipts(r)
    document["message"] = message(r.message)
    document["deliveries"] = [
        {**told, **delivery(d)} for told, d in zip(document["deliveries"], r.deliveries, strict=True)
    ]
    return document


def agent(a: "Agent") -> Document:
    return {**wire.agent(a), "wishes": a.manners}


def manners(m: "Manners", now: int) -> Document:
    """How it is now, and what was wished for."""
    from postroom.model.manners import written  # noqa: PLC0415 - few have any

    return {**wire.manners(m, now), "wishes": written(m)}


def thread(t: "Thread") -> Document:
    return {**wire.thread(t), "latest": message(t.latest)}


def gate(g: "Gate") -> Document:
    return {**wire.gate(g), "message": message(g.message)}


def attachment(n: int, a: "Attachment") -> Document:
    """Where its content lies on the server is nobody's business."""
    return {"n": n, "name": a.name, "media_type": a.media_type, "size": a.size, "sha256": a.sha256}


def event(e: "Event", cursor: str) -> Document:
    """What happened, and where to go on from; a claim's nonce would prove what it must not."""
    document = wire.event(e)
    if "nonce" in document["payload"]:
        document["payload"] = {key: value for key, value in document["payload"].items() if key != "nonce"}
    return document | {"cursor": cursor}


def stats(s: "Stats") -> Document:
    return {
        "since": iso(s.since),
        "messages": s.messages,
        "agents": [_times(one._asdict()) for one in s.agents],
        "pairs": [_times(one._asdict()) for one in s.pairs],
        "put": [one._asdict() for one in s.put],
        "digests": [one._asdict() for one in s.digests],
    }


def _times(document: Document) -> Document:
    """Times in milliseconds, under names that say so."""
    for key in ("ack", "answer"):
        times = document.pop(key)
        document[f"{key}_ms"] = None if times is None else times._asdict()
    return document
