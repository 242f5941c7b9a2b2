"""The documents of the API as JSON Schemas, by their names. What they say is held by the tests of the API."""

from typing import Any

from postroom.protocol.asyncapi import ENVELOPE, EVENT

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
MAYBE: Json = {"type": ["string", "null"]}
NUMBER: Json = {"type": "integer"}
REAL: Json = {"type": ["number", "null"]}
YES: Json = {"type": "boolean"}
ANY: Json = {"type": ["object", "null"]}
MOMENT: Json = {"type": ["string", "null"], "format": "date-time"}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def listed(of: Json) -> Json:
    return {"type": "array", "items": of}


def document(required: dict[str, Json], **others: Json) -> Json:
    return {"type": "object", "properties": {**required, **others}, "required": list(required)}


def also(name: str, required: dict[str, Json], **others: Json) -> Json:
    return {"allOf": [ref(name), document(required, **others)]}


STATES = ["stored", "offered", "seen", "acked", "bounced", "expired", "withdrawn", "dead"]
RUNGS = ["stored", "offered", "seen", "acked"]

_TIMES = document({"times": NUMBER, "p50": NUMBER, "p95": NUMBER})
_SPREAD = {"oneOf": [_TIMES, {"type": "null"}]}
_COUNTS = {"acked": NUMBER, "requests": NUMBER, "unanswered": NUMBER, "characters": NUMBER}
_SESSION = document(
    {"id": TEXT, "runtime": MAYBE, "presence": TEXT, "event": MAYBE, "since": MOMENT, "worktree": MAYBE,
     "branch": MAYBE, "pane": MAYBE, "wake": MAYBE, "proven": YES, "bridge": MAYBE, "because": MAYBE},
)  # fmt: skip
_MANNERS = document(
    {"left_alone": YES, "until": MOMENT, "muted": YES, "hours": MAYBE, "zone": MAYBE,
     "digest_seconds": {"type": "number"}, "paused": YES},
    wishes=ANY,
)  # fmt: skip
_ATTEMPT = document(
    {"recipient_id": TEXT, "n": NUMBER, "route": TEXT, "context": TEXT, "nonce": MAYBE, "claimer": TEXT,
     "claimed_at": MOMENT, "handed_at": MOMENT, "outcome": TEXT, "evidence": MAYBE, "ended_at": MOMENT,
     "missing": NUMBER, "cause": MAYBE},
)  # fmt: skip

_DEFERRAL = document({"words": TEXT, "n": NUMBER, "limit": NUMBER, "at": MOMENT})

_NAMED = {"type": "object", "additionalProperties": TEXT}
_HEALTH: Json = {"type": "object", "additionalProperties": {"type": "string", "enum": ["running", "crashed"]}}

SHAPES: dict[str, Json] = {
    "Error": document({"error": TEXT, "message": TEXT, "hint": TEXT}),
    "Message": document({**ENVELOPE, "seq": NUMBER}, redacted=ANY),
    "Delivery": document(
        {"message": TEXT, "recipient": TEXT, "recipient_id": TEXT, "state": {"type": "string", "enum": STATES},
         "route": MAYBE, "evidence": MAYBE, "attempts": NUMBER, "reason": MAYBE, "shown_before": YES,
         "seq": NUMBER, "priority": TEXT, "held": YES, "unproven": NUMBER, "due_at": MOMENT,
         "handed_at": MOMENT},
        stored_at=MOMENT, offered_at=MOMENT, seen_at=MOMENT, acked_at=MOMENT, ended_at=MOMENT,
        held_until=MOMENT, next_attempt_at=MOMENT, reach=TEXT, session=_SESSION,
    ),
    "Mail": also("Message", {"state": TEXT, "shown_before": YES, "delivery": ref("Delivery")}, claim=MAYBE),
    "Sent": document(
        {"id": TEXT, "handle": TEXT, "thread": TEXT, "duplicate": YES, "held_back": YES, "note": MAYBE,
         "deliveries": listed(ref("Delivery")), "message": ref("Message")},
    ),
    "Posted": also("Message", {"deliveries": listed(ref("Delivery"))}, body_chars=NUMBER, snippet=document(
        {"field": TEXT, "text": TEXT, "marks": listed(listed(NUMBER))})),
    "Attempt": _ATTEMPT,
    "Receipts": document(
        {"message": ref("Message"), "deliveries": listed(also("Delivery", {"history": listed(_ATTEMPT)}, deferral=_DEFERRAL))}
    ),
    "Agent": document(
        {"id": TEXT, "tenant": TEXT, "project": MAYBE, "name": TEXT, "address": TEXT, "kind": TEXT,
         "role": TEXT, "capabilities": listed(TEXT), "description": TEXT, "supervisor": MAYBE,
         "created_at": MOMENT, "left_at": MOMENT, "wishes": ANY},
    ),
    "Status": document(
        {"id": TEXT, "project": MAYBE, "name": TEXT, "address": TEXT, "kind": TEXT, "role": TEXT,
         "capabilities": listed(TEXT), "description": TEXT, "supervisor_address": MAYBE, "waiting": NUMBER,
         "held": NUMBER, "api_error": ANY, "uncertain": NUMBER, "offered": NUMBER, "reach": TEXT,
         "listening": MAYBE, "sessions": listed(_SESSION), "why": listed(ref("Held")), "stops": YES, "told_to_stop": YES,
         "bridge": ANY, "wishes": ANY},
    ),
    "Held": document({"reason": TEXT, "messages": NUMBER, "due_at": MOMENT}),
    "Manners": _MANNERS,
    "Project": document({"name": TEXT, "root": MAYBE, "created_at": MOMENT}),
    "Topic": document(
        {"topic": TEXT, "name": TEXT, "project": TEXT, "subscribers": NUMBER, "messages": NUMBER,
         "latest_at": MOMENT},
    ),
    "Thread": document(
        {"thread": TEXT, "summary": TEXT, "participants": listed(TEXT), "messages": NUMBER, "unread": NUMBER,
         "latest": ref("Message")},
    ),
    "Gate": document(
        {"message": ref("Message"), "options": listed(TEXT), "digest": TEXT, "asked": listed(TEXT), "mine": YES,
         "expires_at": MOMENT, "decision": ANY, "withdrawn": MAYBE},
    ),
    "Attachment": document({"n": NUMBER, "name": TEXT, "media_type": TEXT, "size": NUMBER, "sha256": TEXT}),
    "Event": document({**EVENT, "cursor": TEXT}, delivery=ref("Delivery")),
    "Stats": document(
        {"since": MOMENT, "messages": NUMBER,
         "agents": listed(document({"address": TEXT, "sent": NUMBER, "received": NUMBER, **_COUNTS,
                                    "ack_ms": _SPREAD, "answer_ms": _SPREAD})),
         "pairs": listed(document({"sender": TEXT, "recipient": TEXT, "messages": NUMBER, **_COUNTS,
                                   "ack_ms": _SPREAD, "answer_ms": _SPREAD})),
         "put": listed({"type": "object"}), "digests": listed({"type": "object"})},
    ),
    "Frame": document({"text": TEXT, "mark": TEXT, "shown": listed(TEXT), "left_out": listed(TEXT), "lengths": listed(NUMBER), "missing": listed(NUMBER)}),
    "Daemon": document(  # empty where none runs
        {}, process=TEXT, edition=TEXT, since=NUMBER, agents=NUMBER, crashes=NUMBER, paused=_NAMED, instead=_NAMED,
        watchers=_HEALTH,
        watches=document({"count": NUMBER, "crashes": NUMBER}),
        trees=document({"count": NUMBER, "mailboxes": NUMBER, "trouble": _NAMED}),
    ),
    "Metrics": document(
        {"since": MOMENT, "total_messages": NUMBER, "unacknowledged": NUMBER, "avg_latency": REAL,
         "p95_latency": REAL, "inbox_sizes": {"type": "object", "additionalProperties": NUMBER},
         "watcher_health": ref("Daemon"), "messages_per_hour": listed(
             document({"hour": MOMENT, "messages": NUMBER, "seen": NUMBER, "acked": NUMBER, "failed": NUMBER})),
         "delivery_failures": {"type": "object", "additionalProperties": NUMBER}, "ack_rate": REAL,
         "routes": listed(document({"route": TEXT, "seen": NUMBER, "p50": NUMBER, "p95": NUMBER, "p99": NUMBER})),
         "totalMessages": NUMBER, "avgLatency": REAL, "p95Latency": REAL,
         "inboxSizes": {"type": "object", "additionalProperties": NUMBER}, "watcherHealth": _HEALTH},
    ),
    "Bundle": document({"mails": listed(ref("Mail")), "frame": ref("Frame")}),
}  # fmt: skip
