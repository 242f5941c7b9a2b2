"""Manners: when somebody wants to be left alone, and until when a message waits for that.

Urgent mail, interrupts, gates, escalations and answers to one's own questions come through; all else waits.
To one that was paused by another, only interrupts do.
"""

import time
from typing import NamedTuple

from postroom.errors import InvalidValue
from postroom.model.ladder import Priority, Reason
from postroom.model.message import Json, Message

SMALL = 1000  # characters of a body that may wait for others, to be offered with them
ENDLESS = 0  # muted until that is taken back
_PRESSING = ("interrupt", "decision_gate", "escalation")
_HOUR_HINT = "Write hours as 22:00-07:00."


class Manners(NamedTuple):
    """What one agent or person wants."""

    muted: int | None = None  # until that moment; `ENDLESS`
    hours: tuple[int, int] | None = None  # every day from the first to the last minute: quiet
    zone: str = ""  # by whose clock; empty: that of the machine
    digest: float = 0.0  # seconds: small messages wait for the next multiple of it
    paused: bool = False  # by somebody else: nothing is shown to it until it is let go


class Hold(NamedTuple):
    """A message waits, until a moment (None: until it is let go), for a reason."""

    until: int | None
    reason: Reason


NONE = Manners()


def read(found: Json | None) -> Manners:
    """As it is stored; what a later version may have added counts for nothing."""
    if not found:
        return NONE
    span = found.get("hours")
    hours = (span[0], span[1]) if span else None
    digest, paused = found.get("digest", 0.0), found.get("paused", False)
    return Manners(found.get("muted"), hours, found.get("zone", ""), digest, paused)


def written(manners: Manners) -> Json | None:
    """As it is stored: only what differs from nothing."""
    found = {key: value for key, value in manners._asdict().items() if value != getattr(NONE, key)}
    return found or None


def is_pressing(message: Message) -> bool:
    """Whether it is shown even to somebody who wants to be left alone."""
    return message.priority is Priority.URGENT or message.cls == "interrupt" or message.type in _PRESSING


def rest(manners: Manners, now: int) -> Hold | None:
    """Whether somebody wants to be left alone now."""
    holds: list[Hold] = []
    if manners.paused:
        return Hold(None, Reason.PAUSED)
    if manners.muted == ENDLESS:
        return Hold(None, Reason.MUTED)
    if manners.muted is not None and manners.muted > now:
        holds.append(Hold(manners.muted, Reason.MUTED))
    if manners.hours is not None and (end := end_of_quiet(manners.hours, manners.zone, now)):
        holds.append(Hold(end, Reason.QUIET_HOURS))
    return max(holds, key=lambda hold: hold.until or 0, default=None)


def gather(message: Message, seconds: float, now: int) -> Hold | None:
    """Whether a message waits for others, to be offered with them."""
    if not seconds or len(message.body) > SMALL or message.priority < Priority.NORMAL or message.requires_ack:
        return None
    if message.attachments or message.type in ("request", "dispatch", "assign", "health_check"):
        return None
    step = max(1, int(seconds * 1000))
    return Hold(now // step * step + step, Reason.DIGEST)


def hours(text: str) -> tuple[int, int]:
    """`22:00-07:00` as minutes of the day."""
    first, dash, last = text.partition("-")
    start, end = _minute(first.strip(), text), _minute(last.strip(), text)
    if not dash or start == end:
        raise InvalidValue(f"{text!r} are no hours", hint=_HOUR_HINT, field="hours")
    return start, end


def _minute(text: str, whole: str) -> int:
    hour, _, minute = text.partition(":")
    is_number = text.isascii() and hour.isdecimal() and (minute or "0").isdecimal()
    if is_number and int(hour[:9]) < 24 and int((minute or "0")[:9]) < 60:
        return int(hour) * 60 + int(minute or 0)
    raise InvalidValue(f"{whole!r} are no hours", hint=_HOUR_HINT, field="hours")


def check_zone(zone: str) -> str:
    """A time zone this machine knows."""
    if zone:
        from zoneinfo import ZoneInfo  # noqa: PLC0415 - for who names one

        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            hint = "Name one as Europe/Berlin, or leave it out."
            raise InvalidValue(f"this machine knows no time zone {zone!r}", hint=hint, field="zone") from None
    return zone


def end_of_quiet(hours: tuple[int, int], zone: str, now: int) -> int | None:
    """When the quiet hours end, if `now` lies in them."""
    start, end = hours
    here = _local(now, zone)
    minute = here[3] * 60 + here[4]
    if not (start <= minute < end if start < end else minute >= start or minute < end):
        return None
    tomorrow = 1 if start > end and minute >= start else 0
    moment = _moment((here[0], here[1], here[2] + tomorrow, end // 60, end % 60), zone)
    return max(moment, now + 60_000 - now % 60_000)  # an hour that the clock skips may lie behind us


def _local(now: int, zone: str) -> tuple[int, int, int, int, int]:
    if zone:
        from datetime import datetime  # noqa: PLC0415
        from zoneinfo import ZoneInfo  # noqa: PLC0415

        try:
            at = datetime.fromtimestamp(now / 1000, ZoneInfo(zone))
            return at.year, at.month, at.day, at.hour, at.minute
        except (OSError, ValueError, KeyError):
            pass  # set on a machine that knew it: better by our clock than not at all
    at = time.localtime(now / 1000)
    return at.tm_year, at.tm_mon, at.tm_mday, at.tm_hour, at.tm_min


def _moment(at: tuple[int, int, int, int, int], zone: str) -> int:
    year, month, day, hour, minute = at
    if zone:
        from datetime import datetime, timedelta  # noqa: PLC0415
        from zoneinfo import ZoneInfo  # noqa: PLC0415

        try:
            then = datetime(year, month, 1, hour, minute, tzinfo=ZoneInfo(zone)) + timedelta(days=day - 1)
            return round(then.timestamp() * 1000)
        except (OSError, ValueError, KeyError):
            pass
    return round(time.mktime((year, month, day, hour, minute, 0, 0, 0, -1)) * 1000)
