"""How an agent can be reached: what its sessions do, and what that means.

What a session does is told by its conversation, where that says when a turn ends; else by the last event
that its hooks noticed.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import config, host
from postroom.clock import wall
from postroom.errors import UnknownRuntime
from postroom.model.context import is_main
from postroom.model.ladder import Reason
from postroom.model.message import Session
from postroom.model.presence import Presence, Sight
from postroom.room.seat import is_bridged, is_live
from postroom.room.session import context
from postroom.room.stop import Stops
from postroom.room.transcript import is_interrupted, is_over
from postroom.room.trial import trial
from postroom.runtimes import load
from postroom.runtimes.contract import Kind, Runtime, Wake

if TYPE_CHECKING:
    from postroom.room.premises import Premises
    from postroom.store.contract import ReadTx

_IDLE = (Kind.START, Kind.STOP, Kind.FAILURE)
_GOES_ON = (Kind.STOP, Kind.WAKE)  # at these, what is offered makes an idle session work
_WAKING = 25_000  # milliseconds: longer than a waker goes on calling an idle session
_SEEN = {  # what a bridge calls it
    "idle": Presence.IDLE,
    "processing": Presence.BUSY,
    "stuck": Presence.BUSY,
    "asking": Presence.PERMISSION,
    "gone": Presence.GONE,
}
_WORKS = (Presence.BUSY, Presence.PERMISSION)
_FIRST = (Presence.IDLE, Presence.PERMISSION, Presence.BUSY, Presence.UNKNOWN, Presence.GONE)


class Sign(NamedTuple):
    """The last event that was noticed in a session; empty where there was none."""

    event: str = ""
    at: int = 0


def last_sign(home: str, session: Session) -> Sign:
    key = str(session.details.get("key") or "")
    try:
        with open(config.beside(home, "life", key), encoding="utf-8", errors="replace") as file:
            event = file.readline().strip()
            return Sign(event, os.fstat(file.fileno()).st_mtime_ns // 1_000_000)
    except (OSError, ValueError):
        return Sign()


def sights(room: "Premises", tx: "ReadTx", party: str) -> list[Sight]:
    """The sessions of an agent that have not ended, the one that is reached soonest first.

    A screen looks idle between two tools, too: whose hooks say that it works is not idle.
    """
    found = [_sight(room, tx, session) for session in tx.sessions(party)]
    works = any(sight.presence in _WORKS and not is_bridged(sight.session) for sight in found)

    def order(sight: Sight) -> tuple[bool, int, bool]:
        is_bridge = is_bridged(sight.session)
        only_looks_so = works and is_bridge and sight.presence is Presence.IDLE
        return only_looks_so, _FIRST.index(sight.presence), is_bridge

    return sorted(found, key=order)


def ways(room: "Premises", parties: list[str]) -> dict[str, Sight]:
    """For each of these who has a session that runs: the one that is reached soonest."""
    look, found = room.store.look(), dict[str, Sight]()
    for party in parties:
        for sight in sights(room, look, party)[:1]:
            if sight.is_live:
                found[party] = sight
    return found


def reason(room: "Premises", tx: "ReadTx", party: str, stored_at: int) -> str | None:
    """Why what is stored for an agent since then waits, if its sessions tell."""
    seen = sights(room, tx, party)
    sight = seen[0] if seen else None
    if sight is None or not sight.is_live:
        return Reason.OFFLINE.value if tx.had_session(party) else None
    if is_bridged(sight.session):
        return _by_bridge(room, party)
    why = _by_hooks(room, party, sight, stored_at)
    if why in (None, Reason.WAKING.value) and any(map(_is_live_bridge, seen)):
        return _by_bridge(room, party, stored_at) or why  # a line that would wake it may be kept out
    return why


def _is_live_bridge(sight: Sight) -> bool:
    return is_bridged(sight.session) and sight.is_live


def _by_hooks(room: "Premises", party: str, sight: Sight, stored_at: int) -> str | None:
    match sight.presence:
        case Presence.BUSY:
            return Reason.BUSY.value
        case Presence.PERMISSION:
            return Reason.APPROVAL.value
        case Presence.IDLE if stored_at <= (sight.since or 0) and _is_capped(room, sight.session):
            return Reason.STOP_CAP.value  # what comes later wakes it
        case Presence.IDLE if sight.wake and _is_waking(room, party, sight):
            return Reason.WAKING.value
        case _:
            return None


def _by_bridge(room: "Premises", party: str, since: int = 0) -> str | None:
    """What its bridge has found in the way, when it looked since then."""
    from postroom.room.glance import get  # noqa: PLC0415 - for those only

    seen = get(room.home, party)
    return seen.reason or None if seen and seen.at >= since else None


def _is_waking(room: "Premises", party: str, sight: Sight) -> bool:
    """Whether it was rung since it is idle, and not so long ago that it has come to nothing."""
    rung = room.ring.rung_at(party) // 1_000_000
    return rung >= _idle_since(sight) and wall() - rung < _WAKING


def _idle_since(sight: Sight) -> int:
    """Its last event, or where none has told that a turn was stopped, what was last said in it."""
    runtime, since = _runtime(sight.session.runtime), sight.since or 0
    point = runtime.point(sight.event) if runtime else None
    if point is not None and point.kind in _IDLE:
        return since
    return max(since, _written_at(str(sight.session.details.get("transcript") or "")))


def _written_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return 0


def _is_capped(room: "Premises", session: Session) -> bool:
    return not Stops(room.run, session).may_go_on(room.now())


def needs_call(room: "Premises", session: Session) -> bool:
    """Whether nothing but a call may show it its mail: it lives, and no hook of a turn is yet to come.

    At the end of a turn it works on for a moment, when its hooks have said all that they had to say. What
    another session with the same key did says nothing of this one.
    """
    runtime, sign = _runtime(session.runtime), last_sign(room.home, session)
    if runtime is None or not is_live(session):
        return False
    look, point = room.store.look(), runtime.point(sign.event)
    if point is None or point.kind in _IDLE or _shares_key(look, session):
        return True
    return doing(look, session, runtime, sign) is Presence.IDLE


def _shares_key(tx: "ReadTx", session: Session) -> bool:
    hosted, key = tx.sessions_hosted(session.process), session.details.get("key")
    return any(one.id != session.id and is_main(one.id) and one.details.get("key") == key for one in hosted)


def is_proven(home: str, runtime: str) -> bool:
    """Whether a canary has shown that this runtime passes on what its hooks say (`postroom doctor`)."""
    found = trial(home, runtime)
    return found is not None and found.ok and found.is_current


def _bridged(room: "Premises", session: Session) -> Sight:
    """A session that no hook tells of: what its bridge saw last."""
    from postroom.room.glance import get  # noqa: PLC0415 - for those only

    seen, runtime = get(room.home, session.agent), _runtime(str(session.details.get("runtime") or ""))
    does = _SEEN.get(seen.doing, Presence.UNKNOWN) if seen else Presence.UNKNOWN
    return Sight(
        session, does if is_live(session) else Presence.GONE, "", seen.at if seen else None,
        runtime.title if runtime else session.runtime, session.runtime if seen else "", True,
        seen.words if seen else "",
    )  # fmt: skip


def _sight(room: "Premises", tx: "ReadTx", session: Session) -> Sight:
    if is_bridged(session):
        return _bridged(room, session)
    runtime, sign = _runtime(session.runtime), last_sign(room.home, session)
    return Sight(
        session, doing(tx, session, runtime, sign), sign.event, sign.at or None,
        runtime.title if runtime else session.runtime,
        _wake(room, session, runtime) if runtime else "",
        is_proven(room.home, session.runtime) or tx.has_proven(session.agent, f"{session.id}:"),
    )  # fmt: skip


def doing(tx: "ReadTx", session: Session, runtime: Runtime | None, sign: Sign) -> Presence:
    """What a session does."""
    if not is_live(session):
        return Presence.GONE
    if runtime is None:
        return Presence.UNKNOWN
    if not is_main(session.id):
        return Presence.BUSY  # a subagent ends when it has nothing more to do
    transcript = str(session.details.get("transcript") or "")
    point, over = runtime.point(sign.event), is_over(transcript, runtime.marks)
    if over is None and ((point and point.kind in _IDLE) or is_interrupted(transcript, runtime.marks)):
        over = not _is_set_going(tx, session, runtime, sign.at)
    if over:
        return Presence.IDLE
    if point is None and over is None:
        return Presence.UNKNOWN
    return Presence.PERMISSION if point and point.kind is Kind.PERMISSION else Presence.BUSY


def _wake(room: "Premises", session: Session, runtime: Runtime) -> str:
    """How it is woken, if it was started so that it can be."""
    match runtime.wake:
        case Wake.CALL:
            from postroom.room.call import call_of  # noqa: PLC0415 - for those only

            can = room.ring.session(session.agent) == session.id and call_of(runtime, session) is not None
        case Wake.WATCH:  # what to watch is told at the start; a session may be older than our hooks
            words = host.started_with(session.process)[0] if runtime.wakes_with else [""]
            can = bool(session.details.get("started")) and runtime.wakes_with in words
        case Wake.NONE:
            can = False
    return runtime.wake.value if can else ""


def _is_set_going(tx: "ReadTx", session: Session, runtime: Runtime, at: int) -> bool:
    """Whether mail has made it go on since its last sign of life."""
    routes = {point.route for point in runtime.points if point.kind in _GOES_ON}
    where = context(session)
    return any(
        mail.delivery.context == where
        and mail.delivery.route in routes
        and (mail.delivery.offered_at or 0) >= at
        for mail in tx.offered(session.agent, session.process)
    )


def _runtime(name: str) -> Runtime | None:
    try:
        return load(name)
    except (ImportError, UnknownRuntime):
        return None
