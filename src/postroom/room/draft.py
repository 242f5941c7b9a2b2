"""Checks what a caller wants to send, before any lock is taken. Nothing refused is stored."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from postroom.clock import LAST
from postroom.config import Settings
from postroom.errors import InvalidBody, InvalidPayload, InvalidValue
from postroom.model.ladder import Priority
from postroom.model.message import RAW, Json, make

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from postroom.room.options import Attachable
    from postroom.room.parcel import Parcel
else:
    Parcel = object  # a NamedTuple compiles a type that is given as text, which costs a start 7 % of its work

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

GATE, REQUEST = "decision_gate", "request"
CLASSES = ("turn", "tool", "interrupt")
FORMATS = ("plain", "markdown")
_ALIASES = {"medium": Priority.NORMAL, "action": Priority.HIGH}
_PRIORITIES = {p.name.lower(): p for p in Priority} | _ALIASES
_NEED_NOTHING = ("request", "response")  # types that need no payload, of `ask` and `reply`
_SAY_ALL = ("health_check",)  # types that say all there is to say
_DEEPEST = 64  # levels of a payload
_OURS = frozenset(("bounce", "decision", "unanswered"))  # which only the room itself says in a payload
_LONGEST_LINE = 1000
_LONGEST_TEXT = 10_000
_LONGEST_DELAY = 1e10  # seconds


class Draft(NamedTuple):
    """A message that may be sent, not yet anyone's.

    `to` to `body`, and `priority` and `requires_ack`, stand together as in `Message`: `compose` cuts slices.
    """

    to: str
    type: str
    cls: str
    subject: str
    body: str
    priority: Priority
    requires_ack: bool
    # what most messages do not have
    payload: Json | None
    metadata: Json | None
    thread: str | None
    reply_to: str | None
    correlation: str | None
    after: float | int | None  # seconds from now; as an int, a moment in milliseconds
    expires: float | int | None
    key: str | None
    parcel: Parcel | None


# The fields of a draft that most do not have, when it has none of them.
BARE = (None,) * 9
_PLAIN = (Priority.NORMAL, False, *BARE)  # of a draft that is nothing but a body


def plain(settings: Settings, to: str, body: str) -> Draft:
    """A draft with no options, as most are."""
    if not body or len(body) > settings.max_body_bytes or not body.isascii() or "\0" in body:
        return draft(settings, to, body)  # says what is wrong, or that all is well
    return make(Draft, (to, "note", "turn", "", body, *_PLAIN))


def draft(
    settings: Settings,
    to: str,
    body: str,
    *,
    type: str = "note",
    payload: Json | None = None,
    subject: str = "",
    priority: str | Priority = "normal",
    thread: str | None = None,
    reply_to: str | None = None,
    correlation: str | None = None,
    requires_ack: bool = False,
    after: "float | datetime | None" = None,
    expires: "float | datetime | None" = None,
    key: str | None = None,
    metadata: Json | None = None,
    cls: str = "turn",
    home: str = "",
    format: str | None = None,
    attachments: "Sequence[Attachable] | Parcel | None" = None,
) -> Draft:
    """A draft whose every field is sound; raises a `UsageError` that names the one that is not.

    `home` is where types are registered, beside the built-in ones. `attachments` have been taken in: they are
    a `Parcel` here.
    """
    if payload is not None:
        _check_json("payload", payload, settings)
    if type != "note" and (payload is not None or type not in _NEED_NOTHING):
        _check_type(type)
        from postroom.protocol.admission import admit  # noqa: PLC0415 - a plain note pays for no schema

        to, type, body, payload = admit(to, type, body, payload, home)
    if not body and not subject and not payload and not attachments and type not in _SAY_ALL:
        raise InvalidBody("the body is empty", hint="Write something, or give a --payload or a --subject.")
    _check_body(body, settings.max_body_bytes)
    if subject != "" or key or correlation:
        _check_line("subject", subject)
        _check_key(key or "")
        _check_line("correlation", correlation or "")
    if settings.otel == "on":
        from postroom.model.trace import current  # noqa: PLC0415 - only where that is asked for

        metadata = current(metadata)
    if format is not None:
        metadata = _marked(metadata, format)
    if metadata is not None:
        _check_json("metadata", metadata, settings)
    if cls not in CLASSES:
        raise InvalidValue(f"class must be one of {', '.join(CLASSES)}, not {cls!r}", field="class")
    begin, end = _times(after, expires, settings.gate_seconds if type == GATE else None)
    return Draft._make((
        to, type, cls, subject, body, to_priority(priority), bool(requires_ack),
        payload, metadata, thread, reply_to, correlation, begin, end, key,
        cast("Parcel | None", attachments),
    ))  # fmt: skip


def _check_body(body: str, most: int) -> None:
    size = len(body) if body.isascii() and "\0" not in body else _size("body", body)
    if size > most:
        raise InvalidBody(
            f"the body has {size:,} bytes; the limit is {most:,}",
            size=size,
            limit=most,
            hint="Put the rest in a file and send its path, or raise max_body_bytes.",
        )


def _times(
    after: "float | datetime | None", expires: "float | datetime | None", gate: float | None
) -> tuple[float | int | None, float | int | None]:
    """When it begins and when it ends; a gate ends so many seconds after it begins, if nothing is said."""
    begin = None if after is None else _time("after", after)
    end = None if expires is None else _time("expires", expires)
    if gate is not None and end is None:
        end = _end_of_gate(begin, gate)
    if end is not None:
        _check_last("expires", end)
        _check_order(begin, end)
    return begin, end


def to_priority(value: str | Priority) -> Priority:
    if isinstance(value, Priority):
        return value
    priority = _PRIORITIES.get(str(value).lower())
    if priority is None:
        raise InvalidValue(f"priority must be urgent, high, normal or low, not {value!r}", field="priority")
    return priority


def _size(field: str, text: str) -> int:
    """Its size in UTF-8; raises when it is not text that can be stored."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a program may not be checked
        raise InvalidValue(f"{field} must be text, not {type(text).__name__}", field=field)
    if "\0" in text:
        raise InvalidBody(
            f"the {field} contains a NUL character", hint="Send text; encode binary data as base64."
        )
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidBody(
            f"the {field} is not valid UTF-8", hint="Send text; encode binary data as base64."
        ) from None


def check_text(field: str, text: str) -> None:
    """Text that people write beside a message: any number of lines, but not a book."""
    if _size(field, text) > _LONGEST_TEXT:
        raise InvalidValue(f"{field} is longer than {_LONGEST_TEXT} bytes", field=field)


def _check_type(type: str) -> None:
    if not type:
        raise InvalidValue("type is empty", field="type")
    _check_line("type", type)


def _check_line(field: str, text: str) -> None:
    if _size(field, text) > _LONGEST_LINE:
        raise InvalidValue(f"{field} is longer than {_LONGEST_LINE} bytes", field=field)
    if "\n" in text or "\r" in text:
        raise InvalidValue(f"{field} must be one line", field=field)


def _check_key(key: str) -> None:
    _check_line("key", key)
    if key.startswith(RAW):
        raise InvalidValue(
            f"a key must not begin with {RAW!r}",
            field="key",
            hint="The room itself uses it. Use another key.",
        )


def _check_json(label: str, value: Any, settings: Settings) -> None:
    if not isinstance(value, dict):
        raise InvalidPayload(f"the {label} must be a JSON object", field=label)
    try:
        size = len(_encode(value).encode())
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidPayload(f"the {label} cannot be written as JSON: {exc}", field=label) from None
    if not is_shallow(value):
        raise InvalidPayload(f"the {label} is nested more than {_DEEPEST} deep", field=label)
    for key in _OURS & value.keys() if label == "payload" else ():
        raise InvalidPayload(f"payload.{key} is what the room itself writes", field=f"payload.{key}")
    if size > settings.max_payload_bytes:
        raise InvalidPayload(
            f"the {label} has {size:,} bytes; the limit is {settings.max_payload_bytes:,}", field=label
        )


def is_shallow(value: Any) -> bool:
    """Whoever reads it may do so by recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return True
    return False


def _marked(metadata: Json | None, format: str) -> Json:
    """How a body is to be read is noted among the metadata; a body without such a note is plain text."""
    if format not in FORMATS:
        raise InvalidValue(f"format must be one of {', '.join(FORMATS)}, not {format!r}", field="format")
    return (metadata or {}) | {"format": format}


def _time(field: str, value: "float | datetime") -> float | int:
    """Seconds from now as a float, or a moment as an int: which of the two it was is kept."""
    if isinstance(value, (int, float)):
        if not 0 <= value < _LONGEST_DELAY:
            raise InvalidValue(f"{field} must lie in the future, at most 300 years away", field=field)
        return float(value)
    try:
        at = round(value.timestamp() * 1000)  # a moment without a zone is local time
    except (AttributeError, ValueError, OverflowError, OSError):
        raise InvalidValue(f"{field} must be seconds or a datetime, not {value!r}", field=field) from None
    _check_last(field, at)
    return max(at, 0)


def _check_last(field: str, at: float | int) -> None:
    """A datetime of the last day may lie after the last moment: by its zone."""
    if isinstance(at, int) and at > LAST:
        raise InvalidValue(f"{field} must not lie after the year 9999, in UTC", field=field)


def _end_of_gate(begin: float | int | None, seconds: float) -> float | int:
    """Every gate ends: so long after it may be shown, by the kind of time that is given."""
    return begin + round(seconds * 1000) if isinstance(begin, int) else (begin or 0.0) + seconds


def _check_order(begin: float | int | None, end: float | int) -> None:
    """As far as it can be told before the room's clock is asked."""
    if type(begin) is type(end) or begin is None or begin == 0:
        check_span(begin or 0, end)


def check_span(begin: float | int, end: float | int) -> None:
    if end <= begin:
        raise InvalidValue("it would expire before it could be delivered", field="expires")
