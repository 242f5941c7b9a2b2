"""A write transaction: reads, posted messages, appended events. `post` and `apply` alone change the state."""

import sqlite3
from typing import TYPE_CHECKING, Any

from postroom.errors import StoreError
from postroom.model.ids import uuid7
from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Event, Json, Message, make
from postroom.store.sqlite.apply import APPLY, APPLY_TO_DELIVERY
from postroom.store.sqlite.read import SQL, ReadTx
from postroom.store.sqlite.statement import HELD
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.model.pen import Pen
    from postroom.model.reading import Reading

_EVENT, _DELIVERY_EVENT, _SPOT = SQL["event_insert"], SQL["delivery_event_insert"], SQL["spot"]
_MESSAGE, _PLAIN, _DELIVERY = SQL["message_insert"], SQL["message_insert_plain"], SQL["delivery_insert"]
VOLUME_BITS = 17  # a volume of the search index covers so many numbers that they differ in these bits alone
_NOT_ALONE, _NOT_ALONE_OF = SQL["mail_not_alone"], SQL["mail_not_alone_of"]
_OFFER, _OFFERED = SQL["delivery_offer"], SQL["delivery_insert_offered"]
_USUAL, _NOWHERE = Priority.NORMAL.value, -1


class WriteTx(ReadTx):
    """One use case. Holds the room's write lock from start to commit."""

    def __init__(self, connection: sqlite3.Connection, tenant: str, path: str) -> None:
        super().__init__(connection, tenant, path)
        self.now = 0
        self.first_seq = self.next_seq = 1
        self.weight = 0  # bytes of the bodies and payloads posted since the last checkpoint
        self.directory: int | None = None
        self.vacant: str | None = None
        self.wrote = False
        self.has_parts = False  # what its thread begins now is a part of it
        self.is_part = False  # while one is open
        self._before: dict[str, Any] = {}  # all of this as it was before the part that is open
        self.posted: Message | None = None  # the latest message of this transaction
        self.lingering: list[tuple[Any, ...]] | None = None  # deliveries of that which are not stored yet
        self.stirred: set[str] = set()  # who has something due because of this transaction
        self.unsettled: set[str] = set()  # whose next message may be another now, though it had one
        self.touched: set[str] = set()  # whose messages moved on the ladder

    def begin_part(self, now: int) -> None:
        """From here on it is a part of what it was, until `keep_part` or `undo_part`."""
        if self.is_part:
            raise RuntimeError("this is a part of a transaction, and has no parts of its own")
        if not self.connection.in_transaction:  # SQLite itself has given it up, as on a full disk
            raise StoreError("what was to be stored together is lost", path=self.path)
        sets = {"stirred": set(self.stirred), "unsettled": set(self.unsettled), "touched": set(self.touched)}
        before = {**vars(self), **sets}
        self.row("SAVEPOINT part")
        self._before, self.is_part, self.now, self.vacant = before, True, now, None

    def keep_part(self) -> None:
        self.complete()
        self.execute("RELEASE part")
        self._before, self.is_part = {}, False

    def undo_part(self) -> None:
        """Not only what it wrote: nothing that is noted here may outlive it."""
        vars(self).update(self._before)
        if self.connection.in_transaction:
            self.execute("ROLLBACK TO part")
            self.execute("RELEASE part")

    def append(
        self,
        type: str,
        party: str = "",
        *,
        about: Message | None = None,
        payload: Json | None = None,
        role: str = "system",
        status: str = "ok",
    ) -> Event:
        """Record one change: the event row and the state it causes, together."""
        initial = party[:1]
        event = make(Event, (
            self.next_seq, uuid7(), self.tenant, about.thread if about else None,
            None if initial in ("", "h") else party, party if initial == "h" else None, None, type, role,
            self.now, payload or {}, {"message": about.id, "seq": about.seq} if about else {}, status, None,
        ))  # fmt: skip
        self.record(event)
        if about is not None:
            self.touched.add(about.sender_id)
        return event

    def record(self, event: Event) -> None:
        """Store an event and apply it. Live writes and replay both come through here."""
        kind, payload = event.type, event.payload
        about: Any = event.refs.get("seq")
        if kind == "message.sent":  # a message's row is its own record
            APPLY[kind](self, event)
            return
        seq = event.seq
        values = (*event[:10], about, encode(payload) if payload else None, event.status)
        apply = APPLY_TO_DELIVERY.get(kind)
        if apply is not None:
            recipient = event.party
            place, last = self._find(about, recipient)
            self.spot = None  # it is about to move
            self.execute(_DELIVERY_EVENT, (*values, last))
            apply(self, event, (self.tenant, recipient, place, about, seq))
        else:
            self.execute(_EVENT, values)
            APPLY[kind](self, event)
        self.next_seq = seq + 1
        self.wrote = True

    def _find(self, seq: int, recipient: str) -> tuple[int, int | None]:
        """Where a delivery lies, and its latest event: as a rule it has just been looked at."""
        spot = self.spot
        if spot is not None and spot[0] == seq and spot[1] == recipient:
            return spot[2:]
        return self.row(_SPOT, (self.tenant, recipient, seq)) or (_NOWHERE, None)

    def post(self, message: Message, recipients: list[str], *, lingers: bool = False) -> None:
        """Store a message and its deliveries. Its row is itself the record that it was sent.

        `lingers`: its deliveries are stored by `offer_new` or `complete`, or with the end of a part, one of
        which must come next: where they are offered at once, each is written once and not twice.
        """
        # By position: that many lookups by name would cost as much as a statement.
        seq, tenant, body, at, level = message[0], message[2], message[12], message[14], +message[15]
        only = recipients[0] if len(recipients) == 1 else ""
        whom = f'["{only}"]' if only.isalnum() else encode(recipients)
        plain = (*message[:15], level, +message[16], whom)  # `+` makes plain numbers of them
        rest = message[17:]
        not_before = expires_at = None
        if rest == NOTHING:
            self.execute(_PLAIN, plain)
        else:
            not_before, expires_at = message.not_before, message.expires_at
            texts = [encode(value) if isinstance(value, (dict, list)) else value for value in rest]
            self.execute(_MESSAGE, (*plain, *texts))
            self.weight += len(str(texts[2]))
        self.weight += len(body)
        place, due, reason = level * 2 + 1, expires_at, None
        if not_before is not None and not_before > at:
            place, due, reason = HELD, not_before, "scheduled"
        elif level < _USUAL:
            self.unsettled.update(recipients)
        rows = [(tenant, recipient, place, seq, level, due, reason, at) for recipient in recipients]
        if lingers:
            self.lingering = rows
        else:
            self._store(rows)
        self.stirred.update(recipients)  # by held mail, too: the marker must not outlast its time
        self.posted = message
        self.next_seq = seq + 1
        self.wrote = True

    def _store(self, rows: list[tuple[Any, ...]]) -> None:
        if len(rows) == 1:
            self.execute(_DELIVERY, rows[0])
        elif rows:
            self.connection.executemany(_DELIVERY, rows)

    def complete(self) -> None:
        """Store the deliveries that linger."""
        if self.lingering is not None:
            rows, self.lingering = self.lingering, None
            self._store(rows)

    def not_alone(self, message: Message, claimers: dict[str, str]) -> set[str]:
        """Of those who get a message, those for whom it is not all that waits, or something must be put in
        order first. By recipient, who would claim it for them.
        """
        seq, now = message.seq, self.now
        if len(claimers) > 1:
            found = self.execute(_NOT_ALONE_OF, (self.tenant, encode(claimers), seq, now)).fetchall()
            return {recipient for (recipient,) in found}
        for recipient, me in claimers.items():
            if self.execute(_NOT_ALONE, (self.tenant, recipient, seq, now, me)).fetchone():
                return {recipient}
        return set()

    def offer_new(self, message: Message, offers: list[tuple[str, Json]]) -> None:
        """As `append` of `delivery.offered` for each, of a message that was posted in this transaction.

        All together, because there may be a thousand. Each with what its event says.
        """
        events: list[tuple[Any, ...]] = []
        moves: list[tuple[Any, ...]] = []
        level, now, lingering = +message.priority, self.now, self.lingering
        place = level * 2 + 1 if lingering is None else level
        for seq, (party, said) in enumerate(offers, self.next_seq):
            agent, human = (None, party) if party[0] == "h" else (party, None)
            events.append((
                seq, uuid7(), self.tenant, message.thread, agent, human, None, "delivery.offered", "system",
                now, message.seq, encode(said), "offered", None,
            ))  # fmt: skip
            moves.append((
                self.tenant, party, place, message.seq, seq, said["n"], said["route"], said["context"],
                said["nonce"], said["claimer"], now, now if said["handed"] else None, said["lease_until"],
            ))  # fmt: skip
        if lingering is not None:
            self.lingering = None
            if len(offers) < len(lingering):
                offered = {party for party, _ in offers}
                self._store([row for row in lingering if row[1] not in offered])
        statement = _OFFER if lingering is None else _OFFERED
        if len(offers) == 1:
            self.execute(_DELIVERY_EVENT, events[0])
            self.execute(statement, moves[0])
        elif offers:
            self.connection.executemany(_DELIVERY_EVENT, events)
            self.connection.executemany(statement, moves)
        self.next_seq += len(offers)
        self.spot = None
        self.touched.add(message.sender_id)

    def change_directory(self) -> None:
        """Names may be cached by others only until here; by this transaction, no longer at all."""
        self.run("directory_changed", ())
        self.directory = None

    def run(self, statement: str, parameters: tuple[Any, ...]) -> None:
        """For `apply` alone: execute one named statement."""
        self.execute(SQL[statement], parameters)

    def watch(self, recipient: str, seq: int) -> None:
        """Enter what a recipient has seen, and whose sender must be told if nothing comes of it. No state."""
        self.wrote = True
        self.execute(SQL["watch_insert"], (self.tenant, recipient, seq))

    def unwatch(self, recipient: str, seq: int) -> None:
        self.wrote = True
        self.execute(SQL["watch_delete"], (self.tenant, recipient, seq))

    def set_reading(self, session_id: str, reading: "Reading") -> None:
        self.wrote = True
        values = (reading.path, reading.position, encode(reading.calls), +reading.is_open)
        self.execute(SQL["transcript_set"], (self.tenant, session_id, *values))

    def set_pen(self, terminal: str, pen: "Pen") -> None:
        self.wrote = True
        self.execute(SQL["pen_set"], (self.tenant, terminal, *pen))

    def index_sent(self, until: int) -> None:
        """Enter who wrote the messages up to a number, as far as that has not been done."""
        position = int(self.position("sent") or 0)
        if until > position:
            self.execute(SQL["sent_fill"], (self.tenant, position, until))
            self.set_position("sent", str(until))

    def outdate_index(self, seqs: list[int], at: int) -> None:
        """The words of these messages must go: the event that says so is where their volumes begin anew."""
        for number in {(seq - 1) >> VOLUME_BITS for seq in seqs}:
            self.set_position(index_of(number), str(at))

    def forget_position(self, follower: str) -> None:
        self.wrote = True
        self.execute(SQL["follower_delete"], (self.tenant, follower))

    def set_position(self, follower: str, cursor: str) -> None:
        self.wrote = True
        self.execute(SQL["follower_set"], (self.tenant, follower, int(cursor or 0)))


def index_of(number: int) -> str:
    """The follower that says which event last took a message out of a volume of the search index."""
    return f"search.{number}"
