"""A write transaction: reads, appended events, and nothing else. State changes only through `apply`."""

import json
import sqlite3
from typing import Any

from postroom.model.ids import uuid7
from postroom.model.message import Event, Json, Message
from postroom.store.sqlite.apply import APPLY
from postroom.store.sqlite.read import SQL, ReadTx

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class WriteTx(ReadTx):
    """One use case. Holds the room's write lock from start to commit."""

    def __init__(self, connection: sqlite3.Connection, tenant: str) -> None:
        super().__init__(connection, tenant)
        self.now = 0
        self.next_seq = 1
        self.earliest_due: int | None = None
        self.directory: int | None = None
        self.wrote = False
        self.stirred: set[str] = set()  # who has something due because of this transaction
        self.touched: set[str] = set()  # whose messages moved on the ladder

    def append(
        self,
        type: str,
        party: str = "",
        *,
        about: Message | None = None,
        payload: Json | None = None,
        role: str = "system",
        status: str = "ok",
        message: Message | None = None,
    ) -> Event:
        """Record one change: the event row and the state it causes, together."""
        subject = message or about
        human = party[:1] == "h"
        event = Event(
            self.next_seq, message.id if message else uuid7(), self.tenant, subject.thread if subject else None,
            None if human or not party else party, party if human else None, None, type, role, self.now,
            payload or {}, {"message": subject.id, "seq": subject.seq} if subject else {}, status, message,
        )  # fmt: skip
        self.record(event)
        if about is not None:
            self.touched.add(about.sender_id)
        return event

    def record(self, event: Event) -> None:
        """Store an event and apply it. Live writes and replay both come through here."""
        kind = event.type
        if kind != "message.sent":  # a message's row is its own record
            self._execute(
                SQL["delivery_event_insert" if kind.startswith("delivery.") else "event_insert"],
                (event.seq, event.id, event.tenant_id, event.conversation_id, event.agent_id, event.human_id,
                 event.channel_id, kind, event.role, event.timestamp, event.refs.get("seq"),
                 _encode(event.payload) if event.payload else None, event.status),
            )  # fmt: skip
        APPLY[kind](self, event)
        self.next_seq = event.seq + 1
        self.wrote = True

    def change_directory(self) -> None:
        """Names may be cached by others only until here; by this transaction, no longer at all."""
        self.run("directory_changed", ())
        self.directory = None

    def run(self, statement: str, parameters: tuple[Any, ...]) -> None:
        """For `apply` alone: execute one named statement."""
        self._execute(SQL[statement], parameters)

    def set_position(self, follower: str, cursor: str) -> None:
        self.wrote = True
        self._execute(SQL["follower_set"], (self.tenant, follower, int(cursor or 0)))
