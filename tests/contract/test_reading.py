"""How far a transcript was read is stored with what was found there, or not at all."""

import os
from pathlib import Path

import pytest

from postroom.model.reading import Reading
from postroom.room import backup
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter

READING = Reading("/t.jsonl", 42, {"open": {"c1": "Bash"}, "done": {}})


@pytest.fixture
def session(room: LocalRoom) -> str:
    with room.write() as tx:
        about = {"id": "claude:s1:main", "runtime": "claude", "process": "1.1.b.n", "epoch": 0}
        tx.append("session.started", room.who("builder").id, payload=about)
        tx.set_reading(about["id"], READING)
    return about["id"]


def unread(room: LocalRoom) -> list[str]:
    return [one.id for one in room.store.look().sessions_unread()]


def test_a_reading_is_kept_for_its_session_until_another_takes_its_place(
    room: LocalRoom, enter: Enter, session: str
):
    look = enter().store.look()
    assert (look.reading(session), look.reading("claude:s2:main")) == (READING, None)
    assert unread(room) == [session]
    done = READING._replace(position=50, is_open=False)
    with room.write() as tx:
        tx.set_reading(session, done)
    assert look.reading(session) == done
    assert unread(room) == []


def test_a_reading_goes_back_with_the_events_of_its_transaction(room: LocalRoom, session: str):
    tx = room.store.begin()
    tx.set_reading(session, READING._replace(position=50))
    room.store.rollback()
    assert room.store.look().reading(session) == READING


def test_a_restored_room_reads_on_from_where_its_events_end(room: LocalRoom, session: str, tmp_path: Path):
    backup.backup(room, os.path.join(tmp_path, "kept.db"))
    with room.write() as tx:
        tx.set_reading(session, READING._replace(position=50))
    backup.restore(room, os.path.join(tmp_path, "kept.db"))
    assert room.store.look().reading(session) == READING


def test_a_deleted_project_takes_its_readings_along(room: LocalRoom, session: str):
    room.delete_project("p")
    assert room.store.look().reading(session) is None
