"""Turns that ended without an answer of a model, where no event tells it: only the transcript does.

Codex runs no hook when a turn fails, and a program may die of an error. Whoever sweeps the room looks, in
sessions that have gone on since it looked last.
"""

import os
import time
from typing import TYPE_CHECKING

from postroom.model.message import Session
from postroom.room import turn
from postroom.room.fate import LOOKING, runtime_of, traced, transcript_of
from postroom.room.probe import scope_of
from postroom.room.seat import is_live
from postroom.room.transcript import Conversation, Trace
from postroom.room.unit import Unit
from postroom.runtimes.contract import Failure, Kind, Runtime

if TYPE_CHECKING:
    from postroom.room.premises import Premises
    from postroom.store.contract import ReadTx

_NONE = frozenset[str]()


def notice(room: "Premises", party: str | None = None) -> None:
    """Note which turns have failed, of one agent or of all, and give back what they had."""
    look = room.store.look()
    for session in look.sessions(party) if party else look.sessions_open():
        runtime = runtime_of(session.runtime)
        if runtime is None or runtime.marks.failed is None or runtime.marks.retries or not is_live(session):
            continue
        path = transcript_of(runtime, session)
        if not path or not _has_changed(room, path):
            continue
        conversation = Conversation(path, runtime.marks, time.monotonic() + LOOKING)
        failure = conversation.failure(_since(look, session))
        if failure is not None:
            _note(room, session, runtime, conversation, failure)


def _note(
    room: "Premises", session: Session, runtime: Runtime, conversation: Conversation, failure: Failure
) -> None:
    kinds = {point.route: point.kind for point in runtime.points}

    def trace(route: str, nonce: str, handed_at: int) -> Trace:
        return traced(conversation, nonce, handed_at, kinds.get(route, Kind.PROMPT))

    with Unit(room, prompt=False) as tx:
        known = tx.session(session.id)
        if known is None or known.ended_at is not None or _since(tx, known) != _since(tx, session):
            return
        proof = turn.Proof(_NONE, _NONE, tx.now, trace)
        turn.prove(room, tx, known, proof)
        turn.fail(room, tx, known, proof, failure)


def _since(tx: "ReadTx", session: Session) -> int:
    """Since when a failure is not known yet."""
    known = tx.refusal(scope_of(session.agent))
    return max(session.started_at, known.at if known else 0)


def _has_changed(room: "Premises", path: str) -> bool:
    """Whether a transcript has grown since this process looked last."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return False
    now = about.st_mtime_ns, about.st_size
    if room.read_up_to.get(path) == now:
        return False
    room.read_up_to[path] = now
    return True
