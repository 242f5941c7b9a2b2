"""The views for any SQLite client: their columns, their words, and that they are read while others write."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime

import pytest

from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.keep import redact
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.conftest import OpenRoom

QUEUE = "from_agent to_agent type correlation_id payload status created_at claimed_at done_at"
AGENT_MESSAGES = (
    "id tenant project_id sender_agent_id sender_agent_type sender_session_id recipient_agent_id message_type"
    " content metadata delivered_at read_at created_at sender_id recipient_id"
)
LEGACY_QUEUE = "id from_agent to_agent type correlation_id payload status created_at claimed_at done_at"
LEGACY_EVENTS = (
    "id tenant_id conversation_id agent_id human_id channel_id type role timestamp payload refs status"
)
EXACT = {"agent_messages": AGENT_MESSAGES, "legacy_queue": LEGACY_QUEUE, "legacy_events": LEGACY_EVENTS}
SEVEN = {
    "human_message", "agent_message", "tool_call", "tool_result", "interrupt", "system", "voice_transcript",
}  # fmt: skip


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
@pytest.mark.parametrize(("view", "columns"), [("queue", QUEUE), *EXACT.items()])
def test_a_view_has_the_columns_it_is_documented_with(room: LocalRoom, client, view: str, columns: str):
    room.send("builder", "one")
    row = rows(client, view)[-1]
    assert set(columns.split()) <= set(row.keys())
    if view in EXACT:
        assert columns.split() == row.keys()
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
    assert (row["sender_agent_id"], row["recipient_agent_id"]) == ("planner", "builder")
    assert (row["sender_id"], row["recipient_id"]) == (room.who("planner").id, room.who("builder").id)
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


# agent_messages


def mails(client: sqlite3.Connection) -> list[sqlite3.Row]:
    """In the order in which they were sent."""
    return client.execute(
        "SELECT v.* FROM agent_messages v JOIN message m ON m.id = v.id ORDER BY m.seq, v.recipient_id"
    ).fetchall()


@pytest.mark.promise("views")
def test_the_type_of_a_sender_is_what_its_frame_said_else_its_role(room: LocalRoom, client):
    room.join("human:ana")
    room.join("nameless")
    said = {"relayed": {"agent_type": "orchestrator", "type": "status"}}
    room.send("builder", "1", metadata=said)
    room.send("builder", "2")
    room.send("builder", "3", sender="nameless")
    room.send("builder", "4", sender="human:ana")
    for odd in ("text", {"agent_type": ["a", "list"]}, {"agent_type": ""}, {"agent_type": None}):
        room.send("builder", "odd", metadata={"relayed": odd})
    room.nack(room.send("builder", "5").id, "no", agent="builder")
    found = [row["sender_agent_type"] for row in mails(client)]
    assert found[:4] == ["orchestrator", "planner", "agent", "human"]
    assert found[4:8] == ["planner"] * 4
    assert found[8:] == ["planner", "system"]


@pytest.mark.promise("views")
def test_metadata_is_an_object_for_every_message(room: LocalRoom, client):
    sent = room.send("builder", "plain")
    room.send("builder", "more", metadata={"a": 1})
    assert [row["metadata"] for row in mails(client)] == ["{}", '{"a":1}']
    redact(room, sent.id)
    assert [row["metadata"] for row in mails(client)] == ["{}", '{"a":1}']


def test_names_are_those_of_now_and_the_room_has_its_own(room: LocalRoom, client):
    room.send("builder", "one")
    room.rename("maker", agent="builder")
    room.nack(room.send("maker", "two").id, "no", agent="maker")
    found = [(row["sender_agent_id"], row["recipient_agent_id"]) for row in mails(client)]
    assert found == [("planner", "maker"), ("planner", "maker"), ("postroom", "planner")]


def test_the_mail_of_one_recipient_is_found_by_its_key(room: LocalRoom, client):
    """Otherwise a client that asks for one mailbox reads all of them."""
    for view, column in (("agent_messages", "recipient_agent_id"), ("agent_messages", "recipient_id"),
                         ("legacy_queue", "to_agent")):  # fmt: skip
        plan = client.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE {column} = 'builder'")  # noqa: S608
        steps = [row["detail"] for row in plan]
        assert any(
            re.match(r"SEARCH d USING (PRIMARY KEY|INDEX \w+) \(tenant=\? AND recipient=\?", s) for s in steps
        ), steps
        assert any(s.startswith("SEARCH m USING INTEGER PRIMARY KEY") for s in steps), steps


# legacy_queue


def legacy(client: sqlite3.Connection, ref: str, to: str = "builder") -> sqlite3.Row:
    [row] = [row for row in rows(client, "legacy_queue") if (row["id"], row["to_agent"]) == (ref, to)]
    return row


@pytest.mark.promise("views")
@pytest.mark.parametrize(
    ("reach", "status"),
    [
        (_stored, "pending"), (_held, "pending"), (_offered, "claimed"), (_seen, "done"), (_acked, "done"),
        (_bounced, "done"), (_expired, "done"), (_withdrawn, "done"), (_dead, "done"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)  # fmt: skip
def test_the_legacy_queue_counts_every_state_in_unix_seconds(
    room: LocalRoom, client, clock: Clock, reach, status: str
):
    clock.advance(0.7)
    began = clock.now
    reach(room)
    row = next(row for row in rows(client, "legacy_queue") if row["to_agent"] == "builder")
    delivery = room.receipts(row["id"]).deliveries[0]
    assert (row["status"], row["created_at"]) == (status, began // 1000)
    claimed = delivery.offered_at if status != "pending" else None
    done = delivery.seen_at or delivery.ended_at
    assert row["claimed_at"] == (claimed and claimed // 1000)
    assert row["done_at"] == (done and done // 1000)
    assert (row["done_at"] is not None) == (status == "done")


@pytest.mark.promise("views")
def test_what_asks_for_an_acknowledgement_is_done_when_it_is_acknowledged(
    room: LocalRoom, client, clock: Clock
):
    sent = room.send("builder", "x", requires_ack=True)
    room.settle(take(room))
    seen = legacy(client, sent.id)
    assert (seen["status"], seen["done_at"]) == ("claimed", None)
    clock.advance(5)
    room.ack(sent.id, agent="builder")
    acked = legacy(client, sent.id)
    assert (acked["status"], acked["done_at"]) == ("done", clock.now // 1000)


@pytest.mark.promise("views")
@pytest.mark.parametrize("by_hand", [False, True])
def test_what_was_replied_to_is_done(room: LocalRoom, client, clock: Clock, by_hand: bool):
    sent = room.send("builder", "how far?", type="request", requires_ack=True, correlation="c-7")
    room.settle(take(room))
    clock.advance(5)
    if by_hand:  # an answer that acknowledges nothing
        answer = room.send("planner", "done", sender="builder", reply_to=sent.id)
    else:
        answer = room.reply(sent.id, "done", agent="builder")
    asked = legacy(client, sent.id)
    assert (asked["type"], asked["status"], asked["done_at"]) == ("request", "done", clock.now // 1000)
    replied = legacy(client, answer.id, "planner")
    assert (replied["type"], replied["status"]) == ("response", "pending")
    assert replied["correlation_id"] == (None if by_hand else "c-7")


def test_a_reply_of_another_recipient_does_not_end_ours(room: LocalRoom, client):
    room.join("reviewer")
    sent = room.send("@all", "who can?", type="request", requires_ack=True)
    for name in ("builder", "reviewer"):
        mail = room.take(name)
        assert mail is not None
        room.settle(mail)
    room.send("planner", "I", sender="reviewer", reply_to=sent.id)
    assert legacy(client, sent.id)["status"] == "claimed"
    assert legacy(client, sent.id, "reviewer")["status"] == "done"


@pytest.mark.promise("views")
def test_the_legacy_queue_knows_requests_responses_and_broadcasts(room: LocalRoom, client):
    room.join("reviewer", role="reviewer")
    room.join("lead")
    room.join("planner", supervisor="lead")
    room.subscribe("news", agent="builder")
    plain = room.send("builder", "do it")
    kinds = {
        plain.id: "request",
        room.send("builder", "", type="assign", payload={"task_id": "T-1"}).id: "request",
        room.send("one:@reviewers", "one of you").id: "request",
        room.send("@up", "help").id: "request",
        room.send("@all", "all of you").id: "broadcast",
        room.send("@reviewers", "you two").id: "broadcast",
        room.send("topic:news", "read this").id: "broadcast",
        room.send("@all", "who?", type="request").id: "request",
        room.reply(plain.id, "done", agent="builder").id: "response",
        room.send("planner", "more", sender="builder", reply_to=plain.id).id: "response",
    }
    found = {row["id"]: row["type"] for row in rows(client, "legacy_queue")}
    assert {ref: found[ref] for ref in kinds} == kinds
    payloads = {row["id"]: json.loads(row["payload"]) for row in rows(client, "legacy_queue")}
    assert payloads[plain.id] == {"text": "do it"}
    assert {"task_id": "T-1"} in payloads.values()


# legacy_events


def events(client: sqlite3.Connection, kind: str) -> list[sqlite3.Row]:
    return [row for row in rows(client, "legacy_events") if row["type"] == kind]


@pytest.mark.promise("views")
def test_legacy_events_have_seven_types_names_and_references(room: LocalRoom, client, clock: Clock):
    room.join("human:ana")
    clock.advance(0.7)
    asked = room.send("builder", "how far?", sender="human:ana")
    replied = room.reply(asked.id, "half", agent="builder")
    spoken = room.send(
        "builder", "halt", sender="human:ana", type="voice_transcript", payload={"language": "en"}
    )
    halt = room.send("builder", "stop", type="interrupt", payload={"kind": "stop"})
    called = room.send("builder", "", type="tool_call", payload={"tool": "ls", "call_id": "1"})
    with room.write() as tx:
        tx.append("tool_result", room.who("builder").id, payload={"tool": "ls"}, role="tool")
        tx.append("agent.interrupted", room.who("builder").id, payload={"kind": "stop", "message": None})
        tx.append("agent.interrupted", room.who("builder").id, payload={"kind": "stop", "message": halt.id})
    room.nack(room.send("builder", "no").id, "why", agent="builder")
    found = {row["id"]: row for row in rows(client, "legacy_events")}
    assert {row["type"] for row in found.values()} <= SEVEN
    assert [found[one.id]["type"] for one in (asked, replied, spoken, halt, called)] == [
        "human_message", "agent_message", "voice_transcript", "interrupt", "tool_call",
    ]  # fmt: skip
    assert json.loads(found[spoken.id]["payload"]) == {"language": "en", "text": "halt"}
    said, answer = found[asked.id], found[replied.id]
    assert (said["agent_id"], said["human_id"], said["role"]) == (None, "ana", "human")
    assert (answer["agent_id"], answer["human_id"], answer["role"]) == ("builder", None, "agent")
    assert (said["tenant_id"], said["conversation_id"]) == ("local", asked.message.thread)
    assert (said["timestamp"], said["channel_id"]) == (asked.message.created_at // 1000, None)
    assert (json.loads(said["payload"]), json.loads(said["refs"])) == ({"text": "how far?"}, [])
    assert json.loads(answer["refs"]) == [asked.id]
    [result] = events(client, "tool_result")
    assert (result["agent_id"], json.loads(result["payload"])) == ("builder", {"tool": "ls"})
    assert len(events(client, "interrupt")) == 2  # the message, and what a bridge did without one
    acked = next(row for row in events(client, "system") if row["status"] == "acked")
    assert (acked["agent_id"], json.loads(acked["refs"])) == ("builder", [asked.id])
    bounce = next(row for row in events(client, "system") if json.loads(row["payload"]).get("bounce"))
    assert (bounce["agent_id"], bounce["human_id"], bounce["role"]) == (None, None, "system")


@pytest.mark.promise("views")
def test_every_event_of_a_busy_room_is_a_legacy_event(room: LocalRoom, client):
    for reach in (_stored, _held, _offered, _seen, _acked, _bounced, _expired, _withdrawn):
        reach(room)
    found = rows(client, "legacy_events")
    assert sorted(row["id"] for row in found) == sorted(event.id for event in room.events())
    for row in found:
        assert row["type"] in SEVEN
        assert isinstance(row["timestamp"], int)
        assert isinstance(json.loads(row["payload"]), dict)
        refs = json.loads(row["refs"])
        assert isinstance(refs, list)
        assert all(isinstance(ref, str) for ref in refs)


def test_what_was_deleted_leaves_events_that_can_be_read(room: LocalRoom, client):
    gone = room.send("builder", "old")
    room.take("builder")
    room.withdraw(room.send("builder", "back").id)
    with room.write() as tx:
        tx.append("room.pruned", payload={"before": 0, "messages": [gone.message.seq], "last": False})
    assert all(json.loads(row["refs"]) is not None for row in rows(client, "legacy_events"))
    assert len(rows(client, "legacy_events")) == len(list(room.events()))
