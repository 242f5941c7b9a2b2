"""Time, in integer milliseconds since the epoch. A store is given its clock, so tests own it."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
LAST = 253_402_300_799_999  # the end of the year 9999: nothing reads a later moment

_spelt: dict[int, str] = {}  # seconds as they are written: what is told at once is of the same few
_MOST_SPELT = 64


def wall() -> int:
    """Milliseconds since the epoch. May jump either way; order never rests on it."""
    return time.time_ns() // 1_000_000


def iso(at: int | None) -> str | None:
    """`2026-11-15T21:47:03.123Z`, or None for a moment that has not come."""
    if at is None:
        return None
    seconds, ms = divmod(min(at, LAST), 1000)
    return f"{_spelt.get(seconds) or _spell(seconds)}.{ms:03}Z"


def _spell(seconds: int) -> str:
    y, mo, d, h, mi, s, *_ = time.gmtime(seconds)
    text = f"{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}"
    if len(_spelt) >= _MOST_SPELT:
        _spelt.clear()
    _spelt[seconds] = text
    return text


def left(span: int) -> str:
    """A length of time to come, in milliseconds, never told longer than it is: `12 min`, `1 h 59 min`."""
    minutes, seconds = divmod(max(0, span) // 1000, 60)
    if minutes < 2:
        return f"{minutes * 60 + seconds} s"
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 36:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def rough(span: int) -> str:
    """A length of time, in milliseconds, as people say it: `12 s`, `5 min`, `3 h`, `2 d`."""
    seconds = max(0, span) // 1000
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min"), (129600, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86400} d"
