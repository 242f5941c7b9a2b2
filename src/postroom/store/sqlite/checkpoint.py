"""Moves the WAL into the database away from the commit path, where it would cost milliseconds.

A long-lived writer has a thread that checkpoints passively while others write, and finishes the job
(letting the WAL start over) only when it has grown past a limit. A short-lived process leaves the WAL
to the next one, unless it has grown so long that reading it back would slow everyone's start.
"""

import contextlib
import os
import sqlite3
import time

from postroom.store.sqlite import connection as link

SECONDS_A_ROUND = 0.05
RESTART_PAGES = 4096  # 16 MB: past this, writers are held up once so that the WAL can start over
SHORT_LIVED_BYTES = 1 << 20  # a start reads the whole WAL when nobody else holds the room open


class Checkpointer:
    """One per process and room, made when this process is the one to pass the room's mark."""

    def __init__(self, path: str) -> None:
        import threading  # noqa: PLC0415 - `finish` runs at the end of every short life, and needs none

        self.path = path
        self._stopping = False
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="postroom-checkpoint", daemon=True).start()

    def wake(self) -> None:
        self._wake.set()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while self._wake.wait() and not self._stopping:
            time.sleep(SECONDS_A_ROUND)
            self._wake.clear()
            with contextlib.suppress(sqlite3.Error):  # busy: there is always a next time
                connection = connection or link.connect(self.path)
                checkpoint(connection)
        if connection is not None:
            connection.close()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()


def finish(connection: sqlite3.Connection, path: str) -> None:
    """At the end of a short life. Failing is harmless: the WAL stays and is read by the next process.

    Truncated, not only copied: the next process would not know that it was, and copy all of it again.
    """
    with contextlib.suppress(OSError, sqlite3.Error):
        if os.path.getsize(path + "-wal") > SHORT_LIVED_BYTES:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def checkpoint(connection: sqlite3.Connection) -> None:
    """Copy what can be copied without waiting; past the limit, wait so that the WAL can start over."""
    _busy, pages, _done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > RESTART_PAGES:
        connection.execute("PRAGMA busy_timeout = 200")
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
