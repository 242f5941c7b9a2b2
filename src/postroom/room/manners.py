"""Leaving somebody alone: what is held for who is muted, has had enough, or wants several at once.

What is held stays stored, says why, and can be read by its id at any time.
"""

from typing import TYPE_CHECKING

from postroom.errors import InvalidValue
from postroom.model.ladder import Reason
from postroom.model.manners import (
    ENDLESS,
    Hold,
    Manners,
    check_zone,
    gather,
    hours,
    read,
    rest,
    written,
)
from postroom.model.message import Agent, Message
from postroom.room import directory
from postroom.room.policy import bucket
from postroom.room.probe import wish_of
from postroom.room.rate import MINUTE
from postroom.room.rest import comes_through, hold, keep_resting, release

if TYPE_CHECKING:
    from datetime import datetime

    from postroom.room.authority import Operator
    from postroom.room.local import LocalRoom
    from postroom.room.options import Wishes
    from postroom.store.contract import WriteTx

_LONGEST_DIGEST = 86_400.0  # seconds
_LONGEST_MUTE = 1e10
_ALONE = (Reason.MUTED.value, Reason.QUIET_HOURS.value, Reason.PAUSED.value)


def hold_new(room: "LocalRoom", tx: "WriteTx", message: Message, recipients: list[Agent]) -> dict[str, Hold]:
    """After something was stored: hold it for those who want to be left alone, or have had enough for now."""
    if message.not_before is not None and message.not_before > message.created_at:
        return {}  # when that comes, its recipient is asked
    holds: dict[str, Hold] = {}
    for agent in recipients:
        found = _new(room, tx, message, agent)
        if found is not None:
            holds[agent.id] = found._replace(until=hold(tx, message, agent.id, found))
    return holds


def _new(room: "LocalRoom", tx: "WriteTx", message: Message, agent: Agent) -> Hold | None:
    if (refused := wish_of(tx, message, agent.id)) is not None:
        return refused
    manners, settings = read(agent.manners), room.settings
    if comes_through(tx, message, agent.id, manners):
        return None
    found = [rest(manners, tx.now), gather(message, manners.digest or settings.digest_seconds, tx.now)]
    if most := settings.recipient_rate:
        at = bucket(room, "recipient_rate", agent.id, most, MINUTE).reserve(tx.now)
        found.append(Hold(at, Reason.RATE_LIMITED) if at > tx.now else None)
    holds = [one for one in found if one is not None]
    return max(holds, key=lambda one: float("inf") if one.until is None else one.until, default=None)


def manners(room: "LocalRoom", agent: str | None, wishes: "Wishes") -> Manners:
    """What somebody wants; with wishes, from now on, and also of what waits already."""
    if not wishes:
        look = room.store.look()
        return read(directory.caller(look, agent or room.agent, room.scope).manners)
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        return _set(room, tx, who, wishes, role="human" if who.is_human else "agent")


def pause(room: "LocalRoom", agent: Agent, by: "Operator", *, paused: bool) -> tuple[bool, int]:
    """Somebody lets an agent be shown nothing until further notice, or lets it go.

    Whether that was so already, and how many messages are held for it from now on, or were let go.
    """
    with room.write() as tx:
        who = tx.agent(agent.id) or agent
        was, before = read(who.manners).paused, _paused(tx, who.id)
        if was != paused:
            _set(room, tx, who, {"paused": paused}, role=by.role, by=by.name)
        after = _paused(tx, who.id)
        return was == paused, after if paused else before - after


def _paused(tx: "WriteTx", party: str) -> int:
    return sum(many for reason, many, _ in tx.held_counts(party) if reason == Reason.PAUSED.value)


def _set(
    room: "LocalRoom", tx: "WriteTx", who: Agent, wishes: "Wishes", *, role: str, by: str = ""
) -> Manners:
    wanted = _wished(read(who.manners), wishes, tx.now)
    if written(wanted) != who.manners:
        payload = {"manners": written(wanted)} | ({"by": by} if by else {})
        tx.append("agent.manners", who.id, payload=payload, role=role)
    _let_go(tx, who.id, wanted, wanted.digest or room.settings.digest_seconds)
    if rest(wanted, tx.now) is not None:
        _hold_waiting(room, tx, who.id)
    return wanted


def _wished(had: Manners, wishes: "Wishes", now: int) -> Manners:
    """Only what was said changes."""
    muted, span, zone, digest, paused = had
    if "mute" in wishes:
        muted = _end_of_mute(wishes["mute"], now)
    if "hours" in wishes:
        span = hours(wishes["hours"]) if wishes["hours"] else None
        zone = check_zone(wishes.get("zone", ""))
    elif "zone" in wishes:
        raise InvalidValue("a zone is that of the quiet hours", hint="Give the hours, too.", field="zone")
    if "digest" in wishes:
        digest = wishes["digest"] or 0.0
        if digest and not 1 <= digest <= _LONGEST_DIGEST:
            raise InvalidValue("a digest is made every second to every day", field="digest")
    return Manners(muted, span, zone, float(digest), wishes.get("paused", paused))


def _end_of_mute(wish: "bool | float | datetime", now: int) -> int | None:
    if isinstance(wish, bool):
        return ENDLESS if wish else None
    try:
        seconds = wish if isinstance(wish, (int, float)) else wish.timestamp() - now / 1000
    except (AttributeError, ValueError, OverflowError, OSError):
        raise InvalidValue(f"mute must be seconds or a datetime, not {wish!r}", field="mute") from None
    if not 0.001 <= seconds < _LONGEST_MUTE:
        raise InvalidValue("the end of being muted must lie in the next 300 years", field="mute")
    return now + int(seconds * 1000)


def _let_go(tx: "WriteTx", party: str, manners: Manners, digest: float) -> None:
    """Release what was held for a wish that is no more; hold the rest for as long as is wished now."""
    after = 0
    while page := tx.held(party, after):
        after = page[-1].delivery.seq
        for mail in page:
            reason = mail.delivery.reason
            if reason in _ALONE:
                wish = rest(manners, tx.now)
                if wish is None:
                    release(tx, mail)
                elif wish.until != mail.delivery.due_at or wish.reason.value != reason:
                    hold(tx, mail.message, party, wish)
            elif reason == Reason.DIGEST.value:
                wish = gather(mail.message, digest, tx.now)
                if wish is None:
                    release(tx, mail)
                elif (wish.until or 0) < (mail.delivery.due_at or 0):
                    hold(tx, mail.message, party, wish)


def _hold_waiting(room: "LocalRoom", tx: "WriteTx", party: str) -> None:
    """What waits already is left for later, too, unless a listener is just showing it.

    One that reaches may show what is held by then. It is seen, or comes back labelled, all the same.
    """
    shown, after = room.contest(tx, party), 0
    while page := tx.waiting(party, after):
        after = page[-1].delivery.seq
        for mail in page:
            if mail.delivery.seq != shown:
                keep_resting(tx, mail)
