"""What can be asked of a room. Every method reads whole results: an open cursor would pin the WAL."""

import sqlite3
from typing import TYPE_CHECKING, Any

from postroom.errors import InvalidValue
from postroom.model.ids import HANDLES, number
from postroom.model.ladder import State
from postroom.model.message import (
    Agent,
    Delivery,
    Event,
    Lease,
    Mail,
    Message,
    Project,
    Session,
    Standing,
    first_delivery,
    make,
)
from postroom.store.sqlite.connection import TROUBLE, explain
from postroom.store.sqlite.row import (
    DELIVERY_WIDTH,
    MAIL_WIDTH,
    PLACE_AT,
    STORED_AT,
    Row,
    read_json,
    to_agent,
    to_delivery,
    to_event,
    to_mail,
    to_message,
    to_session,
    to_standing,
)
from postroom.store.sqlite.statement import DEAD, DONE, OFFERED, Statements
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.model.conversation import Decision
    from postroom.model.pen import Pen
    from postroom.model.reading import Reading
    from postroom.model.refusal import Refusal

SQL = Statements("event", "agent", "message", "delivery")
PAGE = 500
_READY, _NEXT = SQL["mail_ready"], SQL["mail_next"]
_AT, _FRESH = SQL["delivery_at"], SQL["delivery_fresh"]

_LAST = 1 << 62

# Where a delivery lies in its mailbox unless it waits: that depends on its priority, too.
_PLACE = {State.OFFERED: OFFERED, State.DEAD: DEAD}


def _page(limit: int) -> int:
    """Nobody gets more than a page at once; to SQLite a negative limit would be none at all."""
    return PAGE if limit < 0 else min(limit, PAGE)


def _position(cursor: str, default: int) -> int:
    if not cursor:
        return default
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidValue(f"{cursor!r} is not a cursor", field="after")
    return int(cursor)


# Where a delivery was found (seq, recipient, place), and its latest event. For a write transaction only,
# which forgets it when it begins and when it records an event: in between nobody can have moved it.
Spot = tuple[int, str, int, int | None]


class ReadTx:
    """A consistent look at one tenant's part of a room."""

    def __init__(self, connection: sqlite3.Connection, tenant: str, path: str) -> None:
        self.connection = connection
        self.tenant = tenant
        self.path = path
        self.execute = connection.cursor().execute  # one cursor: a new one for each statement would be felt
        self.spot: Spot | None = None  # of the delivery looked at last
        self.directory: int | None = 0  # None in a transaction that has changed who is here

    def rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """What a statement finds; a damaged page may show itself at any row."""
        try:
            return self.execute(statement, parameters).fetchall()
        except TROUBLE as exc:
            raise explain(exc, self.path) from exc

    def row(self, statement: str, parameters: tuple[Any, ...] = ()) -> Any:
        """The first of the rows, or None."""
        try:
            return self.execute(statement, parameters).fetchone()
        except TROUBLE as exc:
            raise explain(exc, self.path) from exc

    # agents, projects, sessions

    def agent(self, agent_id: str) -> Agent | None:
        row = self.row(SQL["agent_by_id"], (self.tenant, agent_id))
        return to_agent(row) if row else None

    def agent_named(self, project: str, name: str) -> Agent | None:
        row = self.row(SQL["agent_by_name"], (self.tenant, project, name))
        return to_agent(row) if row else None

    def agents(self, limit: int = PAGE, offset: int = 0) -> list[Agent]:
        return [to_agent(row) for row in self.rows(SQL["agents"], (self.tenant, _page(limit), offset))]

    def agents_in(self, project: str, after: str = "", limit: int = PAGE) -> list[Agent]:
        """Agents of a project (of none: people) by name, after one of them."""
        rows = self.rows(SQL["agents_in_project"], (self.tenant, project, after, _page(limit)))
        return [to_agent(row) for row in rows]

    def project_at(self, root: str) -> Project | None:
        row = self.row(SQL["project_by_root"], (self.tenant, root))
        return Project._make(row) if row else None

    def project(self, name: str) -> Project | None:
        row = self.row(SQL["project_by_name"], (self.tenant, name))
        return Project._make(row) if row else None

    def projects(self) -> list[Project]:
        return [Project._make(row) for row in self.rows(SQL["projects"], (self.tenant,))]

    # topics

    def subscribers(self, project: str, topic: str, after: str = "", limit: int = PAGE) -> list[Agent]:
        """Who follows a topic, by id, after one of them."""
        rows = self.rows(SQL["subscribers"], (self.tenant, project, topic, after, _page(limit)))
        return [to_agent(row) for row in rows]

    def is_subscribed(self, project: str, topic: str, agent_id: str) -> bool:
        return self.row(SQL["subscription"], (self.tenant, project, topic, agent_id)) is not None

    def topic_after(self, project: str, name: str) -> str | None:
        """The next topic by name that somebody follows or has written to."""
        return self.row(SQL["topic_after"], (self.tenant, project, name))[0]

    def topic_counts(self, project: str, topic: str) -> tuple[int, int]:
        """How many follow a topic, and how many messages it has."""
        return self.row(SQL["topic_counts"], (self.tenant, project, topic))

    def messages_in_topic(
        self, project: str, topic: str, before: int | None = None, limit: int = PAGE
    ) -> list[Message]:
        """Newest first."""
        key = (self.tenant, project, topic, before or _LAST, _page(limit))
        return [to_message(row) for row in self.rows(SQL["messages_in_topic"], key)]

    def lease(self, agent_id: str) -> Lease | None:
        row = self.row(SQL["lease_get"], (self.tenant, agent_id))
        return Lease._make(row) if row else None

    def refusal(self, scope: str) -> "Refusal | None":
        row = self.row(SQL["refusal_get"], (self.tenant, scope))
        if row is None:
            return None
        from postroom.model.refusal import Refusal  # noqa: PLC0415 - rarely

        return Refusal._make(row)

    def has_refusals(self) -> bool:
        return bool(self.row(SQL["refusals_any"], (self.tenant,))[0])

    def session(self, session_id: str) -> Session | None:
        row = self.row(SQL["session_get"], (self.tenant, session_id))
        return to_session(row) if row else None

    def sessions_open(self) -> list[Session]:
        """Those of all agents that have not ended, as many as one looks through."""
        return list(map(to_session, self.rows(SQL["sessions_open"], (self.tenant,))))

    def sessions(self, agent_id: str) -> list[Session]:
        """The sessions of an agent that have not ended."""
        return list(map(to_session, self.rows(SQL["sessions_running"], (self.tenant, agent_id))))

    def reading(self, session_id: str) -> "Reading | None":
        """How far a session's transcript was read."""
        from postroom.model.reading import Reading  # noqa: PLC0415 - where tools are recorded

        row = self.row(SQL["transcript_get"], (self.tenant, session_id))
        return Reading(row[0], row[1], read_json(row[2]), bool(row[3])) if row else None

    def sessions_unread(self) -> list[Session]:
        """Those whose transcripts may have more to read."""
        return list(map(to_session, self.rows(SQL["sessions_unread"], (self.tenant,))))

    def pen(self, terminal: str) -> "Pen | None":
        """Who may type into a terminal, or did so last."""
        from postroom.model.pen import Pen  # noqa: PLC0415 - for who types

        row = self.row(SQL["pen_get"], (self.tenant, terminal))
        return Pen(*row) if row else None

    def has_sessions(self) -> bool:
        """Whether there is any session that has not ended."""
        return bool(self.row(SQL["sessions_any"], (self.tenant,))[0])

    def had_session(self, agent_id: str) -> bool:
        """Whether an agent has ever had a session."""
        return bool(self.row(SQL["sessions_ever"], (self.tenant, agent_id))[0])

    def has_proven(self, recipient: str, context: str) -> bool:
        """Whether any of the latest that somebody has seen was shown in a context that begins so."""
        return bool(self.row(SQL["delivery_proven"], (self.tenant, recipient, context))[0])

    def sessions_hosted(self, process: str) -> list[Session]:
        """The sessions in a process that have not ended."""
        return list(map(to_session, self.rows(SQL["sessions_hosted"], (self.tenant, process))))

    def sessions_in(self, process: str) -> list[Session]:
        """The sessions that a process has hosted, the latest first, ended or not."""
        return list(map(to_session, self.rows(SQL["sessions_in"], (self.tenant, process))))

    def sessions_at(self, runtime: str, worktree: str) -> list[Session]:
        """The sessions of a runtime in a worktree, the latest first, ended or not."""
        return list(map(to_session, self.rows(SQL["sessions_at"], (self.tenant, runtime, worktree))))

    def sessions_in_pane(self, runtime: str, pane: str) -> list[Session]:
        """The sessions of a runtime in a pane, the latest first, ended or not."""
        return list(map(to_session, self.rows(SQL["sessions_in_pane"], (self.tenant, runtime, pane))))

    # messages

    def message(self, ref: str) -> Message | None:
        """A message by its id or by its handle."""
        seq = number(ref)
        while (found := self.message_at(seq)) is None or not found.id.endswith(ref):
            seq += HANDLES
            if seq > int(self.last_cursor()):
                return None
        return found

    def message_at(self, seq: int) -> Message | None:
        row = self.row(SQL["message_by_seq"], (seq,))
        return to_message(row) if row and row[2] == self.tenant else None

    def correlated(self, sender: str, correlation: str) -> list[Message]:
        """The latest that somebody sent with a correlation, newest first."""
        rows = self.rows(SQL["messages_correlated"], (self.tenant, correlation, sender))
        return [to_message(row) for row in rows]

    def message_by_key(self, sender: str, key: str) -> Message | None:
        row = self.row(SQL["message_by_key"], (self.tenant, sender, key))
        return to_message(row) if row else None

    def thread(self, thread: str, after: int = 0, limit: int = PAGE) -> list[Message]:
        """A page of a conversation, oldest first. The message that began it bears its id."""
        first = self.message(thread) if after == 0 else None
        found = [first] if first is not None and first.thread == thread else []
        rows = self.rows(SQL["messages_in_thread"], (self.tenant, thread, after, _page(limit)))
        return [*found, *map(to_message, rows)][: _page(limit)]

    def thread_end(self, thread: str, limit: int = PAGE) -> list[Message]:
        """The latest messages of a conversation, newest first."""
        rows = self.rows(SQL["thread_end"], (self.tenant, thread, _page(limit)))
        found = [to_message(row) for row in rows]
        first = self.message(thread) if len(found) < _page(limit) else None
        return [*found, first] if first is not None and first.thread == thread else found

    def thread_size(self, thread: str) -> int:
        first = self.message(thread)
        own = first is not None and first.thread == thread
        return self.row(SQL["thread_size"], (self.tenant, thread))[0] + own

    def thread_people(self, thread: str) -> list[str]:
        """The ids of some who wrote in a conversation or were written to: to be shown, and no list of all."""
        first = self.message(thread)
        rows = self.rows(SQL["thread_people"], (self.tenant, thread, first.seq if first else 0))
        return [row[0] for row in rows]

    def thread_has(self, thread: str, party: str) -> bool:
        """Whether somebody, or a child of theirs, or who is above them, wrote in it or was written to."""
        first, parts = self.message(thread), party.split(".")
        line = encode([".".join(parts[: n + 1]) for n in range(len(parts))])
        given = (self.tenant, thread, first.seq if first else 0, party, line)
        return bool(self.row(SQL["thread_has"], given)[0])

    def threads(self, party: str, window: int, limit: int = PAGE) -> list[tuple[str, int]]:
        """Conversations somebody has had a part in within so many events, with their latest message."""
        return self.rows(SQL["threads_of"], (self.tenant, party, window, _page(limit)))

    def sent(self, sender: str, before: int | None = None, limit: int = PAGE) -> list[Message]:
        """Newest first."""
        position = int(self.position("sent") or 0)
        rows = self.rows(SQL["messages_from"], (self.tenant, sender, before or _LAST, _page(limit), position))
        return [to_message(row) for row in rows]

    def prunable(self, before: int, after: int, limit: int = PAGE) -> list[int]:
        """Messages of which everything ended before a moment, after a seq."""
        return [
            row[0] for row in self.rows(SQL["messages_prunable"], (self.tenant, before, after, _page(limit)))
        ]

    def messages_in_project(self, project: str, after: int = 0, limit: int = PAGE) -> list[int]:
        rows = self.rows(SQL["messages_in_project"], (self.tenant, project, after, _page(limit)))
        return [row[0] for row in rows]

    def gates(self, after: int, limit: int = PAGE) -> list[Message]:
        """Messages that ask for a decision, have none yet and expire after a moment."""
        rows = self.rows(SQL["gates_open"], (self.tenant, after, _page(limit)))
        return [to_message(row) for row in rows]

    def decision(self, gate: int) -> "Decision | None":
        from postroom.model.conversation import Decision  # noqa: PLC0415 - for gates only

        row = self.row(SQL["decision_get"], (self.tenant, gate))
        return Decision._make(row) if row else None

    # deliveries

    def ready(self, recipient: str, limit: int = 1, address: str = "") -> list[Mail]:
        """What can be offered now, in the order it will be. `address` is how the recipient is written."""
        rows = self.rows(_READY, (self.tenant, recipient, _page(limit)))
        return [self._ready(row, recipient, address) for row in rows]

    def pushable(self, recipient: str, limit: int = 1, address: str = "") -> list[Mail]:
        """Return what `ready` would, without what is paused after connections that did not acknowledge it."""
        rows = self.rows(SQL["mail_pushable"], (self.tenant, recipient, _page(limit)))
        return [self._ready(row, recipient, address) for row in rows]

    def _ready(self, row: Row, recipient: str, address: str) -> Mail:
        seq, place = row[0], row[PLACE_AT]
        if place & 1:  # never offered
            self.spot = (seq, recipient, place, row[PLACE_AT + 1])
            message = to_message(row)
            return make(Mail, (message, first_delivery(message, recipient, address or recipient)))
        mail = self.mail(seq, recipient)
        assert mail is not None, "it was there a moment ago"
        return mail

    def count_ready(self, recipient: str, most: int) -> int:
        """How many could be offered now; counted no further than to `most`."""
        return self.row(SQL["ready_count"], (self.tenant, recipient, most))[0]

    def unlabelled(self, recipient: str, limit: int = PAGE) -> list[Mail]:
        """What can be offered now and, as far as is known, nobody has been shown."""
        rows = self.rows(SQL["mail_unlabelled"], (self.tenant, recipient, _page(limit)))
        return [to_mail(row) for row in rows]

    def waiting(self, recipient: str, after: int = 0) -> list[Mail]:
        """What can be offered now, in the order it was sent, after a number."""
        return [to_mail(row) for row in self.rows(SQL["mail_waiting"], (self.tenant, recipient, after))]

    def held(self, recipient: str, after: int = 0) -> list[Mail]:
        """What is held until its time, in the order it was sent, after a number."""
        return [to_mail(row) for row in self.rows(SQL["mail_held"], (self.tenant, recipient, after))]

    def held_counts(self, recipient: str) -> list[tuple[str, int, int | None]]:
        """What is held for its recipient's sake: for each reason how much, and when the first is due."""
        return self.rows(SQL["held_counts"], (self.tenant, recipient))

    def unread(self, recipient: str, most: int) -> int:
        """How many messages wait, also held but not scheduled ones; counted no further than to `most`."""
        return self.row(SQL["unread"], (self.tenant, recipient, most))[0]

    def mail(self, seq: int, recipient: str) -> Mail | None:
        row = self.row(SQL["mail_one"], (self.tenant, seq, recipient))
        if row is None:
            return None
        self.spot = (seq, recipient, *row[MAIL_WIDTH:])
        return to_mail(row)

    def refresh(self, mail: Mail) -> Mail | None:
        """The same mail with its delivery as it stands now."""
        message, d = mail.message, mail.delivery
        if self._is_untouched(d):
            return mail
        key = (self.tenant, d.seq, d.recipient_id, message.id, d.recipient)
        # Where it was, and where it would be by now: a claim that was settled, something that came back.
        place = d.priority * 2 if d.state is State.STORED else _PLACE.get(d.state, DONE)
        after = place + 1 if d.state is State.STORED else DONE
        row = self.row(_AT, (*key, place, after)) or self.row(SQL["delivery_now"], key)
        if row is None or row[STORED_AT] != d.stored_at:  # another has its number since a restore
            return None
        self.spot = (d.seq, d.recipient_id, *row[DELIVERY_WIDTH:])
        return make(Mail, (message, to_delivery(row)))

    def _is_untouched(self, d: Delivery) -> bool:
        """Whether one that was never offered still lies where such ones do: then nothing happened to it."""
        if d.state is not State.STORED or d.attempts or d.shown_before or d.held:
            return False
        place = d.priority * 2 + 1
        row = self.row(_FRESH, (self.tenant, d.recipient_id, place, d.seq, d.stored_at))
        if row:
            self.spot = (d.seq, d.recipient_id, place, row[0])
        return row is not None

    def deferrals(self, seq: int, recipient: str) -> int:
        """Return how often a recipient has refused a delivery for now."""
        row = self.row(SQL["delivery_deferrals"], (self.tenant, seq, recipient))
        return row[0] if row else 0

    def answer(self, correlation: str, after: int, recipient: str) -> Mail | None:
        """The first message to `recipient` that answers a correlation, after a message's seq."""
        row = self.row(SQL["mail_correlated"], (self.tenant, correlation, after, recipient))
        return to_mail(row) if row else None

    def due(self, until: int) -> list[Mail]:
        """At most a page of what the clock must act on by `until`."""
        return [to_mail(row) for row in self.rows(SQL["mail_due"], (self.tenant, until))]

    def next_due(self, recipient: str | None = None) -> int | None:
        if recipient is None:
            return self.row(SQL["next_due"], (self.tenant,))[0]
        return self.row(SQL["next_due_of"], (self.tenant, recipient))[0]

    def standing(self, recipient: str, me: str) -> Standing:
        return to_standing(self.row(SQL["standing"], (self.tenant, recipient, me)))

    def next(self, recipient: str, me: str, address: str = "") -> tuple[Standing, Mail | None]:
        """How a mailbox stands, and what would be offered next."""
        row = self.row(_NEXT, (self.tenant, recipient, me))
        standing = to_standing(row[PLACE_AT + 2 :])
        return standing, None if row[0] is None else self._ready(row, recipient, address)

    def claimers(self, recipient: str) -> list[str]:
        """The processes that hold claims on a recipient's mail."""
        rows = self.rows(SQL["claimers"], (self.tenant, recipient))
        return [row[0] for row in rows]

    def offered(self, recipient: str, claimer: str, after: int = 0) -> list[Mail]:
        """A page of what one process claims of a recipient's mail."""
        rows = self.rows(SQL["mail_open"], (self.tenant, recipient, claimer, after))
        return [to_mail(row) for row in rows]

    def for_one(self, recipient: str) -> list[Mail]:
        """What a recipient has of that which was for one of many, not acknowledged yet."""
        return [to_mail(row) for row in self.rows(SQL["mail_for_one"], (self.tenant, recipient))]

    def taken(self, recipient: str, claimer: str) -> list[Mail]:
        """A page of what is held for a recipient because one process claims it for another."""
        rows = self.rows(SQL["mail_taken"], (self.tenant, recipient, claimer))
        return [to_mail(row) for row in rows]

    def watched(self, recipient: str, claimer: str | None = None, after: int = 0) -> list[Mail]:
        """A page of what a recipient has seen and is watched: what nothing has come of yet (see `watch`)."""
        rows = self.rows(SQL["mail_watched"], (self.tenant, recipient, claimer, after))
        return [to_mail(row) for row in rows]

    def tasks(self, recipient: str, after: int = 0) -> list[Mail]:
        """A page of what a recipient was told to do, has seen, and has not acknowledged."""
        return [to_mail(row) for row in self.rows(SQL["mail_tasks"], (self.tenant, recipient, after))]

    def asked_by(self, sender: str) -> list[str]:
        """Whose programs have seen what somebody asked, and have not answered it."""
        return [row[0] for row in self.rows(SQL["recipients_watched"], (self.tenant, sender))]

    def asking(self, recipient: str, after: int = 0) -> list[Mail]:
        """A page of the requests that a recipient has yet to see."""
        return [to_mail(row) for row in self.rows(SQL["mail_asking"], (self.tenant, recipient, after))]

    def has_interrupt(self, recipient: str) -> bool:
        """Whether a message that tells a recipient to stop can be offered now."""
        return bool(self.row(SQL["interrupt_waiting"], (self.tenant, recipient))[0])

    def recipients_offered(self) -> list[str]:
        return [row[0] for row in self.rows(SQL["recipients_open"], (self.tenant,))]

    def deliveries(self, seq: int) -> list[Delivery]:
        return [to_delivery(row) for row in self.rows(SQL["deliveries_of"], (self.tenant, seq))]

    def dead(self, limit: int = PAGE) -> list[Mail]:
        return [to_mail(row) for row in self.rows(SQL["mail_dead"], (self.tenant, _page(limit)))]

    def history(self, seq: int, recipient: str) -> list[Event]:
        """The events of one delivery after it was stored, oldest first."""
        rows = self.rows(SQL["events_of_delivery"], (self.tenant, seq, recipient))
        return [to_event(row) for row in rows]

    def restless(self, recipient: str) -> bool:
        """Whether anything is ready for, or offered to, a recipient."""
        return bool(self.row(SQL["restless"], (self.tenant, recipient))[0])

    def counts(self, recipient: str) -> tuple[int, int, int, int]:
        """(ready, offered, held, and of what is ready: uncertain)."""
        return self.row(SQL["counts"], (self.tenant, recipient))

    # events

    def events(self, after: str = "", limit: int = PAGE) -> list[Event]:
        """Events in order, after an opaque cursor (`cursor`)."""
        position = _position(after, 0)
        rows = self.rows(SQL["events_after"], (self.tenant, position, _page(limit)))
        return [self._whole(to_event(row)) for row in rows]

    def events_before(self, before: str = "", limit: int = PAGE, party: str | None = None) -> list[Event]:
        """Events backwards from a cursor, newest first, of all or of what concerns one agent or person."""
        position = _position(before, _LAST)
        rows = self.rows(SQL["events_before"], (self.tenant, position, _page(limit), party))
        return [self._whole(to_event(row)) for row in rows]

    def _whole(self, event: Event) -> Event:
        """A `message.sent` is kept as the message's own row: put it together again."""
        if event.type != "message.sent":
            return event
        row = self.row(SQL["recipients_of"], (self.tenant, event.seq))
        return event._replace(payload={"recipients": read_json(row[0])}, message=self.message_at(event.seq))

    def cursor(self, event: Event) -> str:
        """The opaque cursor that stands after an event."""
        return str(event.seq)

    def last_cursor(self) -> str:
        return str(self.row(SQL["event_last"], (self.tenant,))[0] or 0)

    def event_id(self, seq: int) -> str | None:
        row = self.row(SQL["event_id"], (self.tenant, seq))
        return row[0] if row else None

    def followers(self, beginning: str) -> list[str]:
        return [str(row[0]) for row in self.rows(SQL["followers"], (self.tenant, beginning))]

    def lag(self, follower: str) -> tuple[int, int | None]:
        """How many events a follower is behind, and when the first of them was."""
        lag, event, message = self.row(SQL["follower_lag"], (self.tenant, follower))
        return max(0, lag), min((at for at in (event, message) if at is not None), default=None)

    def position(self, follower: str) -> str:
        """The cursor up to which a follower of the events has come."""
        row = self.row(SQL["follower_get"], (self.tenant, follower))
        return str(row[0]) if row else ""
