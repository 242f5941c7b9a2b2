"""A write transaction: reads, appended events, and nothing else. State changes only through `apply`."""

import sqlite3
from typing import Any

from postroom.model.ids import uuid7
from postroom.model.message import Event, Json, Message
from postroom.store.sqlite.apply import APPLY
from postroom.store.sqlite.read import SQL, ReadTx
from postroom.text import encode

_EVENT = SQL["event_insert"]
_DELIVERY_EVENT = SQL["delivery_event_insert"]


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
        initial, subject = party[:1], message or about
        event = Event._make((
            self.next_seq, message.id if message else uuid7(), self.tenant,
            subject.thread if subject else None, None if initial in ("", "h") else party,
            party if initial == "h" else None, None, type, role, self.now, payload or {},
            {"message": subject.id, "seq": subject.seq} if subject else {}, status, message,
        ))  # fmt: skip
        self.record(event)
        if about is not None:
            self.touched.add(about.sender_id)
        return event

    def record(self, event: Event) -> None:
        """Store an event and apply it. Live writes and replay both come through here."""
        kind = event.type
        if kind != "message.sent":  # a message's row is its own record
            e = event
            self.execute(
                _DELIVERY_EVENT if kind[:9] == "delivery." else _EVENT,
                (e.seq, e.id, e.tenant_id, e.conversation_id, e.agent_id, e.human_id, e.channel_id, kind,
                 e.role, e.timestamp, e.refs.get("seq"), encode(e.payload) if e.payload else None, e.status),
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
        self.execute(SQL[statement], parameters)

    def set_position(self, follower: str, cursor: str) -> None:
        self.wrote = True
        self.execute(SQL["follower_set"], (self.tenant, follower, int(cursor or 0)))
