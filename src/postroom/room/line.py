"""One line of a journal: an event as JSON, with the message it stored, and back again without loss."""

import json
import re
from typing import Any

from postroom.model.ladder import Priority
from postroom.model.message import Event, Json, Message
from postroom.protocol import wire
from postroom.text import encode as compact

_REWIND = b'{"type":"journal.rewind",'
_EVENT = b'{"seq":'
_TEXT = rb'(?:"(?:[^"\\]|\\.)*"|null)'
_BEGINNING = rb'\{"seq":\d+,"id":%b,"tenant_id":%b,"conversation_id":%b,"agent_id":' % ((_TEXT,) * 3)
_OWNER = re.compile(_BEGINNING + rb'(?:"([^"\\]*)"|null),')
_REMOVED = b',"type":"journal.removed"}'


def encode(event: Event) -> bytes:
    """The line of an event, with its line feed. Every line begins with its seq, where it is cheap to find."""
    document = wire.event(event)
    if event.message is not None:
        document["payload"]["message"]["attachments"] = event.message.attachments  # none is not an empty list
    return compact(document).encode() + b"\n"


def removed(seq: int) -> bytes:
    """The line that stands for a message which was removed before it could be told."""
    return compact({"seq": seq, "type": "journal.removed"}).encode() + b"\n"


def is_removed(line: bytes) -> bool:
    return line.endswith(_REMOVED) and line.count(b":") == 2


def next_after(event: Event) -> int | None:
    """The number after the end of what was restored, when an event says that it was; None for other events.

    The numbers from there to the event were those of other events.
    """
    return event.payload["after"] + 1 if event.type == "room.restored" else None


def rewind(to: int, at: str | None, loss: int) -> bytes:
    """The line that takes back all lines above it, in the same journal, whose seq is greater than `to`.

    `loss` numbers what the store has lost.
    """
    return compact({"type": "journal.rewind", "to": to, "timestamp": at, "loss": loss}).encode() + b"\n"


def rewinds_to(line: bytes) -> int | None:
    """Where a rewind goes back to; None for any other line."""
    return int(json.loads(line)["to"]) if line.startswith(_REWIND) else None


def number(line: bytes) -> int:
    """The seq of an event's line; raises `ValueError` for anything else."""
    if not line.startswith(_EVENT):
        raise ValueError("not an event")
    return int(line[len(_EVENT) : line.index(b",")])


def owner(line: bytes) -> str | None:
    """The agent whose event a line tells, found without reading all of it; None where that is not quick."""
    found = _OWNER.match(line)
    return None if found is None else (found[1] or b"").decode()


def is_whole(line: bytes) -> bool:
    """Whether a line can be what was written: a lost block of a file reads as zeros."""
    return line.startswith((_EVENT, _REWIND)) and line.endswith(b"}") and b"\0" not in line


def decode(line: bytes) -> Event:
    """The event of a line; raises `ValueError`, `KeyError` or `TypeError` when it is none."""
    d: Json = json.loads(line)
    payload: Json = d["payload"]
    message = None
    if d["type"] == "message.sent":
        message = _message(d["seq"], payload.pop("message"))
    return Event(
        d["seq"], d["id"], d["tenant_id"], d["conversation_id"], d["agent_id"], d["human_id"],
        d["channel_id"], d["type"], d["role"], _required(d["timestamp"]), payload,
        d["refs"], d["status"], message,
    )  # fmt: skip


def _message(seq: int, d: Json) -> Message:
    return Message(
        seq=seq, id=d["id"], tenant=d["tenant"], project=d["project"], sender_id=d["sender_id"],
        sender=d["sender"], sender_session=d["sender_session"], sender_runtime=d["sender_runtime"],
        sender_role=d["sender_role"], verified=d["verified"], to=d["to"], type=d["type"], cls=d["class"],
        priority=Priority[d["priority"].upper()], subject=d["subject"], body=d["body"], payload=d["payload"],
        metadata=d["metadata"], thread=d["thread"], reply_to=d["reply_to"], correlation=d["correlation"],
        attachments=d["attachments"], requires_ack=d["requires_ack"],
        not_before=milliseconds(d["not_before"]), expires_at=milliseconds(d["expires_at"]),
        key=d["key"], created_at=_required(d["created_at"]),
        redacted=d.get("redacted"),
    )  # fmt: skip


def milliseconds(text: str | None) -> int | None:
    """The exact inverse of `postroom.clock.iso`."""
    if text is None:
        return None
    # `-MM-DDTHH:MM:SS.mmmZ` has twenty characters; the year is whatever stands before them.
    from calendar import timegm  # noqa: PLC0415 - who only writes does without

    year, rest = int(text[:-20]), text[-20:]
    moment = (year, int(rest[1:3]), int(rest[4:6]), int(rest[7:9]), int(rest[10:12]), int(rest[13:15]))
    return timegm(moment) * 1000 + int(rest[16:19])


def _required(text: Any) -> int:
    found = milliseconds(text)
    if found is None:
        raise ValueError("a moment is missing")
    return found
