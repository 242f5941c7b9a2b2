"""The bus as an AsyncAPI 3 document: mailboxes, the messages that may be in them, and the events."""

from typing import Any

from postroom.protocol.builtin import Definition

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_MAYBE: Json = {"type": ["string", "null"]}
_OBJECT: Json = {"type": ["object", "null"]}
_MOMENT: Json = {"type": ["string", "null"], "format": "date-time"}


def _told(schema: Json, description: str) -> Json:
    return {**schema, "description": description}


# A message as `--json` and the journal write it.
ENVELOPE: dict[str, Json] = {
    "id": _told(_TEXT, "a UUIDv7"),
    "handle": _told(_TEXT, "the last 8 digits of the id, accepted wherever an id is"),
    "tenant": _TEXT,
    "project": _TEXT,
    "sender": _told(_TEXT, "the sender's address when it wrote"),
    "sender_id": _TEXT,
    "sender_session": _MAYBE,
    "sender_runtime": _MAYBE,
    "sender_role": _MAYBE,
    "to": _told(_TEXT, "the address it was sent to"),
    "type": _told(_TEXT, "what kind of message it is"),
    "priority": {"type": "string", "enum": ["urgent", "high", "normal", "low"]},
    "subject": _TEXT,
    "body": _TEXT,
    "payload": _told(_OBJECT, "what the type says it holds"),
    "metadata": _told(_OBJECT, "for the sender's own use"),
    "thread": _told(_TEXT, "the id of the conversation's first message"),
    "reply_to": _told(_MAYBE, "the message it answers"),
    "correlation": _told(_MAYBE, "what a request and its answer have in common"),
    "requires_ack": {"type": "boolean"},
    "attachments": {"type": "array", "items": {"type": "object"}},
    "class": {"type": "string", "enum": ["turn", "tool", "interrupt"]},
    "not_before": _MOMENT,
    "expires_at": _MOMENT,
    "key": _told(_MAYBE, "sent again with the same key, it is the same message"),
    "verified": _told(_TEXT, "how the sender was verified"),
    "created_at": {"type": "string", "format": "date-time"},
}

SPECIMEN: Json = {
    "id": "019a2b3c-4d5e-7f60-8123-456789abcdef",
    "handle": "89abcdef",
    "tenant": "local",
    "project": "parser",
    "sender": "planner",
    "sender_id": "a019a2b3c4d5e7000",
    "sender_session": None,
    "sender_runtime": None,
    "sender_role": "planner",
    "to": "builder",
    "priority": "normal",
    "subject": "",
    "body": "",
    "metadata": None,
    "thread": "019a2b3c-4d5e-7f60-8123-456789abcdef",
    "reply_to": None,
    "correlation": None,
    "requires_ack": False,
    "attachments": [],
    "class": "turn",
    "not_before": None,
    "expires_at": None,
    "key": None,
    "verified": "unverified",
    "created_at": "2026-06-01T12:00:00.000Z",
}

# An event as `postroom log --json` and the journal write it.
EVENT: dict[str, Json] = {
    "seq": _told({"type": "integer"}, "the room's one order"),
    "id": _TEXT,
    "tenant_id": _TEXT,
    "conversation_id": _told(_MAYBE, "the thread"),
    "agent_id": _MAYBE,
    "human_id": _MAYBE,
    "channel_id": _MAYBE,
    "type": _told(_TEXT, "what has changed, like delivery.seen"),
    "role": {"type": "string", "enum": ["human", "agent", "tool", "system"]},
    "timestamp": {"type": "string", "format": "date-time"},
    "payload": {"type": "object"},
    "refs": {"type": "object"},
    "status": _TEXT,
}


def document(version: str, definitions: list[Definition]) -> Json:
    """The whole bus, with the types given."""
    names = [one["name"] for one in definitions]
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Postroom",
            "version": version,
            "description": "Durable mail for AI coding agents, as an agent sees it.",
            "license": {"name": "MIT"},
        },
        "defaultContentType": "application/json",
        "channels": _channels(names),
        "operations": _operations(names),
        "components": {
            "messages": {one["name"]: _message(one) for one in definitions} | {"event": _event()},
            "schemas": {
                "Envelope": _object("Envelope", "What every message has.", ENVELOPE),
                "Event": _object("Event", "One change in the room, append-only.", EVENT),
            }
            | {one["class"]: one["schema"] for one in definitions},
        },
    }


def _channels(names: list[str]) -> Json:
    return {
        "mailbox": {
            "address": "{address}",
            "title": "Mailbox",
            "description": "What waits for an agent or a person, urgent first, each with its receipts.",
            "parameters": {"address": {"description": "backend, project/backend or human:ana"}},
            "messages": {name: _ref("components", "messages", name) for name in names},
        },
        "events": {
            "address": "events",
            "title": "Events",
            "description": "Every change in the room, in order: postroom log, and the journals.",
            "messages": {"event": _ref("components", "messages", "event")},
        },
    }


def _operations(names: list[str]) -> Json:
    mail = [_ref("channels", "mailbox", "messages", name) for name in names]
    mailbox = _ref("channels", "mailbox")
    return {
        "send": {"action": "send", "channel": mailbox, "summary": "postroom send", "messages": mail},
        "read": {"action": "receive", "channel": mailbox, "summary": "postroom read", "messages": mail},
        "ask": {
            "action": "send",
            "channel": mailbox,
            "summary": "postroom ask",
            "messages": [_ref("channels", "mailbox", "messages", "request")],
            "reply": {
                "channel": mailbox,
                "messages": [_ref("channels", "mailbox", "messages", "response")],
            },
        },
        "follow": {
            "action": "receive",
            "channel": _ref("channels", "events"),
            "summary": "postroom log --follow",
            "messages": [_ref("channels", "events", "messages", "event")],
        },
    }


def _message(one: Definition) -> Json:
    payload = _ref("components", "schemas", one["class"])
    if not one["schema"].get("required"):
        payload = {"oneOf": [payload, {"type": "null"}]}
    own = {"type": "object", "properties": {"type": {"const": one["name"]}, "payload": payload}}
    return {
        "name": one["name"],
        "title": one["class"],
        "summary": one["meaning"],
        "description": f"{one['direction']}.",
        "tags": [{"name": one["group"]}],
        "correlationId": {"location": "$message.payload#/correlation"},
        "payload": {"allOf": [_ref("components", "schemas", "Envelope"), own]},
        "examples": [{"payload": {**SPECIMEN, "type": one["name"], "payload": one["example"]}}],
    }


def _event() -> Json:
    return {
        "name": "event",
        "title": "Event",
        "summary": "One change in the room.",
        "payload": _ref("components", "schemas", "Event"),
    }


def _object(title: str, description: str, properties: dict[str, Json]) -> Json:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def _ref(*path: str) -> Json:
    return {"$ref": "#/" + "/".join(path)}
