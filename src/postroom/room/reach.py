"""How an agent can be reached: what its sessions do, by their last signs of life, and what that means."""

import os
from typing import TYPE_CHECKING

from postroom import config, host
from postroom.errors import UnknownRuntime
from postroom.model.ladder import Reason
from postroom.model.message import Session
from postroom.model.presence import Presence, Sight
from postroom.room.session import MAIN, context
from postroom.room.stop import Stops
from postroom.room.trial import trial
from postroom.runtimes import load
from postroom.runtimes.contract import Kind, Runtime

if TYPE_CHECKING:
    from postroom.room.premises import Premises
    from postroom.store.contract import ReadTx

_IDLE = (Kind.START, Kind.STOP)
_GOES_ON = (Kind.STOP, Kind.WAKE)  # at these, what is offered makes an idle session work
_FIRST = (Presence.IDLE, Presence.PERMISSION, Presence.BUSY, Presence.UNKNOWN, Presence.GONE)


def last_sign(home: str, key: str) -> tuple[str, int]:
    """The last event in a session, and when; nothing where it left no sign."""
    try:
        with open(config.beside(home, "life", key), encoding="utf-8", errors="replace") as file:
            event = file.readline().strip()
            return event, os.fstat(file.fileno()).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return "", 0


def sights(room: "Premises", tx: "ReadTx", party: str) -> list[Sight]:
    """The sessions of an agent that have not ended, the one that is reached soonest first."""
    found = [_sight(room, tx, session) for session in tx.sessions(party)]
    return sorted(found, key=lambda sight: _FIRST.index(sight.presence))


def ways(room: "Premises", parties: list[str]) -> dict[str, Sight]:
    """For each of these who has a session that runs: the one that is reached soonest."""
    look, found = room.store.look(), dict[str, Sight]()
    for party in parties:
        for sight in sights(room, look, party)[:1]:
            if sight.is_live:
                found[party] = sight
    return found


def reason(room: "Premises", tx: "ReadTx", party: str) -> Reason | None:
    """Why what is stored for an agent waits, if its sessions tell."""
    seen = sights(room, tx, party)
    sight = seen[0] if seen else None
    if sight is None or not sight.is_live:
        return Reason.OFFLINE if tx.had_session(party) else None
    match sight.presence:
        case Presence.BUSY:
            return Reason.BUSY
        case Presence.PERMISSION:
            return Reason.APPROVAL
        case Presence.IDLE if not Stops(room.run, sight.session.id).may_go_on(room.now()):
            return Reason.STOP_CAP
        case Presence.IDLE if sight.wake:
            return Reason.WAKING
        case _:
            return None


def is_proven(home: str, runtime: str) -> bool:
    """Whether a canary has shown that this runtime passes on what its hooks say (`postroom doctor`)."""
    found = trial(home, runtime)
    return found is not None and found.ok and found.is_current


def _sight(room: "Premises", tx: "ReadTx", session: Session) -> Sight:
    runtime = _runtime(session.runtime)
    event, at = last_sign(room.home, str(session.details.get("key") or ""))
    presence = Presence.GONE
    if not host.is_gone(session.process):
        presence = _presence(tx, session, runtime, event, at)
    return Sight(
        session, presence, event, at or None, runtime.title if runtime else session.runtime,
        runtime.wake.value if runtime else "",
        is_proven(room.home, session.runtime) or tx.has_proven(session.agent, f"{session.id}:"),
    )  # fmt: skip


def _presence(tx: "ReadTx", session: Session, runtime: Runtime | None, event: str, at: int) -> Presence:
    if runtime is None:
        return Presence.UNKNOWN
    if not session.id.endswith(f":{MAIN}"):
        return Presence.BUSY  # a subagent ends when it has nothing more to do
    point = runtime.point(event)
    if point is None:
        return Presence.UNKNOWN
    if point.kind is Kind.PERMISSION:
        return Presence.PERMISSION
    if point.kind not in _IDLE or is_set_going(tx, session, runtime, at):
        return Presence.BUSY
    return Presence.IDLE


def is_set_going(tx: "ReadTx", session: Session, runtime: Runtime, at: int) -> bool:
    """Whether mail has made it go on since its last sign of life."""
    routes = {f"hook:{point.event}" for point in runtime.points if point.kind in _GOES_ON}
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
