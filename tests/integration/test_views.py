"""The views for any SQLite client: their columns, their words, and that they are read while others write."""

import json
import os
import sqlite3
from collections.abc import Iterator
from datetime import datetime

import pytest

from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.conftest import OpenRoom

QUEUE = "from_agent to_agent type correlation_id payload status created_at claimed_at done_at"
AGENT_MESSAGES = (
    "project_id sender_agent_id sender_agent_type sender_session_id message_type content metadata"
    " delivered_at read_at created_at"
)


@pytest.fixture
def room(open_room: OpenRoom, clock: Clock) -> LocalRoom:
    room = open_room("planner", clock=clock)
    room.join("planner", role="planner")
    room.join("builder")
    return room


@pytest.fixture
def client(room: LocalRoom) -> Iterator[sqlite3.Connection]:
    """A plain client that can only read."""
    path = os.path.join(room.home, "room.db")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


def rows(client: sqlite3.Connection, view: str) -> list[sqlite3.Row]:
    return client.execute(f"SELECT * FROM {view}").fetchall()  # noqa: S608 - one of two names


def take(room: LocalRoom, **options) -> Mail:
    mail = room.take("builder", **options)
    assert mail is not None
    return mail


def at(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.promise("views")
@pytest.mark.parametrize(("view", "columns"), [("queue", QUEUE), ("agent_messages", AGENT_MESSAGES)])
def test_a_view_has_the_columns_it_is_documented_with(room: LocalRoom, client, view: str, columns: str):
    room.send("builder", "one")
    [row] = rows(client, view)
    assert set(columns.split()) <= set(row.keys())
    page = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reference", "sql.md")
    with open(page, encoding="utf-8") as file:
        documented = file.read()
    assert [column for column in row.keys() if f"`{column}`" not in documented] == []  # noqa: SIM118 - a Row


def _stored(room: LocalRoom) -> None:
    room.send("builder", "x")


def _held(room: LocalRoom) -> None:
    room.send("builder", "x", after=60)


def _offered(room: LocalRoom) -> None:
    _stored(room)
    take(room)


def _seen(room: LocalRoom) -> None:
    _stored(room)
    room.settle(take(room))


def _acked(room: LocalRoom) -> None:
    _stored(room)
    room.ack(take(room))


def _bounced(room: LocalRoom) -> None:
    room.nack(room.send("builder", "x").id, "no", agent="builder")


def _expired(room: LocalRoom) -> None:
    room.send("builder", "x", expires=1)
    room.store.clock.advance(2)  # type: ignore[attr-defined]
    room.sweep()


def _withdrawn(room: LocalRoom) -> None:
    room.withdraw(room.send("builder", "x").id)


def _dead(room: LocalRoom) -> None:
    _stored(room)
    for _ in range(room.settings.max_unproven):
        take(room, handed=False)
        room.store.clock.advance(60)  # type: ignore[attr-defined]
        room.sweep()


@pytest.mark.promise("views")
@pytest.mark.parametrize(
    ("reach", "state", "status"),
    [
        (_stored, State.STORED, "pending"),
        (_held, State.STORED, "pending"),
        (_offered, State.OFFERED, "claimed"),
        (_seen, State.SEEN, "claimed"),
        (_acked, State.ACKED, "done"),
        (_bounced, State.BOUNCED, "done"),
        (_expired, State.EXPIRED, "done"),
        (_withdrawn, State.WITHDRAWN, "done"),
        (_dead, State.DEAD, "done"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_the_queue_shows_every_state_as_pending_claimed_or_done(
    room: LocalRoom, client, reach, state: State, status: str
):
    began = room.store.clock()
    reach(room)
    row = next(row for row in rows(client, "queue") if row["to_agent"] == "builder")
    delivery = room.receipts(row["id"]).deliveries[0]
    assert delivery.state is state
    assert row["status"] == status
    assert at(row["created_at"]) == began
    assert at(row["claimed_at"]) == delivery.offered_at
    assert at(row["done_at"]) == delivery.ended_at
    assert (row["done_at"] is not None) == (status == "done")


def test_the_queue_names_sender_recipient_and_content(room: LocalRoom, client):
    room.send("builder", "plain text")
    room.send("builder", "", payload={"task_id": "T-1"}, type="assign", correlation="c-1")
    plain, typed = rows(client, "queue")
    assert (plain["from_agent"], plain["to_agent"], plain["type"]) == ("planner", "builder", "note")
    assert json.loads(plain["payload"]) == {"text": "plain text"}
    assert (typed["type"], typed["correlation_id"]) == ("assign", "c-1")
    assert json.loads(typed["payload"]) == {"task_id": "T-1"}


@pytest.mark.promise("views")
def test_delivered_is_when_it_was_handed_over_and_read_is_when_it_was_seen(
    room: LocalRoom, client, clock: Clock
):
    sent = room.send("builder", "hello", metadata={"a": 1}, type="status")
    clock.advance(1)
    mail = take(room)
    clock.advance(1)
    room.settle(mail)
    [row] = rows(client, "agent_messages")
    assert row["id"] == sent.id
    assert row["project_id"] == "p"
    assert row["sender_agent_id"] == room.who("planner").id
    assert row["sender_agent_type"] == "planner"
    assert row["sender_session_id"] is None
    assert (row["message_type"], row["content"]) == ("status", "hello")
    assert json.loads(row["metadata"]) == {"a": 1}
    times = [at(row[name]) for name in ("created_at", "delivered_at", "read_at")]
    assert times == [clock.now - 2000, clock.now - 1000, clock.now]


def test_what_is_only_claimed_is_not_called_delivered(room: LocalRoom, client):
    room.send("builder", "hello")
    take(room, handed=False)
    [row] = rows(client, "agent_messages")
    assert row["delivered_at"] is None
    assert row["read_at"] is None


@pytest.mark.promise("views")
def test_a_client_can_read_while_others_write_and_cannot_write_itself(room: LocalRoom, client):
    with room.write() as tx:
        tx.append("agent.left", room.who("builder").id)
        assert rows(client, "queue") == []
    room.send("builder", "one")
    assert len(rows(client, "queue")) == 1
    with pytest.raises(sqlite3.OperationalError):
        client.execute("DELETE FROM message")


def test_a_message_for_several_is_a_row_for_each(room: LocalRoom, client):
    room.join("reviewer")
    room.send("@all", "for two")
    assert sorted(row["to_agent"] for row in rows(client, "queue")) == ["builder", "reviewer"]
