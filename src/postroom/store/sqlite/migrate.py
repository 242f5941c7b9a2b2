"""Brings a room's file to the schema this version knows. `schema.sql` is proven equal by a test."""

import contextlib
import os
import sqlite3

from postroom import errors, label
from postroom.model.ids import uuid7
from postroom.store.sqlite import connection as link

VERSION = 10
MIN_READER = 10  # an older process takes words that came with version 10 for damage
MIN_WRITER = 10
APPLICATION_ID = 0x706F7374  # "post"

_HERE = os.path.join(os.path.dirname(__file__), "migrations")


def migrate(connection: sqlite3.Connection, path: str, now: int, patience: float) -> None:
    """Create or upgrade the schema, one process at a time; others find it done."""
    refuse_strangers(connection, path)
    _in_wal_mode(connection, patience)
    link.begin(connection, patience)
    try:
        is_new = version(connection) == 0
        for number in range(version(connection) + 1, VERSION + 1):
            run(connection, number)
            _stamp(connection, number, now)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends it by itself, and must be what is told
            connection.execute("ROLLBACK")
        raise
    if is_new:
        # A damaged log must not take the schema with it: a file without one looks like a room to be made.
        label.here("room-made")
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def version(connection: sqlite3.Connection) -> int:
    """The schema version of a file; 0 when it is empty."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def run(connection: sqlite3.Connection, number: int) -> None:
    """Run one migration, inside the caller's transaction (`executescript` would commit it)."""
    for statement in statements(number):
        connection.execute(statement)
        label.here("migrating")


def statements(number: int) -> list[str]:
    """The statements of one migration, in order."""
    prefix = f"{number:04}_"
    [file_name] = [name for name in os.listdir(_HERE) if name.startswith(prefix)]
    with open(os.path.join(_HERE, file_name), encoding="utf-8") as file:
        return split(file.read())


def split(script: str) -> list[str]:
    """Split a script into whole statements; triggers keep their inner semicolons."""
    whole: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            whole.append(pending.strip())
            pending = ""
    return whole


def _stamp(connection: sqlite3.Connection, number: int, now: int) -> None:
    connection.execute(f"PRAGMA user_version = {number}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        "INSERT INTO meta (one, room, version, min_reader, min_writer, created_at) VALUES (1, ?, ?, ?, ?, ?)"
        " ON CONFLICT (one) DO UPDATE SET version = excluded.version, min_reader = excluded.min_reader,"
        " min_writer = excluded.min_writer",
        (uuid7(), number, MIN_READER, MIN_WRITER, now),
    )


def refuse_strangers(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a SQLite file that another program made."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise errors.StoreCorrupt(f"{path} is a SQLite file of something else", path=path)


def _in_wal_mode(connection: sqlite3.Connection, patience: float) -> None:
    waited = 0.0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if not link.is_busy(exc) or waited > patience:
                raise
            waited += link.pause()
