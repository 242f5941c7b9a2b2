"""A room that only its maker sees: rebuilt from journals, to be compared and dropped, or moved into place."""

import sqlite3

from postroom.clock import Clock, wall
from postroom.store.sqlite import migrate
from postroom.store.sqlite.store import SqliteStore


class ScratchStore(SqliteStore):
    """For one thread. Nothing is durable before `close`; without a path it is gone then."""

    def __init__(self, path: str = "", *, tenant: str = "local", clock: Clock = wall) -> None:
        super().__init__(path, tenant=tenant, clock=clock)

    def _open(self) -> sqlite3.Connection:
        # An empty path makes a temporary file of SQLite's own, without a name: no crash leaves it behind.
        connection = sqlite3.connect(self.path, isolation_level=None, cached_statements=256)
        connection.execute("PRAGMA synchronous = OFF")
        migrate.migrate(connection, self.path, self.clock(), self.patience)
        return connection

    def _checkpoint_soon(self) -> None:
        """Checkpoints are SQLite's own here. A second connection would keep the last close from emptying the
        WAL, and the file is moved without it."""
