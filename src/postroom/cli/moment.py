"""Moments and spans, as people write them and as people read them."""

import time
from typing import TYPE_CHECKING

from postroom.clock import left as remaining
from postroom.clock import rough, wall
from postroom.errors import InvalidValue

if TYPE_CHECKING:
    from datetime import datetime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_LONGEST = 1e10  # 300 years
_SPAN_HINT = "Write a span like 90s, 10m, 2h or 1d."
_AT_HINT = "Write a moment like 2031-05-04T10:00, or a time of today like 21:47."
_HINT = "Write a span like 90s, 10m, 2h or 1d, or a moment like 2031-05-04T10:00."


def span(text: str, hint: str = _SPAN_HINT) -> float:
    """Seconds from `90s`, `1.5h`, `2d`; a bare number counts seconds."""
    number = text.strip().lower().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip().lower()[len(number) :]
    try:
        if not number.isascii() or "_" in number or unit not in (*_UNITS, ""):
            raise ValueError
        seconds = float(number) * _UNITS[unit or "s"]
    except ValueError:
        raise InvalidValue(f"{text!r} is not a span of time", hint=hint) from None
    if not 0 <= seconds < _LONGEST:
        raise InvalidValue(f"{text!r} is out of range", hint="A span lies between 0 and 300 years.")
    return seconds


def when(text: str) -> "float | datetime":
    """Seconds from now, or a moment to come, given as a date and time (local by default)."""
    at = _iso(text)
    return span(text, _HINT) if at is None else _to_come(text, at, _HINT)


def moment(text: str) -> "datetime":
    """A moment to come, given as a date and time, or as a time of today (local by default)."""
    from datetime import datetime, time

    at = None
    try:
        at = datetime.combine(datetime.now().astimezone(), time.fromisoformat(text)).astimezone()
    except ValueError:
        at = _iso(text)
    if at is None:
        raise InvalidValue(f"{text!r} is not a moment", hint=_AT_HINT)
    return _to_come(text, at, _AT_HINT)


def _to_come(text: str, at: "datetime", hint: str) -> "datetime":
    now = wall()
    if at.timestamp() * 1000 < now:
        raise InvalidValue(f"{text!r} lies in the past: it is {_date(now)} now", hint=hint)
    return at


def past(text: str) -> int:
    """Milliseconds since the epoch of a moment gone by, given as `30d` (ago) or as a date and time."""
    at = _iso(text)
    now = wall()
    moment = now - int(span(text, _HINT) * 1000) if at is None else int(at.timestamp() * 1000)
    if moment > now:
        raise InvalidValue(f"{text!r} lies in the future: it is {_date(now)} now", hint=_HINT)
    return max(0, moment)


def _iso(text: str) -> "datetime | None":
    if "-" not in text[1:] and not (len(text) == 8 and text.isdigit()):
        return None
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InvalidValue(f"{text!r} is not a moment", hint=_HINT) from None


def age(at: int) -> str:
    """How long ago: `now`, `12 s`, `5 min`, `3 h`, `2 d`."""
    span = wall() - at
    return "now" if span < 2000 else rough(span)


def ago(at: int) -> str:
    """The same as a clause: `just now`, `12 s ago`."""
    return "just now" if (text := age(at)) == "now" else f"{text} ago"


def left(at: int | None) -> str:
    """How long until a moment."""
    return "–" if at is None else remaining(at - wall())


def long(seconds: float) -> str:
    """A length of time: `340 ms`, `1.2 s`, `4 min`, `3 h`, `2 d`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 90:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    for limit, size, unit in ((5400, 60, "min"), (129600, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def clock(at: int | None) -> str:
    """The local time of day; with the date when it is not today's."""
    if at is None:
        return ""
    then, now = time.localtime(at // 1000), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M:%S", then)


def minute(at: int) -> str:
    """As `clock`, but without the seconds where there are none."""
    return clock(at).removesuffix(":00")


def _date(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at // 1000))
