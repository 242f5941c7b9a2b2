"""The queue everyone writes first: one SQLite table, WAL, an atomic claim, polled every 100 ms."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator

from benchmarks.peers.contract import Endpoint, Handle
from benchmarks.runtime import Plain

POLL = 0.1
BUSY_LIMIT = 30.0

SCHEMA = """
CREATE TABLE queue (
  id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'ready'
);
CREATE INDEX ready ON queue (mailbox, id) WHERE state = 'ready';
"""
PUT = "INSERT INTO queue (mailbox, body) VALUES (?, ?)"
CLAIM = """
UPDATE queue SET state = 'claimed'
WHERE id = (SELECT id FROM queue WHERE mailbox = ? AND state = 'ready' ORDER BY id LIMIT 1)
RETURNING id, body
"""
LOOK = "SELECT 1 FROM queue WHERE mailbox = ? AND state = 'ready' LIMIT 1"
DONE = "UPDATE queue SET state = 'done' WHERE id = ?"


class PolledSender:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def send(self, mailbox: int, body: str) -> None:
        self._connection.execute(PUT, (mailbox, body))


class PolledReceiver:
    def __init__(self, connection: sqlite3.Connection, mailbox: int) -> None:
        self._connection = connection
        self._mailbox = mailbox

    async def consume(self, handle: Handle) -> None:
        go_on = True
        while go_on:
            claimed = self._claim()
            if claimed is None:
                time.sleep(POLL)
                continue
            go_on = handle(claimed[1])
            self._connection.execute(DONE, (claimed[0],))

    async def rest(self) -> None:
        await self.consume(lambda body: True)

    def _claim(self) -> tuple[int, str] | None:
        """Looks first: an idle poller must not take the write lock."""
        if self._connection.execute(LOOK, (self._mailbox,)).fetchone() is None:
            return None
        return next(iter(self._connection.execute(CLAIM, (self._mailbox,)).fetchall()), None)


class SqlitePolled:
    name = "sqlite-polled"
    label = "SQLite queue, polled every 100 ms"
    runtime = Plain()
    broadcasts = False

    def missing(self) -> str:
        return ""

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        path = os.path.join(folder, "queue.db")
        connection = _open(path)
        connection.executescript(SCHEMA)
        connection.close()
        yield {"path": path, "pids": []}

    async def sender(self, endpoint: Endpoint, mailbox: int) -> PolledSender:
        return PolledSender(_open(endpoint["path"]))

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> PolledReceiver:
        return PolledReceiver(_open(endpoint["path"]), mailbox)


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_LIMIT)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


VARIANTS = {SqlitePolled.name: SqlitePolled()}
