"""Letters: the JSON in which an agent that has nothing but files reads its mail and writes its own.

`schema.py` says what is in one. Here they are read, written and named; nothing here touches a file or a room.
"""

import json
import os
import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from postroom.clock import iso
from postroom.errors import InvalidLetter, PostroomError
from postroom.model.ladder import Priority
from postroom.model.message import RAW, Delivery, Json, Mail, Message
from postroom.text import encode, storable

if TYPE_CHECKING:
    from postroom.room.options import ReplyOptions

ACK, NACK = "ack", "nack"  # types of what an agent says of a letter that it was given
SUFFIX = ".json"
_REJECTED = ".rejected"  # ends the name of a receipt that is called after a file
ABOUT = "mailbox"  # what the metadata says of what lay in an inbox
_KEY = "file:"  # before a writer's own id, as the room keeps it
_CORRELATIONS = ("correlation", "correlationId", "correlation_id")
_LONGEST_ID = 200  # characters
_MOST = 10_000  # letters in one file
_PLAIN = re.compile(r"(?!_[0-9a-f]{32}\Z)[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_NAME = re.compile(r"([0-3])-([0-9]{10,18})-([0-9a-f]{8})\.json")


class Letter(NamedTuple):
    """What one says, whoever wrote it: an agent in its outbox, or the room in an inbox."""

    id: str  # an agent's own, unique in its mailbox; in an inbox, the room's
    to: str = ""
    sender: str = ""  # `from`
    type: str = ""
    priority: str = "normal"
    subject: str = ""
    body: str = ""
    payload: Json | None = None
    metadata: Json | None = None
    thread: str | None = None
    reply_to: str | None = None
    correlation: str | None = None
    requires_ack: bool = False
    expires_at: datetime | None = None
    timestamp: str = ""
    verified: str = ""  # how its sender was; only in an inbox, as is the next
    may_be_repeat: bool = False  # whether it may have been shown before

    @property
    def text(self) -> str:
        """What it says to be read: its body, or the text in its payload."""
        return self.body or str((self.payload or {}).get("text") or "")


class Flaw(NamedTuple):
    """What is not a letter, and why."""

    id: str  # what it calls itself; empty where that cannot be told
    why: PostroomError


def items(data: bytes) -> list[Any]:
    """What a file holds: one thing, or the things of an array. `InvalidLetter` if that is no JSON."""
    try:
        found: Any = json.loads(data.decode(json.detect_encoding(data)), parse_constant=_refuse)
    except RecursionError:
        raise InvalidLetter("it is nested too deep") from None
    except ValueError as exc:
        raise InvalidLetter(f"it is no JSON: {exc}"[:300]) from None
    if not isinstance(found, list):
        return [found]
    several = cast("list[Any]", found)
    if len(several) > _MOST:
        raise InvalidLetter(f"it holds {len(several):,} letters; at most {_MOST:,} may be in a file")
    return several


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is none of its numbers")


def letters(data: bytes) -> list[Letter | Flaw]:
    """Every letter in a file, each for itself: one that is none keeps no other from being read."""
    return [_letter_or_flaw(item) for item in items(data)]


def _letter_or_flaw(item: Any) -> Letter | Flaw:
    try:
        return read(item)
    except InvalidLetter as exc:
        return Flaw(_id_of(item), exc)


def _id_of(item: Any) -> str:
    try:
        return _id(cast("Json", item)) if isinstance(item, dict) else ""
    except InvalidLetter:
        return ""


def read(item: Any) -> Letter:
    """A letter from its JSON; `InvalidLetter` names the field that is not as it should be."""
    if not isinstance(item, dict):
        raise InvalidLetter(f"a letter is a JSON object, not {_kind(item)}")
    said = {key: value for key, value in cast("Json", item).items() if value is not None}
    payload, body = _content(said)
    letter = Letter(
        id=_id(said), to=_text(said, "to"), sender=_text(said, "from"), type=_text(said, "type"),
        priority=_text(said, "priority") or "normal", subject=_text(said, "subject"), body=body,
        payload=payload, metadata=_object(said, "metadata"), thread=_text(said, "thread") or None,
        reply_to=_text(said, "replyTo") or None, correlation=_correlation(said),
        requires_ack=_flag(said, "requiresAck"),
        expires_at=_moment(said, "expiresAt"), timestamp=_text(said, "timestamp"),
        verified=_text(said, "verified"), may_be_repeat=_flag(said, "mayBeRepeat"),
    )  # fmt: skip
    if letter.type in (ACK, NACK) and not letter.reply_to:
        raise InvalidLetter(f"type {letter.type} needs replyTo: a letter in the inbox", field="replyTo")
    if not letter.to and not letter.reply_to:
        raise InvalidLetter("it needs `to`, or replyTo", field="to")
    return letter


def _kind(value: Any) -> str:
    names = {str: "text", list: "an array", bool: "true or false", dict: "an object"}
    return "null" if value is None else names.get(cast("type[Any]", type(value)), "a number")


def _id(said: Json) -> str:
    found = said.get("id")
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 1 << 63:
        found = str(found)
    if not isinstance(found, str) or not found:
        raise InvalidLetter("it needs an id of its own, text or a whole number", field="id")
    if len(found) > _LONGEST_ID or not found.isprintable():
        raise InvalidLetter(f"an id has at most {_LONGEST_ID} characters, which all show", field="id")
    return found


def _text(said: Json, field: str) -> str:
    found = said.get(field, "")
    if not isinstance(found, str):
        raise InvalidLetter(f"{field} must be text, not {_kind(found)}", field=field)
    if storable(found) != found:
        raise InvalidLetter(f"{field} has half a character, which nothing can hold", field=field)
    return found


def _correlation(said: Json) -> str | None:
    """Return what it has in common with its answers, under any of the usual names; a number as text."""
    for field in _CORRELATIONS:
        if field in said:
            found = said[field]
            is_number = isinstance(found, int) and not isinstance(found, bool) and abs(found) < 1 << 63
            return str(found) if is_number else _text(said, field) or None
    return None


def _flag(said: Json, field: str) -> bool:
    found = said.get(field, False)
    if not isinstance(found, bool):
        raise InvalidLetter(f"{field} must be true or false, not {_kind(found)}", field=field)
    return found


def _object(said: Json, field: str) -> Json | None:
    found = said.get(field)
    if found is not None and not isinstance(found, dict):
        raise InvalidLetter(f"{field} must be an object, not {_kind(found)}", field=field)
    return cast("Json | None", found)


def _moment(said: Json, field: str) -> datetime | None:
    if not (found := _text(said, field)):
        return None
    try:
        moment = datetime.fromisoformat(found)
    except ValueError:
        raise InvalidLetter(f"{field} must be a moment like 2026-11-18T09:30:00Z", field=field) from None
    if moment.tzinfo is None:
        raise InvalidLetter(f"{field} has no zone; write it like 2026-11-18T09:30:00Z", field=field)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # by its zone
        raise InvalidLetter(f"{field} must lie in the years 1 to 9999, in UTC", field=field) from None


def _content(said: Json) -> tuple[Json | None, str]:
    """The payload, and what of a letter is its text: `body`, a payload that is text, or a note's `text`."""
    body = _text(said, "body")
    if isinstance(said.get("payload"), str):
        return None, body or said["payload"]
    payload = _object(said, "payload")
    if payload and not body and said.get("type", "note") in ("note", "custom", "broadcast"):
        text = payload.get("text")
        if isinstance(text, str):
            return {key: value for key, value in payload.items() if key != "text"} or None, text
    return payload, body


def options(letter: Letter, otherwise: str = "note") -> "ReplyOptions":
    """What is said about a letter when it is sent; `otherwise`: its type, where it does not say."""
    return {
        "type": letter.type or otherwise, "priority": letter.priority, "subject": letter.subject,
        "payload": letter.payload, "metadata": letter.metadata, "requires_ack": letter.requires_ack,
        "expires": letter.expires_at, "key": key(letter.id),
    }  # fmt: skip


def reason(letter: Letter) -> str:
    """Why a letter of type `nack` refuses another."""
    return str((letter.payload or {}).get("reason") or letter.body or "no reason was given")


# what an agent finds in its inbox


def written(mail: Mail, sender: str, reply_to: str | None) -> bytes:
    """A letter of the room. `sender`: as its reader has to write back; `reply_to`: as its reader knows it."""
    message = mail.message
    payload = message.payload if message.payload is not None else {"text": message.body}
    document: Json = {
        "id": message.id, "from": sender, "to": message.to, "timestamp": iso(message.said_at),
        "type": message.type, "priority": message.priority.name.lower(), "payload": payload,
        "requiresAck": message.requires_ack, "replyTo": reply_to, "thread": message.thread,
        "verified": message.verified,
    }  # fmt: skip
    more: Json = {
        "subject": message.subject, "body": message.body, "metadata": message.metadata,
        "expiresAt": iso(message.expires_at), "mayBeRepeat": mail.shown_before,
        "attachments": [_enclosed(each) for each in message.attachments or ()],
    }  # fmt: skip
    return _encoded(document | {key: value for key, value in more.items() if value})


def _enclosed(attachment: Json) -> Json:
    return {key: attachment[key] for key in ("name", "type", "size", "sha256") if key in attachment}


def _encoded(document: Json) -> bytes:
    """A field a line: people and shell scripts read it, too."""
    lines = ",\n".join([f' "{key}": {encode(value)}' for key, value in document.items()])
    return f"{{\n{lines}\n}}\n".encode(errors="backslashreplace")


def inbox_name(message: Message) -> str:
    """Names sort as letters are to be read: the urgent ones first, then as they were sent."""
    return f"{message.priority.value}-{message.seq:010d}-{message.handle}{SUFFIX}"


def names(message: Message) -> tuple[str, ...]:
    """All names under which it may lie in an inbox: one that was written straight into it had another."""
    usual = inbox_name(message)
    if not is_raw(message):
        return (usual,)
    about: Any = (message.metadata or {}).get(ABOUT)
    file = cast("Json", about).get("file") if isinstance(about, dict) else None
    return (usual, file) if isinstance(file, str) and _is_file(file) else (usual,)


def _is_file(name: str) -> bool:
    """Tell whether another program's letter can have that name: no path, and no name that the room gives."""
    is_plain = name[:1] not in ("", ".") and not any(one in name for one in ("/", os.sep, "\0"))
    return is_plain and name.endswith(SUFFIX) and numbered(name) is None


def is_raw(message: Message) -> bool:
    """Whether somebody wrote it straight into an inbox."""
    return message.key is not None and message.key.startswith(RAW)


def raw_key(reader: str, id: str) -> str:
    """The id that its writer gave a letter which lay in the inbox of an agent, as a key of its messages."""
    return f"{RAW}{reader}:{id}"


def numbered(name: str) -> int | None:
    """The number of the message that such a name is of; None: it is no such name."""
    found = _NAME.fullmatch(name)
    return int(found[2]) if found else None


# what the room says of letters that it was given


def key(id: str) -> str:
    """A writer's own id, as an idempotency key of its messages."""
    return _KEY + id


def own_id(message: Message) -> str | None:
    """The id that its writer gave a message which came out of a mailbox."""
    return message.key.removeprefix(_KEY) if message.key and message.key.startswith(_KEY) else None


def receipt_name(id: str) -> str:
    """The file that tells what became of a letter: named by its id, or by a hash of one that is no name."""
    return _plain(id, not id.endswith(_REJECTED)) + SUFFIX


def rejected_name(file: str) -> str:
    """The receipt of a file whose letter has no id of its own. That of an id is never called so."""
    return f"{_plain(file.removesuffix(SUFFIX))}{_REJECTED}{SUFFIX}"


def _plain(text: str, is_free: bool = True) -> str:
    if is_free and _PLAIN.fullmatch(text):
        return text
    return f"_{sha256(text.encode(errors='backslashreplace')).hexdigest()[:32]}"


def receipt(id: str, message: Message, deliveries: list[Delivery], now: int, note: str = "") -> bytes:
    """What became of a letter that is in the room, for each who gets it."""
    document: Json = {
        "id": id, "accepted": True, "message": message.id, "timestamp": iso(now),
        "recipients": [_rung(delivery) for delivery in deliveries],
    }  # fmt: skip
    return _encoded(document | ({"note": note} if note else {}))


def _rung(delivery: Delivery) -> Json:
    document: Json = {"to": delivery.recipient, "state": delivery.state.value}
    if delivery.evidence:
        document["evidence"] = delivery.evidence.value
    if delivery.reason:
        document["reason"] = delivery.reason
    if delivery.is_paused:
        document["nextAttemptAt"] = iso(delivery.due_at)
    for moment in ("stored_at", "offered_at", "seen_at", "acked_at", "ended_at"):
        if (at := getattr(delivery, moment)) is not None:
            document[moment.removesuffix("_at") + "At"] = iso(at)
    return document


def refusal(id: str, file: str, why: PostroomError, now: int) -> bytes:
    """What was set aside, and why."""
    error: Json = {"code": why.code, "message": str(why)} | ({"hint": why.hint} if why.hint else {})
    return _encoded({
        "id": id, "accepted": False, "file": file, "timestamp": iso(now), "error": error, "recipients": [],
    })  # fmt: skip


def is_same(letter: Letter, message: Message) -> bool:
    """Whether what the room has under a letter's id is that letter. (What it says was compared before.)"""
    if message.redacted is not None:
        return True  # what it was like cannot be told any more
    return (
        (message.subject, message.requires_ack) == (letter.subject, letter.requires_ack)
        and (message.metadata or {}) == (letter.metadata or {})
        and message.priority is Priority.__members__.get(letter.priority.upper(), message.priority)
        and _is_as_long(letter, message)
    )


def _is_as_long(letter: Letter, message: Message) -> bool:
    """A gate expires, whether or not its letter says when."""
    if letter.expires_at is None:
        from postroom.room.draft import GATE  # noqa: PLC0415 - only for a letter that came twice

        return message.expires_at is None or message.type == GATE
    return message.expires_at == round(letter.expires_at.timestamp() * 1000)
