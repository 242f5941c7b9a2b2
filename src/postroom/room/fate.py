"""What the conversation in which a message was shown tells of it, when its session runs no more."""

import os
import time
from typing import TYPE_CHECKING

from postroom.errors import UnknownRuntime
from postroom.model.context import is_main, own_id
from postroom.model.message import Mail, Session
from postroom.room.transcript import Conversation, Trace
from postroom.runtimes import load
from postroom.runtimes.contract import Failure, Kind, Runtime

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

LOOKING = 0.5  # seconds for one transcript


def failure_of(tx: "ReadTx", mail: Mail) -> Failure | None:
    """Why no model answered the request that had a message, if the transcript tells that it was so."""
    session = tx.session((mail.delivery.context or "").rpartition(":")[0])
    runtime = runtime_of(session.runtime) if session is not None else None
    handed, nonce = mail.delivery.handed_at, mail.delivery.nonce
    if session is None or runtime is None or runtime.marks.failed is None or handed is None or not nonce:
        return None
    path = transcript_of(runtime, session)
    conversation = Conversation(path, runtime.marks, time.monotonic() + LOOKING)
    point = next((p for p in runtime.points if p.route == mail.delivery.route), None)
    if point is None or traced(conversation, nonce, handed, point.kind) is not Trace.FAILED:
        return None
    return conversation.failure(handed)


def transcript_of(runtime: Runtime, session: Session) -> str:
    """Where a session's conversation is kept; empty: nobody knows."""
    told = str(session.details.get("transcript") or "")
    if told or not runtime.transcript or not is_main(session.id):
        return told
    return os.path.expanduser(f"~/{runtime.transcript.format(own_id(session.id))}")


def traced(conversation: Conversation, nonce: str, handed_at: int, kind: Kind) -> Trace:
    return conversation.trace(nonce, handed_at, after_tool=kind is Kind.TOOL, wake=kind is Kind.WAKE)


def runtime_of(name: str) -> Runtime | None:
    try:
        return load(name)
    except (ImportError, UnknownRuntime):
        return None
