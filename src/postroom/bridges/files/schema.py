"""What is in a letter and in a receipt, as JSON Schema: documented, and held to what is so by tests."""

from postroom.model.ladder import Evidence, State
from postroom.model.message import Json

_TEXT: Json = {"type": "string"}
_MOMENT: Json = {"type": "string", "format": "date-time"}


def _told(schema: Json, description: str) -> Json:
    return {**schema, "description": description}


def _or_null(schema: Json) -> Json:
    kinds: list[str] = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    nullable: Json = {**schema, "type": [*kinds, "null"]}
    return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable


_BOTH: Json = {
    "id": _told({"type": ["string", "integer"], "minLength": 1, "maxLength": 200},
        "in an outbox the writer's own, unique in its mailbox; in an inbox the room's"),
    "from": _told(_TEXT, "who wrote it; in an outbox the mailbox's own agent, or left out"),
    "to": _told(_TEXT, "an address; may be left out of an answer, which goes to who asked"),
    "timestamp": _told(_TEXT, "when it was written, like 2026-11-18T09:30:00Z"),
    "type": _told(_TEXT, "`note` if it is left out (of an answer `response`), or any other type of message; "
        "`ack` acknowledges the letter in `replyTo`, `nack` refuses it"),
    "priority": _told({"type": "string", "enum": ["low", "normal", "high", "urgent", "medium", "action"]},
        "`normal` if it is left out"),
    "payload": _told({"type": ["object", "string"]}, "what its type asks for; of a note `{\"text\": …}`, or "
        "the text itself; of a nack `{\"reason\": …}`"),
    "requiresAck": _told({"type": "boolean"}, "whether the writer wants it acknowledged, and a receipt"),
    "replyTo": _told(_TEXT, "the letter that it answers: the id that it had in the inbox, or one's own"),
    "subject": _told(_TEXT, "one line"),
    "body": _told(_TEXT, "its text, where the payload is something else; a note may have its text here "
        "or in `payload`, and if it has both this is the text"),
    "thread": _told(_TEXT, "any message of the conversation that it belongs to"),
    "metadata": _told({"type": "object"}, "what is the writer's own business"),
    "expiresAt": _told(_MOMENT, "from when on it is not delivered any more"),
}  # fmt: skip

_FOUND: Json = {
    "verified": _told(_TEXT, "how its sender was verified: `mailbox`, `session`, `token`, `unverified`, …"),
    "mayBeRepeat": _told({"type": "boolean"}, "true if it may have been shown before"),
    "attachments": _told({"type": "array", "items": {"type": "object"}}, "what came with it; the files "
        "themselves are in the room"),
}  # fmt: skip

_WRITTEN: Json = {
    "correlation": _told({"type": ["string", "integer"]}, "what it has in common with its answers, of the "
        "writer's choice; `correlationId` and `correlation_id` mean it, too. An answer has that of what it "
        "answers"),
}  # fmt: skip

LETTER: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A letter in an outbox, as an agent writes it. What is not listed here is ignored.",
    "type": "object",
    "required": ["id"],
    "properties": {
        key: schema if key == "id" else _or_null(schema) for key, schema in {**_BOTH, **_WRITTEN}.items()
    },
}

FOUND: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A letter in an inbox, as an agent finds it",
    "type": "object",
    "required": ["id", "from", "to", "timestamp", "type", "priority", "payload", "requiresAck", "replyTo"],
    "properties": {**_BOTH, "replyTo": _or_null(_BOTH["replyTo"]), **_FOUND},
}

_RUNG: Json = {
    "type": "object",
    "required": ["to", "state"],
    "properties": {
        "to": _told(_TEXT, "who gets it"),
        "state": _told({"type": "string", "enum": [state.value for state in State]}, "its rung"),
        "evidence": _told({"type": "string", "enum": [one.value for one in Evidence]}, "what proves it"),
        "reason": _told(_TEXT, "why it waits, or came to nothing"),
        "nextAttemptAt": _told(
            _MOMENT, "when connections are pushed it again, after some that did not acknowledge it"
        ),
        **{
            f"{moment}At": _told(_MOMENT, "when")
            for moment in ("stored", "offered", "seen", "acked", "ended")
        },
    },
}

RECEIPT: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A receipt: what became of a letter",
    "type": "object",
    "required": ["id", "accepted", "timestamp", "recipients"],
    "properties": {
        "id": _told(_TEXT, "the writer's own; empty if it could not be read"),
        "accepted": _told({"type": "boolean"}, "whether it is in the room; else it was set aside"),
        "message": _told(_TEXT, "the room's own id of it"),
        "timestamp": _told(_MOMENT, "when this was written"),
        "recipients": {"type": "array", "items": _RUNG},
        "note": _told(_TEXT, "what the writer should know"),
        "file": _told(_TEXT, "of one that was set aside, its name in `outbox/rejected`"),
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": _TEXT, "message": _TEXT, "hint": _TEXT},
        },
    },
}

SCHEMAS = {"letter.outbox": LETTER, "letter.inbox": FOUND, "letter.receipt": RECEIPT}
