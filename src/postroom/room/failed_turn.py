"""Finds turns that ended because no model answered, where no hook tells it: only the transcript does.

Codex and Copilot CLI run no hook when a turn fails. A sweep of the room looks into the transcripts that have
changed since this process looked last, of agents that hold mail or whose requests are refused already.
"""

import os
import time
from typing import TYPE_CHECKING

from postroom.errors import StoreBusy, StoreFull
from postroom.model.message import Session
from postroom.room import turn
from postroom.room.failed_request import LOOKING, runtime_of, traced, transcript_of
from postroom.room.probe import party_of, scope_of
from postroom.room.seat import is_live
from postroom.room.transcript import Conversation, Trace
from postroom.room.unit import Unit
from postroom.runtimes.contract import Failure, Kind, Runtime

if TYPE_CHECKING:
    from postroom.room.premises import Premises
    from postroom.store.contract import ReadTx

_NONE = frozenset[str]()


def at_risk(look: "ReadTx", party: str | None = None) -> list[Session]:
    """List the sessions in which a turn may fail without a hook: of one agent, or of all.

    Only of agents that hold mail, or whose requests are refused already: else no mail is concerned.
    """
    parties = {party} if party else {*look.recipients_offered(), *map(party_of, look.refused())}
    return [session for one in sorted(parties) for session in look.sessions(one) if _is_silent(session)]


def notice(room: "Premises", sessions: list[Session]) -> None:
    """Note which turns have failed, and give back what they had.

    All sessions together get half a second. The next sweep tries again what could not be read or stored.
    """
    until = time.monotonic() + LOOKING
    for session in sessions:
        runtime = runtime_of(session.runtime)
        path = transcript_of(runtime, session) if runtime is not None else ""
        stamp = _stamp(path) if path else None
        if runtime is None or stamp is None or room.read_up_to.get(path) == stamp or not is_live(session):
            continue
        try:
            if _look(room, session, runtime, Conversation(path, runtime.marks, until)):
                room.read_up_to[path] = stamp
        except (StoreBusy, StoreFull):
            return


def _look(room: "Premises", session: Session, runtime: Runtime, conversation: Conversation) -> bool:
    """Return True if the conversation was read, and what it tells is noted."""
    look = room.store.look()
    since = _since(look, session)
    if since is None:
        return False
    failure = conversation.failure(since)
    if failure is None:
        return not conversation.ran_out
    kinds = {point.route: point.kind for point in runtime.points}

    def trace(route: str, nonce: str, handed_at: int) -> Trace:
        return traced(conversation, nonce, handed_at, kinds.get(route, Kind.PROMPT))

    for mail in look.offered(session.agent, session.process):  # the transaction must not wait for the file
        delivery = mail.delivery
        trace(delivery.route or "", delivery.nonce or "", delivery.handed_at or 0)
    return not conversation.ran_out and _note(room, session, since, failure, trace)


def _note(room: "Premises", session: Session, since: int, failure: Failure, trace: turn.Tracing) -> bool:
    with Unit(room, prompt=False) as tx:
        known = tx.session(session.id)
        if known is None or known.ended_at is not None or _since(tx, known) != since:
            return False
        proof = turn.Proof(_NONE, _NONE, tx.now, trace)
        turn.prove(room, tx, known, proof)
        turn.fail(room, tx, known, proof, failure)
    return True


def _since(tx: "ReadTx", session: Session) -> int | None:
    """Return the moment after which a failure is news; None: it would concern no mail."""
    known = tx.refusal(scope_of(session.agent))
    if known is not None:
        return max(session.started_at, known.at)
    offered = tx.offered(session.agent, session.process)
    return min((at for mail in offered if (at := mail.delivery.handed_at) is not None), default=None)


def _is_silent(session: Session) -> bool:
    """Return True if only the transcript tells that a turn of this runtime has failed."""
    runtime = runtime_of(session.runtime)
    if runtime is None or runtime.marks.failed is None or runtime.marks.retries:
        return False
    return not any(point.kind is Kind.FAILURE for point in runtime.points)


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what changes when a transcript grows; None: there is no such file."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about.st_mtime_ns, about.st_size
