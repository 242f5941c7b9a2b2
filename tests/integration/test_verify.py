"""Verify: a sound room has no problems, and every kind of harm is said in a sentence."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import pytest

from postroom.errors import StoreCorrupt
from postroom.room import journal, segment
from postroom.room import verify as verifying
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.store.sqlite.state import AUDIT
from tests.conftest import OpenRoom
from tests.room_activity import busy_room

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRoom]:
    """One busy room for all; every test undoes its harm."""
    with busy_room(str(tmp_path_factory.mktemp("busy") / "home"), steps=400, seed=1) as room:
        for handed in (True, False):
            room.join("last")
            room.send("last", "in every state", priority="urgent")
            assert room.take("last", handed=handed)
        for after in (None, 60):
            room.send("last", "in every state", after=after, expires=90)
        for agent in ("first", "second"):
            room.join(agent, role="pair")
        room.send("one:@pairs", "for one of two")
        assert room.take("first")
        journal.sync(room)
        yield room


def test_a_busy_room_has_no_problems(busy: LocalRoom) -> None:
    found = verify(busy)
    assert found.problems == []
    assert found.skipped == []
    assert set(AUDIT.names()) < set(found.checked)


def test_an_empty_room_has_no_problems(open_room: OpenRoom) -> None:
    assert verify(open_room()).problems == []


# How each fact can be violated.
HARMS = {
    "every delivery has its message": [
        "DELETE FROM message WHERE seq = (SELECT max(seq) FROM message)",
    ],
    "every delivery has its recipient": [
        "DELETE FROM agent WHERE name = 'builder'",
    ],
    "every message has its deliveries, and no others": [
        "DELETE FROM delivery WHERE seq = (SELECT max(seq) FROM delivery)",
        "UPDATE message SET recipients = '[\"a0\"]'",
        "UPDATE message SET recipients = '[]'",
    ],
    "every delivery has its message's priority": [
        "UPDATE delivery SET priority = (priority + 1) % 4",
    ],
    "every delivery stands where its latest event left it": [
        "UPDATE delivery SET last = NULL WHERE state = 'acked'",
        "UPDATE delivery SET state = 'seen' WHERE state = 'acked'",
        "UPDATE delivery SET last = 1 WHERE state = 'acked'",
        "UPDATE delivery SET last = 1000000",
    ],
    "every history is one chain": [
        "UPDATE event SET prev = seq WHERE prev IS NOT NULL",
    ],
    "every attempt is counted": [
        "UPDATE delivery SET attempts = attempts + 1",
    ],
    "every unproven attempt is counted": [
        "UPDATE delivery SET unproven = 7",
    ],
    "what is offered is under one claim": [
        "UPDATE delivery SET claimer = NULL WHERE state = 'offered'",
    ],
    "a claim lapses by the clock until it is handed over, and never after": [
        "UPDATE delivery SET due_at = iif(handed_at IS NULL, NULL, 1) WHERE state = 'offered'",
    ],
    "what is seen or acked has its evidence": [
        "UPDATE delivery SET evidence = NULL",
    ],
    "what was never shown has no evidence": [
        "UPDATE delivery SET evidence = 'agent'",
    ],
    "what has ended says when, and nothing else does": [
        "UPDATE delivery SET ended_at = NULL",
        "UPDATE delivery SET ended_at = 1",
    ],
    "what is held is held until a time, or while its recipient is muted or paused": [
        "UPDATE delivery SET place = 8, due_at = NULL WHERE place < 8",
        "UPDATE delivery SET place = 8, reason = 'muted', due_at = NULL WHERE place < 8",
        "UPDATE delivery SET place = 8, reason = 'paused', due_at = NULL WHERE place < 8",
    ],
    "the clock acts only on what is open": [
        "UPDATE delivery SET due_at = 1",
    ],
    "what waits in the queue is due when its message expires": [
        "UPDATE delivery SET due_at = 1 WHERE state = 'stored'",
    ],
    "only what was never offered counts as fresh": [
        "UPDATE delivery SET place = priority * 2 + 1, attempts = 1 WHERE place < 8",
    ],
    "every message's id ends in its number": [
        "UPDATE message SET id = '0000-00000000'",
        "UPDATE message SET seq = 1000000 WHERE seq = (SELECT max(seq) FROM message)",
    ],
    "the index of who wrote what is right as far as it goes": [
        "INSERT OR REPLACE INTO follower (tenant, name, position) VALUES ('local', 'sent', 1000)",
        "INSERT INTO sent (tenant, sender, seq) VALUES ('local', 'a1', 3)",
    ],
    "every delivery is in its mailbox once": [
        "INSERT INTO delivery (tenant, recipient, place, seq, state, priority, shown_before, attempts,"
        " unproven, stored_at) SELECT tenant, recipient, 11, seq, 'dead', priority, 0, 0, 0, 0"
        " FROM delivery WHERE place <> 11",
    ],
    "every delivery lies where its state says": [
        "UPDATE delivery SET place = 10 WHERE state = 'stored'",
        "UPDATE delivery SET priority = (priority + 1) % 4 WHERE place < 8",
        "UPDATE delivery SET place = 8 WHERE reason = 'taken'",
        "UPDATE delivery SET place = 25 - place WHERE reason = 'taken'",
        "UPDATE delivery SET place = 12, claimer = 'x' WHERE place = 8",
    ],
    "a redacted message has no content": [
        "UPDATE message SET redacted = '{}'",
    ],
    "the log has no gap": [
        "DELETE FROM event WHERE seq = (SELECT seq FROM event ORDER BY seq DESC LIMIT 1 OFFSET 5)",
        "UPDATE event SET type = 'room.restored', payload = json_object('after', (SELECT seq - 1 FROM event"
        " ORDER BY seq DESC LIMIT 1 OFFSET 5)) WHERE seq = 1; "
        "DELETE FROM event WHERE seq = (SELECT seq FROM event ORDER BY seq DESC LIMIT 1 OFFSET 5)",
    ],
    "the log begins at the beginning, or where it was pruned": [
        "DELETE FROM event WHERE seq = 1",
    ],
    "no number is used twice": [
        "UPDATE event SET seq = (SELECT min(seq) FROM message) WHERE seq = 1",
    ],
    "whoever follows a topic is here": [
        "INSERT INTO subscription (tenant, project, topic, agent, since) VALUES ('local', 'p', 'x', 'a0', 1)",
    ],
    "what is for one of several is held for the others": [
        "UPDATE delivery SET place = priority * 2 + 1, reason = NULL WHERE reason = 'taken'",
        "UPDATE delivery SET place = 8, reason = 'taken', due_at = NULL WHERE state = 'stored'",
    ],
    "every decision is about a gate, and was told": [
        "INSERT INTO decision (tenant, gate, option, note, by, answer, at)"
        " VALUES ('local', 1, 'x', '', 'a', 2, 1)",
    ],
    "every lease is one agent's, and has a holder with a context or none": [
        "UPDATE lease SET holder = 'x', context = NULL",
    ],
    "no follower is ahead of the log": [
        "UPDATE follower SET position = 1000000",
    ],
}


@pytest.mark.parametrize(("fact", "harm"), [(fact, harm) for fact in HARMS for harm in HARMS[fact]])
def test_harm_to_the_state_is_said(busy: LocalRoom, fact: str, harm: str) -> None:
    busy.store.begin()
    connection: sqlite3.Connection = busy.store.look().connection  # type: ignore[attr-defined]
    try:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in harm.split("; "):
            connection.execute(statement)
        found = dict(busy.store.whole().audit())
    finally:
        busy.store.rollback()
        connection.execute("PRAGMA ignore_check_constraints = OFF")
    assert found[fact], {name: sentences for name, sentences in found.items() if sentences}
    assert all(isinstance(sentence, str) for sentence in found[fact])


def test_every_fact_can_be_violated() -> None:
    assert set(HARMS) == set(AUDIT.names())


@pytest.mark.parametrize("page", [2, 12])
def test_a_damaged_file_is_said_and_nothing_further_is_concluded(home: str, page: int) -> None:
    with busy_room(home) as room:
        room.store.upkeep().scrub([])
        path = room.store.path
    with open(path, "r+b") as file:
        file.seek(page * 4096)
        file.write(os.urandom(4 * 4096))
    with LocalRoom(home, room.settings, agent="planner", project="p") as room:
        found = verify(room)
    assert found.problems
    assert found.checked == ["the file is sound"]
    assert "damaged" in found.skipped[0]


def test_a_marker_over_waiting_mail_is_said(room: LocalRoom) -> None:
    builder = room.who("builder")
    assert room.hush("builder")
    assert verify(room).problems == []
    room.send("builder", "mail")
    room.quiet.lower(builder.id, clock_of(room) + 60_000)
    assert verify(room).problems == [
        f"the marker of {builder.id} promises quiet, and mail is waiting or offered"
    ]


def test_a_marker_that_outlasts_scheduled_mail_is_said(room: LocalRoom) -> None:
    builder = room.who("builder")
    room.send("builder", "later", after=30)
    until = room.hush("builder")
    assert until
    assert verify(room).problems == []
    room.quiet.lower(builder.id, until + 1)
    [problem] = verify(room).problems
    assert "but mail is due at" in problem


def clock_of(room: LocalRoom) -> int:
    tx = room.store.begin()
    room.store.rollback()
    return tx.now


def test_a_state_that_the_journals_do_not_tell_is_said(room: LocalRoom) -> None:
    room.send("builder", "what was sent")
    journal.sync(room)
    room.store.begin()
    room.store.look().connection.execute("UPDATE message SET body = 'what was not sent'")  # type: ignore[attr-defined]
    room.store.commit()
    [problem] = verify(room).problems
    assert problem == "message 4 is not as the journals have it: body"
    assert verify(room, deep=False).problems == []


def test_broken_journals_are_a_problem_not_an_error(room: LocalRoom) -> None:
    room.send("builder", "hello")
    journal.sync(room)
    path = journal.path(room, room.who("planner").id)
    with open(path, "r+b") as file:
        file.write(b"garbage")
    [problem] = verify(room).problems
    assert problem.startswith(f"the journals are broken: {path}:1: ")


def test_journals_that_never_stand_still_are_not_called_broken(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moved(_: segment.Segment) -> Iterator[tuple[int, bytes]]:
        raise segment.Moved
        yield

    journal.sync(room)
    monkeypatch.setattr(segment, "lines", moved)
    found = verify(room)
    assert found.problems == []
    assert "rewritten again and again" in found.skipped[0]


def test_a_large_room_is_not_replayed_unless_asked(room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.sync(room)
    monkeypatch.setattr(verifying, "DEEP_LIMIT", 3)
    found = verify(room)
    assert found.skipped == ["a replay of the journals, because there are 3 events"]
    assert verify(room, deep=True).skipped == []
    assert verify(room, deep=False).skipped == [
        "a replay of the journals, because only a quick check was wanted"
    ]


def test_a_room_that_can_only_be_read_is_checked_as_far_as_that_goes(room: LocalRoom) -> None:
    journal.sync(room)
    room.store.readonly = True
    found = verify(room)
    assert found.problems == []
    assert found.skipped == ["quiet markers, because the room can only be read"]
    assert journal.sync(room) == 0


def test_a_room_can_be_verified_while_others_write(open_room: OpenRoom, room: LocalRoom) -> None:
    def write() -> None:
        with LocalRoom(room.home, room.settings, agent="planner", project="p") as another:
            for n in range(300):
                another.send("builder", f"message {n}")
                if n % 10 == 0:
                    journal.sync(another)
                if mail := another.take("builder"):
                    another.ack(mail)

    writer = Thread(target=write)
    writer.start()
    rounds = 0
    while writer.is_alive() or rounds == 0:
        assert verify(room).problems == []
        rounds += 1
    writer.join()
    assert verify(room).problems == []


@pytest.mark.promise("verify")
@pytest.mark.parametrize("deep", [None, False])
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("event", "payload"),
        ("event", "type"),
        ("message", "body"),
        ("project", "name"),
        ("delivery", "state"),
    ],
)
def test_a_text_that_is_not_utf_8_is_named(
    room: LocalRoom, open_room: OpenRoom, table: str, column: str, deep: bool | None
) -> None:
    room.send("builder", "hello")
    room.take("builder")
    room.close()
    with closing(sqlite3.connect(room.store.path, isolation_level=None)) as use:
        use.execute("PRAGMA ignore_check_constraints = ON")
        done = use.execute(
            f"UPDATE {table} SET {column} = CAST(x'7bff7d' AS TEXT) WHERE {column} IS NOT NULL"  # noqa: S608
        )
        assert done.rowcount
    room = open_room("planner")
    found = verify(room, deep=deep)
    if deep is None:
        named = [one for one in found.problems if f"its {column} is not UTF-8" in one]
        assert named
        assert all(one.startswith(f"{table} ") for one in named)
        assert all("postroom replay --into NEW_HOME" in one for one in named)
    if (table, column) == ("event", "payload"):
        with pytest.raises(StoreCorrupt, match="damaged") as caught:
            list(room.events())
        assert "postroom replay" in caught.value.hint
