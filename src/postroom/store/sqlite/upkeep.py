"""What is done to a room's file as a whole: checked, copied, flushed, cleared of what was taken out of it."""

import sqlite3
import time

from postroom import errors
from postroom.store.sqlite import connection as link

PAGES_A_STEP = 1024


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

    def overwrite(self) -> None:
        self._connection.execute("PRAGMA secure_delete = ON")

    def empty_wal(self) -> None:
        deadline = time.monotonic() + self._patience
        while self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise errors.StoreBusy(
                    f"a reader keeps the WAL of {self._path} from being emptied", path=self._path
                )
            link.pause()

    def rewrite(self) -> None:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute("VACUUM")
                return
            except sqlite3.Error as exc:
                if not link.is_busy(exc) or time.monotonic() > deadline:
                    raise link.explain(exc, self._path) from exc
                link.pause()
