"""A room of version 3, where what another has lay among what is held until its time, is brought up to date.

`tests/data/rooms/version-3` is such a room, made and pruned by that version itself: its file as SQL, its
journals and its snapshot.
"""

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from postroom.errors import StoreNewer
from postroom.model.ladder import State
from postroom.room import backup, digest, journal, replay
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.store.sqlite import migrate
from postroom.store.sqlite.statement import DEAD, DONE, HELD, KEPT, OFFERED, TAKEN
from tests.clockwork import START, Clock
from tests.conftest import OpenRoom
from tests.process import ROOT, Child

OLD = os.path.join(ROOT, "tests", "data", "rooms", "version-3")
LATER = 200.0  # seconds after the old room was made: nothing in it is due yet
PLACES = "SELECT recipient, place, seq FROM delivery ORDER BY 1, 2, 3"


@pytest.fixture
def old(home: str) -> str:
    """The home of a room of version 3."""
    os.makedirs(home, mode=0o700)
    shutil.copytree(os.path.join(OLD, "events"), os.path.join(home, "events"))
    with open(os.path.join(OLD, "room.sql"), encoding="utf-8") as file, closing(connect(home)) as made:
        made.executescript(file.read())
        made.execute("PRAGMA journal_mode = WAL")
    return home


@pytest.fixture
def room(old: str, open_room: OpenRoom) -> LocalRoom:
    return open_room("planner", clock=Clock(START + int(LATER * 1000)))


def connect(home: str) -> sqlite3.Connection:
    return sqlite3.connect(os.path.join(home, "room.db"), isolation_level=None)


def deliveries(home: str) -> list[dict[str, Any]]:
    with closing(connect(home)) as there:
        cursor = there.execute("SELECT * FROM delivery ORDER BY seq, recipient")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


def until_alive(home: str) -> Iterator[str]:
    """The room as it is left by processes that were killed one statement later each, in turn."""
    number = 1
    while True:
        with Child("migrate_and_die", home, number) as child:
            code = child.process.wait(30)
        if code != -signal.SIGKILL:
            assert code == 0
            return
        yield home
        number += 1


@pytest.mark.promise("migrations")
def test_what_another_has_gets_a_place_of_its_own_and_all_else_stays_where_it_is(old: str, room: LocalRoom):
    before = deliveries(old)
    assert {row["place"] for row in before} == {5, HELD, OFFERED, DONE, DEAD}
    room.store.look()
    after = deliveries(old)
    assert [row | {"place": 0} for row in after] == [
        row | {"place": 0, "shown": None, "deferrals": 0} for row in before
    ]
    for was, now in zip(before, after, strict=True):
        taken = was["reason"] == "taken"
        assert now["place"] == ((TAKEN if was["claimer"] else KEPT) if taken else was["place"])
    assert {row["place"] for row in after} == {5, HELD, OFFERED, DONE, DEAD, TAKEN, KEPT}


@pytest.mark.promise("migrations")
def test_a_migrated_room_is_sound_and_its_old_journals_and_snapshot_rebuild_it(old: str, room: LocalRoom):
    found = verify(room, deep=True)
    assert (found.problems, found.skipped) == ([], [])
    rebuilt = replay.replay(journal.directory(room), f"{old}-rebuilt")
    assert rebuilt.snapshot is not None  # of version 3, with mail that another had
    assert rebuilt.digest == found.digest == digest.digest(room.store.whole())
    with closing(connect(old)) as here, closing(connect(f"{old}-rebuilt")) as there:
        assert here.execute(PLACES).fetchall() == there.execute(PLACES).fetchall()


@pytest.mark.promise("migrations")
def test_in_a_migrated_room_what_a_gone_program_had_comes_free_and_what_another_has_does_not(room: LocalRoom):
    sent = [event.message for event in room.events() if event.message]
    program, terminal, *_ = [message for message in sent if message.to == "one:@reviewers"]
    assert room.sweep() > 0
    free, held = (State.STORED, False), (State.STORED, True)
    assert standing(room, program.id) == {"ann": free, "ben": free, "cleo": free}
    assert standing(room, terminal.id) == {"ann": held, "ben": held, "cleo": (State.SEEN, False)}
    room.ack(terminal.id, agent="cleo")
    assert {state for state, _ in standing(room, terminal.id).values()} == {State.ACKED, State.WITHDRAWN}
    assert verify(room, deep=True).problems == []


def standing(room: LocalRoom, ref: str) -> dict[str, tuple[State, bool]]:
    return {d.recipient: (d.state, d.held) for d in room.receipts(ref).deliveries}


@pytest.mark.promise("migrations")
def test_a_backup_that_version_3_made_can_be_restored(old: str, open_room: OpenRoom):
    room = open_room("planner", home=f"{old}-other", clock=Clock(START + int(LATER * 1000)))
    room.join("somebody")
    backup.restore(room, os.path.join(old, "room.db"))
    assert {row["place"] for row in deliveries(f"{old}-other")} == {5, HELD, OFFERED, DONE, DEAD, TAKEN, KEPT}
    assert verify(room, deep=True).problems == []


@pytest.mark.promise("migrations")
def test_whoever_is_killed_while_it_migrates_leaves_the_room_as_it_was(old: str):
    before, kills = deliveries(old), 0
    with closing(connect(old)) as there:
        schema = there.execute("SELECT * FROM sqlite_master").fetchall()
    for home in until_alive(old):
        kills += 1
        with closing(connect(home)) as there:
            assert there.execute("PRAGMA user_version").fetchone() == (3,)
            assert there.execute("SELECT * FROM sqlite_master").fetchall() == schema
            assert there.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert deliveries(home) == before
    assert kills == len([s for n in range(4, migrate.VERSION + 1) for s in migrate.statements(n)])
    with closing(connect(old)) as there:
        assert there.execute("PRAGMA user_version").fetchone() == (migrate.VERSION,)
        assert there.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.promise("newer")
def test_a_process_of_version_3_can_neither_write_nor_newly_read_a_migrated_room(
    old: str, room: LocalRoom, open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
):
    room.peek("builder")
    monkeypatch.setattr(migrate, "VERSION", 3)
    with pytest.raises(StoreNewer):
        room.send("builder", "too late")
    with pytest.raises(StoreNewer):
        open_room("planner").peek("builder")
