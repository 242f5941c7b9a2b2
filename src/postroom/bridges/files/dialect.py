"""Letters as other tools write them, in the words of ours.

They differ in what they call a field and in how they write a moment or a priority. What has no place here is
kept beside the message, so that nothing a file says is lost.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from postroom.bridges.files import letter as letters
from postroom.bridges.files.letter import Letter
from postroom.clock import iso
from postroom.errors import InvalidLetter
from postroom.model.message import Json
from postroom.room.identity import UNVERIFIED
from postroom.text import storable

_FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "message_id", "msg_id", "uuid"),
    "from": ("from", "sender", "from_agent", "author"),
    "to": ("to", "recipient", "recipients", "to_agent", "target"),
    "timestamp": ("timestamp", "created_at", "sent_at", "time", "ts", "date"),
    "type": ("type", "kind", "message_type", "msg_type"),
    "priority": ("priority",),
    "subject": ("subject", "title"),
    "body": ("body", "text", "content", "message"),
    "payload": ("payload", "data"),
    "requiresAck": ("requires_ack", "ack_required", "needs_ack"),
    "replyTo": ("reply_to", "in_reply_to", "parent_id", "reply_to_id"),
    "thread": ("thread", "thread_id", "conversation_id"),
    "correlation": ("correlation_id", "correlation"),
    "metadata": ("metadata", "meta"),
}
_PRIORITIES = {
    "critical": "urgent", "emergency": "urgent", "p0": "urgent", "p1": "high", "p2": "normal", "p3": "low",
    "info": "low", "medium": "normal", "default": "normal", "action": "high", "warning": "high",
}  # fmt: skip
_OURS = ("urgent", "high", "normal", "low")
_ACKS = {
    "ack": "ack",
    "acknowledge": "ack",
    "acknowledgement": "ack",
    "acknowledgment": "ack",
    "nack": "nack",
}
_EVERYBODY = ("*", "all", "@all", "everyone", "broadcast")
_LONGEST_LINE = 1000  # bytes of a correlation
_SECONDS = 10**11  # below, a number is a moment in seconds; above, in milliseconds


class Read(NamedTuple):
    """A letter of another tool."""

    letter: Letter  # its `to` is the first of them
    to: tuple[str, ...]  # all whom it names
    at: int | None  # when it was written, in milliseconds since the epoch
    rest: Json  # what it says besides


def read(item: Any, file: str, owner: str) -> Read:
    """A letter that lies in somebody's mailbox, in a file of that name; `InvalidLetter` if it is none."""
    if not isinstance(item, dict):
        return Read(letters.read(item), (), None, {})  # which says what it is instead
    said, rest = _translated(cast("Json", item))
    to, at = _names(said.get("to")), moment(said.get("timestamp"))
    said |= {
        "id": _word(said.get("id", file)), "from": _name(said.get("from")), "to": to[0] if to else owner,
        "timestamp": iso(at) or "", "type": _type(said.get("type", "")),
        "priority": _priority(said.get("priority")) or "normal",
        "requiresAck": _is_true(said.get("requiresAck")),
        "thread": _word(said.get("thread")), "replyTo": _word(said.get("replyTo")),
        "correlation": _word(said.get("correlation")),
    }  # fmt: skip
    return Read(letters.read(said), tuple(to), at, rest)


def found(data: bytes, name: str, owner: str) -> Letter:
    """The letter in a file of an inbox, whoever wrote it there: the room, or another program, in its own
    words. Of those the room has not verified any, whatever they say.
    """
    several = letters.items(data)
    item: Any = several[0] if several else None
    if isinstance(item, dict) and "verified" in item and letters.numbered(name) is not None:
        return letters.read(item)
    try:
        said = letters.read(item)
    except InvalidLetter:
        said = read(item, name.removesuffix(letters.SUFFIX), owner).letter
        if not said.sender:
            raise
    return (said if said.sender else read(item, name.removesuffix(letters.SUFFIX), owner).letter)._replace(
        verified=UNVERIFIED, may_be_repeat=False
    )


def names_everyone(name: str) -> bool:
    return name.lower() in _EVERYBODY


def _translated(item: Json) -> tuple[Json, Json]:
    """What we have a word for, under that; and the rest."""
    folded = {_folded(key): key for key in reversed(item)}
    said: Json = {}
    taken: set[str] = set()
    for field, words in _FIELDS.items():
        for word in words:
            key = folded.get(_folded(word))
            if key is not None and item[key] is not None and _FITS.get(field, _is_text)(item[key]):
                said[field] = item[key]
                taken.add(key)
                break
    return said, {key: value for key, value in item.items() if key not in taken and value is not None}


def _folded(key: str) -> str:
    """`replyTo`, `reply_to` and `reply-to` are one."""
    return key.replace("_", "").replace("-", "").lower()


def _name(value: Any) -> str:
    """Whoever a field names: by a text, or in an object."""
    if isinstance(value, dict):
        about = cast("Json", value)
        value = about.get("name") or about.get("id") or about.get("agent")
    return value.strip() if isinstance(value, str) else ""


def _names(value: Any) -> list[str]:
    several: Iterable[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    return list(dict.fromkeys(name for one in several if (name := _name(one))))


def _word(value: Any) -> str:
    """What something is called, be it by a number."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return str(value) if is_number or isinstance(value, str) else ""


def _line(value: Any) -> str:
    """Return a word that the room can keep as a correlation; empty if it cannot."""
    word = _word(value)
    fits = (
        storable(word) == word and word.isprintable() and len(word.encode(errors="replace")) <= _LONGEST_LINE
    )
    return word if fits else ""


def _priority(value: Any) -> str:
    word = f"p{value}" if isinstance(value, int) and not isinstance(value, bool) else value
    word = word.strip().lower() if isinstance(word, str) else ""
    word = _PRIORITIES.get(word, word)
    return word if word in _OURS else ""


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def _type(value: str) -> str:
    word = value.strip()
    return _ACKS.get(word.lower(), word)


def moment(value: Any) -> int | None:
    """A moment as any of these tools writes it, in milliseconds since the epoch; None if it is none.

    One without a zone is taken for UTC: who wrote it is not here to be asked.
    """
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).isdecimal():
            found = datetime.fromisoformat(value.strip())
            return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
        if isinstance(value, bool) or value is None:
            return None
        number = float(value)
        return round(
            datetime.fromtimestamp(number if number < _SECONDS else number / 1000, tz=UTC).timestamp() * 1000
        )
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# Whether that is what a field of ours can say; else it stays with the rest, as it is.
_FITS: dict[str, Callable[[Any], object]] = {
    "from": _name,
    "to": _names,
    "timestamp": lambda value: moment(value) is not None,
    "priority": _priority,
    "requiresAck": lambda value: isinstance(value, bool) or _is_true(value),
    "id": _word,
    "thread": _word,
    "replyTo": _word,
    "correlation": _line,
    "metadata": lambda value: isinstance(value, dict),
    "payload": lambda value: isinstance(value, (dict, str)),
}
