"""The one writer of a process with many threads: a connection that they write by in turn.

Who is done while others wait for their turn leaves what it wrote in the open transaction, and sleeps; the
last of them commits for all. So what many do at once, like claiming mail when a bell rang for fifty agents,
costs a few commits, and nobody sleeps at random for a lock that the next thread has. It is no thread of its
own: to hand each act to one would cost as much as most acts.

Each act is undone by itself when it fails. If the commit fails, none of them was done, and each is told so.
"""

import sqlite3
import threading
import time
from collections.abc import Callable

from postroom.store.sqlite import connection as link

Execute = Callable[[str], sqlite3.Cursor]

_MOST = 64  # acts in one transaction: the first of them waits for all others


class Batch:
    """Acts that share a transaction."""

    def __init__(self) -> None:
        self.acts = 0
        self.error: Exception | None = None
        self.done: threading.Event | None = None  # for who sleeps until it is committed; made in a turn


class Writer:
    """`begin` gives a thread the turn; `commit` or `rollback`, of the same thread, ends it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.commits = 0
        self._turn = threading.Lock()
        self._owner = 0  # the thread that has it
        self._guard = threading.Lock()
        self._waiting = 0
        self._is_crowded = False  # whether others came while the last transaction was under way
        self._batch: Batch | None = None  # while a transaction is open

    def begin(self, execute: Execute, patience: float, *, joins: bool) -> None:
        """`joins`: it may be one with what others have written and not committed yet.

        `execute`: of the cursor by which this thread writes.
        """
        left = self._wait(patience)
        try:
            if self._batch is not None and not joins:
                self._commit(self.connection.execute, self._batch)
            if self._batch is None:
                try:
                    execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as exc:
                    link.begin_contended(self.connection, exc, left)
                self._batch = Batch()
            else:
                execute("SAVEPOINT act")
        except BaseException:
            self._leave()
            raise

    def commit(self, execute: Execute, *, waits: bool) -> None:
        """`waits`: it may sleep until others are done, too. Raises the driver's error.

        `execute`: of the cursor by which this thread has written; a statement that is not over would keep
        the WAL from starting over.
        """
        batch = self._batch
        assert batch is not None
        batch.acts += 1
        if waits and self._is_crowded and not self._waiting:
            time.sleep(0)  # who was woken with this thread gets as far as to wait for it; takes some 60 µs
        if waits and self._waiting and batch.acts < _MOST:
            execute("RELEASE act" if batch.acts > 1 else "SELECT 1").fetchall()
            done = batch.done = batch.done or threading.Event()
            self._pass_on()
            done.wait()
        else:
            self._commit(execute, batch)
            self._pass_on()
        if batch.error is not None:
            raise batch.error

    def rollback(self, execute: Execute, cause: BaseException | None) -> None:
        """Undo what this thread did since `begin`, if it is its turn; what others did stays."""
        batch = self._batch
        if self._owner != threading.get_ident() or batch is None:
            return
        if not self.connection.in_transaction:  # SQLite itself has given it up, as on a full disk
            self._end(batch, cause if isinstance(cause, Exception) else sqlite3.OperationalError("lost"))
        elif batch.acts:
            execute("ROLLBACK TO act")
            execute("RELEASE act")
        else:
            execute("ROLLBACK")
            self._end(batch)
        self._leave()

    def _wait(self, patience: float) -> float:
        """For the turn. Who is counted as waiting takes it in any case: what is left open is left to it.

        How much patience it has left.
        """
        if self._owner == threading.get_ident():
            self.rollback(self.connection.execute, None)  # an interrupt came before who began it could end it
        if patience < 0:
            if not self._turn.acquire(blocking=False):
                raise _busy()
            self._owner = threading.get_ident()
            return patience
        began = time.monotonic()
        with self._guard:
            self._waiting += 1
        self._turn.acquire()
        with self._guard:
            self._waiting -= 1
        self._owner = threading.get_ident()
        return max(0.0, patience - (time.monotonic() - began))

    def _leave(self) -> None:
        if self._batch is not None and not self._waiting:
            self._commit(self.connection.execute, self._batch)
        self._pass_on()

    def _pass_on(self) -> None:
        self._owner = 0
        self._turn.release()

    def _commit(self, execute: Execute, batch: Batch) -> None:
        try:
            execute("COMMIT")
            self.commits += 1
            self._is_crowded = batch.acts > 1 or self._waiting > 0
            self._end(batch)
        except link.TROUBLE as exc:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            self._end(batch, exc)

    def _end(self, batch: Batch, error: Exception | None = None) -> None:
        batch.error = error
        self._batch = None
        if batch.done is not None:
            batch.done.set()


def _busy() -> sqlite3.OperationalError:
    found = sqlite3.OperationalError("another thread writes")
    found.sqlite_errorcode = link.BUSY
    return found
