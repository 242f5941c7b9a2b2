"""Finds out of a message whether no model answered the request that had it, when its session runs no more."""

import os
import time
from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import UnknownRuntime
from postroom.model.context import is_main, own_id
from postroom.model.message import Mail, Session
from postroom.room.transcript import Conversation, Trace
from postroom.runtimes import load
from postroom.runtimes.contract import Failure, Kind, Runtime

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

LOOKING = 0.5  # seconds for the transcripts of one sweep
_LOCKED = 0.25  # the same, while others wait for the write lock
_HOOKS = "hook:"


class Conversations:
    """Reads the conversations of sessions that run no more: each once, all of them in one span of time."""

    def __init__(self, seconds: float = _LOCKED) -> None:
        self._until = time.monotonic() + seconds
        self._read: dict[str, Conversation] = {}  # by session

    def failure(self, tx: "ReadTx", mail: Mail) -> Failure | None:
        """Return why no model answered the request that had a message, if its transcript tells that."""
        delivery = mail.delivery
        handed, nonce, route = delivery.handed_at, delivery.nonce, delivery.route or ""
        if handed is None or not nonce or not route.startswith(_HOOKS):
            return None
        session = tx.session((delivery.context or "").rpartition(":")[0])
        runtime = runtime_of(session.runtime) if session is not None else None
        if session is None or runtime is None or runtime.marks.failed is None:
            return None
        point = next((p for p in runtime.points if p.route == route), None)
        conversation = self._conversation(session, runtime)
        if point is None or traced(conversation, nonce, handed, point.kind) is not Trace.FAILED:
            return None
        return conversation.failure(handed)

    def _conversation(self, session: Session, runtime: Runtime) -> Conversation:
        if session.id not in self._read:
            path = transcript_of(runtime, session)
            self._read[session.id] = Conversation(path, runtime.marks, self._until)
        return self._read[session.id]


def read_ahead(look: "ReadTx", recipients: list[str]) -> Conversations:
    """Read what tells of the mail that processes which are gone had, so that no transaction waits for it."""
    conversations = Conversations(LOOKING)
    for recipient in recipients:
        for claimer in filter(host.is_gone, look.claimers(recipient)):
            for mail in look.offered(recipient, claimer):
                conversations.failure(look, mail)
    return conversations


def transcript_of(runtime: Runtime, session: Session) -> str:
    """Return the file of a session's conversation; empty: it is not known."""
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
