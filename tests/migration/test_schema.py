"""The schema file equals what the migrations make, and a room is made once however many try."""

import os
import sqlite3
import threading
from contextlib import closing

import pytest

from postroom.config import Settings
from postroom.errors import NoRoom, StoreCorrupt, StoreNewer
from postroom.model.ladder import Evidence
from postroom.room.local import LocalRoom
from postroom.room.settle import see
from postroom.room.verify import verify
from postroom.store.sqlite import migrate, row
from postroom.store.sqlite.store import SqliteStore
from tests.clockwork import START, Clock
from tests.conftest import OpenRoom
from tests.process import ROOT, Child

HERE = os.path.dirname(migrate.__file__)
ROUNDS = 12


def normalised(connection: sqlite3.Connection) -> list[tuple[str, str, str, str]]:
    """All that the schema consists of; white space and comments do not count."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master").fetchall()
    return sorted((kind, name, table, words(sql)) for kind, name, table, sql in rows)


def words(sql: str) -> str:
    lines = [line.partition("--")[0] for line in sql.splitlines()]
    return " ".join(" ".join(lines).split())


def migrated() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for number in range(1, migrate.VERSION + 1):
        migrate.run(connection, number)
    return connection


@pytest.mark.promise("migrations")
def test_the_schema_file_equals_all_migrations_applied():
    with closing(migrated()) as by_steps, closing(sqlite3.connect(":memory:")) as at_once:
        with open(os.path.join(HERE, "schema.sql"), encoding="utf-8") as file:
            at_once.executescript(file.read())
        assert normalised(by_steps) == normalised(at_once)
        assert len(normalised(by_steps)) > 15


def from_version(number: int) -> sqlite3.Connection:
    """A room of an earlier version, brought up to date: version 1 as that version itself wrote it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if number == 1:
        with open(
            os.path.join(ROOT, "tests", "data", "rooms", "version-1", "room.sql"), encoding="utf-8"
        ) as file:
            connection.executescript(file.read())
    else:
        for step in range(1, number + 1):
            migrate.run(connection, step)
    for step in range(number + 1, migrate.VERSION + 1):
        migrate.run(connection, step)
    return connection


@pytest.mark.promise("migrations")
@pytest.mark.parametrize("number", [1, 9])
def test_a_room_of_an_earlier_version_comes_to_the_same_schema(number: int):
    with closing(from_version(number)) as brought, closing(sqlite3.connect(":memory:")) as at_once:
        with open(os.path.join(HERE, "schema.sql"), encoding="utf-8") as file:
            at_once.executescript(file.read())
        assert normalised(brought) == normalised(at_once)
        for view in ("queue", "agent_messages", "legacy_queue", "legacy_events"):
            brought.execute(f"SELECT * FROM {view}").fetchall()  # noqa: S608 - one of four names


def test_there_is_one_migration_a_version_and_none_beyond():
    names = sorted(os.listdir(os.path.join(HERE, "migrations")))
    assert [int(name[:4]) for name in names] == list(range(1, migrate.VERSION + 1))


def test_a_statement_ends_where_sqlite_says_and_a_trigger_keeps_its_inner_ones():
    script = (
        "-- a comment; with a semicolon\nCREATE TABLE a (x);\nCREATE INDEX i ON a (x); -- said after\n"
        "CREATE TRIGGER t BEFORE UPDATE ON a BEGIN\n  SELECT 1;\n  SELECT 2;\nEND;\n\n"
    )
    parts = migrate.split(script)
    assert len(parts) == 3
    with closing(sqlite3.connect(":memory:")) as connection:
        for part in parts:
            connection.execute(part)


def test_every_key_begins_with_the_tenant():
    """So that one store can hold many tenants, and a question never walks through another's rows."""
    with closing(migrated()) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        shared = {"meta", "event", "message"}  # one row in all; and numbered by the one sequence of the room
        for table in sorted(set(tables) - shared):
            key = [
                row[1]
                for row in sorted(connection.execute(f"PRAGMA table_info({table})"), key=lambda row: row[5])
                if row[5]
            ]
            assert key[0] == "tenant", table


def test_a_room_of_zero_bytes_is_made_into_one(home: str, open_room: OpenRoom):
    os.makedirs(home)
    with open(os.path.join(home, "room.db"), "wb"):
        pass
    room = open_room("planner")
    room.join("planner")
    assert [status.agent.name for status in room.agents()] == ["planner"]


def test_a_room_opened_again_is_the_same_room(open_room: OpenRoom):
    first = open_room("planner")
    first.join("builder")
    sent = first.send("builder", "one")
    first.close()
    again = open_room("planner")
    assert [mail.id for mail in again.peek("builder")] == [sent.id]
    assert again.send("builder", "two").message.seq == sent.message.seq + 1


def test_a_room_that_may_not_be_made_is_not_made(home: str, open_room: OpenRoom):
    with pytest.raises(NoRoom) as refusal:
        open_room("planner", create=False).peek()
    assert refusal.value.hint
    assert not os.path.exists(home)


def test_a_sqlite_file_of_something_else_is_refused_and_left_alone(home: str, open_room: OpenRoom):
    os.makedirs(home)
    path = os.path.join(home, "room.db")
    with closing(sqlite3.connect(path)) as stranger:
        stranger.execute("CREATE TABLE precious (x)")
        stranger.execute("INSERT INTO precious VALUES (1)")
        stranger.commit()
    with open(path, "rb") as file:
        before = file.read()
    for version in (0, migrate.VERSION, migrate.VERSION + 1):
        with closing(sqlite3.connect(path, isolation_level=None)) as stranger:
            stranger.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(StoreCorrupt, match="something else"):
            open_room("planner").join("planner")
    with closing(sqlite3.connect(path, isolation_level=None)) as stranger:
        stranger.execute("PRAGMA user_version = 0")
    with open(path, "rb") as file:
        after = file.read()
    assert after[100:] == before[100:]  # only the header's own counters, which this test wrote


@pytest.mark.promise("create-race")
def test_processes_that_make_the_room_at_once_all_find_it_made(tmp_path):
    """Many rounds: the race is about microseconds."""
    for number in range(ROUNDS):
        home = str(tmp_path / f"round-{number}")
        children = [Child("create", home) for _ in range(4)]
        try:
            for child in children:
                assert child.hear() == "ready"
            for child in children:
                child.tell("go")
            names = sorted(child.hear() for child in children)
            store = SqliteStore(os.path.join(home, "room.db"))
            assert sorted(agent.name for agent in store.look().agents()) == names
            events = [event.type for event in store.look().events()]
            assert sorted(events) == ["agent.joined"] * 4 + ["project.created"]
            store.close()
            with closing(sqlite3.connect(os.path.join(home, "room.db"))) as connection:
                assert connection.execute("SELECT count(*) FROM meta").fetchone() == (1,)
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        finally:
            for child in children:
                child.__exit__(None, None, None)


@pytest.mark.promise("create-race")
def test_threads_that_make_the_room_at_once_all_find_it_made(tmp_path):
    for number in range(30):
        room = LocalRoom(str(tmp_path / str(number)), Settings(), project="p")
        barrier = threading.Barrier(4)
        failures: list[BaseException] = []

        def join(n: int, room=room, barrier=barrier, failures=failures) -> None:
            try:
                barrier.wait(20)
                room.join(f"agent-{n}")
            except BaseException as exc:
                failures.append(exc)

        threads = [threading.Thread(target=join, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failures == []
        assert len(room.agents()) == 4
        room.close()


@pytest.mark.promise("private")
def test_everything_in_a_room_is_for_its_owners_eyes_only(home: str, open_room: OpenRoom):
    previous = os.umask(0o022)
    try:
        room = open_room("planner")
        room.join("planner")
        room.join("builder")
        room.send("builder", "one")
        room.hush("planner")
        listening = room.listen("builder")
        next(listening)
        room.wait("planner", timeout=0.001)
        modes = {}
        for where, directories, files in os.walk(home):
            for name in [*directories, *files]:
                path = os.path.join(where, name)
                if not os.path.islink(path):
                    modes[os.path.relpath(path, home)] = os.stat(path).st_mode & 0o077
        modes["."] = os.stat(home).st_mode & 0o077
        listening.close()  # type: ignore[attr-defined]
    finally:
        os.umask(previous)
    sockets = {name for name in modes if name.startswith(os.path.join("run", "bell") + os.sep)}
    assert {name: mode for name, mode in modes.items() if mode and name not in sockets} == {}
    assert len(modes) > 6


@pytest.mark.promise("migrations")
def test_a_room_of_version_1_is_brought_up_to_date_and_keeps_all_its_mail(home: str, open_room: OpenRoom):
    """`tests/data/rooms/version-1` was made by that version itself."""
    os.makedirs(home, mode=0o700)
    path = os.path.join(ROOT, "tests", "data", "rooms", "version-1", "room.sql")
    with open(path, encoding="utf-8") as file, closing(sqlite3.connect(f"{home}/room.db")) as made:
        made.executescript(file.read())
    room = open_room("planner", clock=Clock(START + 1000))
    assert [hit.message.body for hit in room.search("before")] == ["from before"]
    assert [mail.body for mail in room.peek("planner")] == ["from before"]
    assert [mail.delivery.due_at for mail in room.store.look().held(room.who("builder").id)] == [
        START + 60_000
    ]
    assert verify(room).problems == []
    room.manners("builder", mute=True)
    assert room.send("builder", "hello").deliveries[0].reason == "muted"


EVIDENCE = {10: "transcript runtime_ack boundary terminal agent inbox imported"}  # known to all that may read


def test_a_word_that_older_versions_take_for_damage_closes_the_room_to_them():
    """Whoever adds one raises `MIN_READER` with it, by a migration that may be empty."""
    assert set(EVIDENCE[migrate.MIN_READER].split()) == {str(word) for word in Evidence}
    assert migrate.MIN_WRITER >= migrate.MIN_READER


def test_a_process_of_the_version_before_is_told_that_the_room_is_newer_and_not_that_it_is_damaged(
    open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
):
    room = open_room("planner")
    room.join("builder")
    sent = room.send("builder", "one")
    taken = room.take("builder")
    assert taken is not None
    with room.write() as tx:
        mail = tx.mail(taken.delivery.seq, taken.delivery.recipient_id)
        assert mail is not None
        see(tx, mail, evidence=Evidence.INBOX)
    known = {str(word): word for word in Evidence if word not in (Evidence.INBOX, Evidence.IMPORTED)}
    monkeypatch.setattr(row, "_EVIDENCE", row._Words(known))
    with pytest.raises(StoreCorrupt, match="'inbox'") as damage:
        room.receipts(sent.id)
    assert "restart" in damage.value.hint
    monkeypatch.setattr(migrate, "VERSION", 8)
    with pytest.raises(StoreNewer):
        open_room("planner").receipts(sent.id)
    with pytest.raises(StoreNewer):
        room.send("builder", "two")
