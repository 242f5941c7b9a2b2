"""When a provider takes requests again, as the words of an error tell it: an absolute time, or a span.

    Claude AI usage limit reached|1795140000
    You've hit your session limit · resets 3pm (Europe/Berlin)
    You've hit your usage limit. Try again at Nov 24th, 2026 3:45 PM.
    Rate limit reached. Please try again in 1 hour 5 minutes.

What is not understood is no time: the pauses between attempts grow then.
"""

import re
from datetime import datetime, timedelta, tzinfo

_EPOCH = re.compile(r"\|(\d{10})(?!\d)")
_BEFORE = r"(?i:\bresets?|\btry again|\bretry)(?i:\s+(?:at|on|after))?:?\s+"
_ISO = re.compile(_BEFORE + r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)")
_DAY = r"(?P<month>[A-Z][a-z]{2,8})\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<year>\d{4}))?,?(?: at)? "
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[AaPp])\.?[Mm]\.?"
_ZONE = r" \((?P<zone>[A-Za-z_]+(?:/[A-Za-z_+-]+)*)\)"
_CLOCK = re.compile(f"{_BEFORE}(?:{_DAY})?{_TIME}(?:{_ZONE})?")
_UNIT = r"(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b"
_SPAN = re.compile(rf"{_BEFORE}in ((?:\d+(?:\.\d+)? ?{_UNIT},? ?(?:and )?)+)")
_PART = re.compile(r"(\d+(?:\.\d+)?) ?([dhms])")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def reset(words: str, now: int) -> int | None:
    """The moment that an error tells, in milliseconds; None: none that is understood and still to come."""
    try:
        found = _found(words[:2_000], now)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found is not None and found > now else None


def _found(words: str, now: int) -> int | None:
    if match := _EPOCH.search(words):
        return int(match[1]) * 1000
    if match := _ISO.search(words):
        return int(datetime.fromisoformat(match[1]).timestamp() * 1000)
    if match := _SPAN.search(words):
        parts = _PART.findall(match[1])
        return now + int(sum(float(number) * _SECONDS[unit] for number, unit in parts) * 1000)
    if match := _CLOCK.search(words):
        return _clock(match, now)
    return None


def _clock(match: "re.Match[str]", now: int) -> int | None:
    """A time of the day, of a day that is named or of the next 24 hours."""
    zone = _zone(match["zone"])
    here = datetime.fromtimestamp(now / 1000, zone)
    hour = int(match["hour"]) % 12 + (12 if match["half"] in "Pp" else 0)
    then = here.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if match["month"]:
        month = _MONTHS.index(match["month"][:3].lower()) + 1
        then = then.replace(year=int(match["year"] or here.year), month=month, day=int(match["day"]))
        if then < here and not match["year"]:
            then = then.replace(year=here.year + 1)
    elif then <= here:
        then += timedelta(days=1)
    return int(then.timestamp() * 1000)


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - where one is named

    try:
        return ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError(f"this machine knows no time zone {name!r}") from None
