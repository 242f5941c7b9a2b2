"""Moves the WAL into the database away from the commit path, where it would cost milliseconds.

A long-lived writer has a thread that checkpoints passively while others write, and finishes the job
(letting the WAL start over) only when it has grown past a limit. A short-lived process leaves the WAL
to the next one, unless it has grown so long that reading it back would slow everyone's start.
"""

import contextlib
import os
import sqlite3
from typing import Any

from postroom.store.sqlite import connection as link

COMMITS_A_ROUND = 64  # own commits before the thread looks
SECONDS_A_ROUND = 0.05
RESTART_PAGES = 4096  # 16 MB: past this, writers are held up once so that the WAL can start over
SHORT_LIVED_BYTES = 1 << 20  # a start reads the whole WAL when nobody else holds the room open


class Checkpointer:
    """One per process and room; costs nothing until the process has committed a good deal."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._commits = 0
        self._wake: Any = None
        self._stopping = False

    def committed(self) -> None:
        self._commits += 1
        if self._commits >= COMMITS_A_ROUND:
            self._commits = 0
            self._start()
            self._wake.set()

    def _start(self) -> None:
        if self._wake is not None:
            return
        import threading  # noqa: PLC0415 - a process that commits this often lives long

        self._wake = threading.Event()
        threading.Thread(target=self._run, name="postroom-checkpoint", daemon=True).start()

    def _run(self) -> None:
        import time  # noqa: PLC0415 - thread only

        connection = link.connect(self.path)
        try:
            while self._wake.wait() and not self._stopping:
                time.sleep(SECONDS_A_ROUND)
                self._wake.clear()
                with contextlib.suppress(sqlite3.Error):
                    checkpoint(connection)
        finally:
            connection.close()

    def finish(self, connection: sqlite3.Connection) -> None:
        """At the end of a short life. Failing is harmless: the WAL stays and is read by the next process."""
        with contextlib.suppress(OSError, sqlite3.Error):
            if os.path.getsize(self.path + "-wal") > SHORT_LIVED_BYTES:
                checkpoint(connection)

    def stop(self) -> None:
        self._stopping = True
        if self._wake is not None:
            self._wake.set()


def checkpoint(connection: sqlite3.Connection) -> None:
    """Copy what can be copied without waiting; past the limit, wait so that the WAL can start over."""
    _busy, pages, _done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > RESTART_PAGES:
        connection.execute("PRAGMA busy_timeout = 200")
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
