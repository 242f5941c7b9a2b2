"""A value that was changed in the store, in any column of an event, a message or a delivery, is found."""

import sqlite3
from collections.abc import Iterator
from importlib.resources import files

import pytest

from postroom.room import journal
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.room_activity import busy_room

pytestmark = [pytest.mark.timeout(120), pytest.mark.promise("verify")]

TABLES = ("event", "message", "delivery")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRoom]:
    """One room for all; every test takes back its change."""
    with busy_room(str(tmp_path_factory.mktemp("busy") / "home"), steps=60, seed=1) as room:
        sent = room.send(
            "builder", "with all there is", subject="s", payload={"n": 1}, metadata={"m": 1}, key="k",
            after=5, expires=90, attachments=[b"file"],
        )  # fmt: skip
        room.reply(room.send("builder", "x", type="request").id, "y", agent="builder")
        room.send("builder", "in the same thread", reply_to=sent.id)
        room.take("builder")
        journal.sync(room)
        assert verify(room).problems == []
        yield room


def connection(room: LocalRoom) -> sqlite3.Connection:
    return room.store.look().connection  # type: ignore[attr-defined]


def columns() -> list[tuple[str, str]]:
    schema = sqlite3.connect(":memory:")
    schema.executescript(files("postroom.store.sqlite").joinpath("schema.sql").read_text("utf-8"))
    found = [
        (table, name)
        for table in TABLES
        for (name,) in schema.execute("SELECT name FROM pragma_table_info(?)", (table,))
    ]
    schema.close()
    return found


def changed(value: object) -> list[object]:
    """Values that one flipped bit, or a row that was overwritten, may leave."""
    match value:
        case None:
            return [1, "x"]
        case int():
            return [value ^ 1, value ^ (1 << 20), None]
        case str():
            other = chr(ord(value[-1]) ^ 1) if value else ""
            middle = len(value) // 2
            flipped = value[:middle] + chr(ord(value[middle]) ^ 1) + value[middle + 1 :] if value else "x"
            return [value[:-1] + other if value else "x", flipped, None]
    raise AssertionError(value)


@pytest.mark.parametrize(("table", "column"), columns())
def test_a_changed_value_is_found(busy: LocalRoom, table: str, column: str) -> None:
    use, tried = connection(busy), 0
    key = "seq" if table != "delivery" else "recipient, place, seq"
    rows = use.execute(f"SELECT {key}, {column} FROM {table} ORDER BY {column} IS NULL, seq").fetchall()  # noqa: S608 - the schema's names
    for *where, value in (rows[0], rows[len(rows) // 2], rows[-1]):
        for other in changed(value):
            use.execute("PRAGMA ignore_check_constraints = ON")
            condition = " AND ".join(f"{name.strip()} = ?" for name in key.split(","))
            try:
                done = use.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {condition}",  # noqa: S608
                    (other, *where),
                )
            except sqlite3.IntegrityError:
                continue  # the file would not be sound
            else:
                assert done.rowcount == 1
            tried += 1
            try:
                found = verify(busy)
                assert found.problems, (table, column, where, value, other)
                assert all(isinstance(problem, str) for problem in found.problems)
            finally:
                names = {"recipient", "place", "seq", "tenant", "tenant_id"}
                if column in names:
                    now = [
                        other if name.strip() == column else old
                        for name, old in zip(key.split(","), where, strict=True)
                    ]
                else:
                    now = where
                use.execute(f"UPDATE {table} SET {column} = ? WHERE {condition}", (value, *now))  # noqa: S608
                use.execute("PRAGMA ignore_check_constraints = OFF")
    assert tried
    assert verify(busy).problems == []
