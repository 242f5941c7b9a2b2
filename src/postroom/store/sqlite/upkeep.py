"""What is done to a room's file as a whole: checked, copied, flushed, cleared of what was taken out of it."""

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import LiteralString

from postroom import errors
from postroom.store.sqlite import connection as link

PAGES_A_STEP = 1024
BLOCK = 1 << 20
MOST_TEXTS = 20  # values that are named


class Upkeep:
    """See `postroom.store.contract.Upkeep`. Its thread must have no transaction open."""

    def __init__(self, connection: sqlite3.Connection, path: str, patience: float) -> None:
        self._connection = connection
        self._path = path
        self._patience = patience

    def integrity(self, *, thorough: bool) -> list[str]:
        check = "PRAGMA integrity_check(20)" if thorough else "PRAGMA quick_check(20)"
        try:
            found = [str(row[0]) for row in self._connection.execute(check).fetchall()]
        except sqlite3.DatabaseError as exc:
            return [str(link.explain(exc, self._path))]
        return [] if found == ["ok"] else found

    def log(self) -> list[str]:
        from postroom.store.sqlite.log import unread  # noqa: PLC0415 - only who verifies

        if not unread(self._path):
            return []
        try:
            link.begin(self._connection, self._patience)  # nobody is writing to it then
        except sqlite3.Error as exc:
            problem = link.explain(exc, self._path)
            if not isinstance(problem, errors.StoreReadOnly):
                raise problem from exc
        try:
            lost = unread(self._path)
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        if not lost:
            return []
        if self._path not in _kept_logs:  # else the last connection that is closed would remove the log
            with suppress(sqlite3.Error):
                _kept_logs[self._path] = link.connect(self._path, readonly=True)
        what = f"{lost} {'transaction' if lost == 1 else 'transactions'}"
        return [
            f"the write-ahead log {self._path}-wal is damaged: {what} after the damage cannot be read; keep"
            " a copy of that file; to rebuild the room from its journals: postroom replay --into NEW_HOME;"
            " to let them go: postroom journal accept"
        ]

    def texts(self) -> list[str]:
        connection = link.connect(self._path, readonly=True)
        try:
            connection.text_factory = bytes
            return list(islice(_no_texts(connection), MOST_TEXTS))
        except sqlite3.Error as exc:
            raise link.explain(exc, self._path) from exc
        finally:
            connection.close()

    def copy(self, path: str) -> None:
        source, target = self._connection, sqlite3.connect(path, isolation_level=None)
        try:
            # The open read keeps the room as it is now: without it, every write of another process would
            # start the copying over.
            source.execute("BEGIN")
            source.execute("SELECT room FROM meta").fetchone()
            source.backup(target, pages=PAGES_A_STEP)
        except sqlite3.Error as exc:
            raise link.explain(exc, path) from exc
        finally:
            target.close()
            if source.in_transaction:
                source.execute("ROLLBACK")

    def flush(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    @contextmanager
    def overwriting(self) -> Generator[None]:
        execute = self._connection.execute
        before = ("OFF", "ON", "FAST")[int(execute("PRAGMA secure_delete").fetchone()[0])]
        execute("PRAGMA secure_delete = ON").fetchone()
        try:
            yield
        finally:
            execute(f"PRAGMA secure_delete = {before}").fetchone()

    def scrub(self, samples: list[bytes]) -> bool:
        self._empty_wal()
        if samples and not self._holds(samples):
            return False
        # Pages that were split or merged before may hold copies which no overwriting reaches.
        self._patiently("VACUUM")
        self._empty_wal()
        return self._holds(samples)

    def _empty_wal(self) -> None:
        waited = 0.0
        while self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if waited > self._patience:
                raise errors.StoreBusy(
                    f"a reader keeps the write-ahead log of {self._path} from being emptied", path=self._path,
                    hint="Nothing is lost: run it again to finish.",
                )  # fmt: skip
            waited += link.pause()

    def _patiently(self, statement: LiteralString) -> None:
        waited = 0.0
        while True:
            try:
                self._connection.execute(statement)
                return
            except sqlite3.Error as exc:
                if not link.is_busy(exc) or waited > self._patience:
                    raise link.explain(exc, self._path) from exc
                waited += link.pause()

    def _holds(self, samples: list[bytes]) -> bool:
        """Whether the file holds any of these bytes, be it in its free space."""
        descriptor = _raw(self._path)
        os.lseek(descriptor, 0, os.SEEK_SET)
        rest, longest = b"", max(map(len, samples), default=0)
        while block := os.read(descriptor, BLOCK):
            block = rest + block
            if any(sample in block for sample in samples):
                return True
            rest = block[-longest:]
        return False

    @contextmanager
    def beside(self, path: str) -> Generator[None]:
        self._connection.execute("ATTACH DATABASE ? AS kept", (path,))
        try:
            yield
        finally:
            self._connection.execute("DETACH DATABASE kept")


def _no_texts(connection: sqlite3.Connection) -> Iterator[str]:
    tables = connection.execute(
        "SELECT name FROM pragma_table_list"
        " WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'"
    ).fetchall()
    for (table,) in tables:
        cursor = connection.execute(f'SELECT * FROM "{table.decode()}"')  # noqa: S608 - the schema's names
        names = [column[0] for column in cursor.description]
        for row in cursor:
            for name, value in zip(names, row, strict=True):
                if isinstance(value, bytes) and not _is_text(value):
                    number = dict(zip(names, row, strict=True)).get("seq", row[0])
                    which = number.decode("utf-8", "replace") if isinstance(number, bytes) else number
                    yield f"{table.decode()} {which}: its {name} is not UTF-8"


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


# Connections that only read, to stores whose log is damaged: while one is open, no other removes the log.
_kept_logs: dict[str, sqlite3.Connection] = {}

# Closing any descriptor of a file drops every lock this process has on it, SQLite's own among them.
# So the one that reads a room's file past SQLite stays open.
_open_files: dict[tuple[int, int], int] = {}


def _raw(path: str) -> int:
    about = os.stat(path)
    key = (about.st_dev, about.st_ino)
    if key not in _open_files:
        _open_files[key] = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    return _open_files[key]
