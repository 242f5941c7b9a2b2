"""A room in one SQLite file: WAL mode, one connection a thread, safe across forks."""

import contextlib
import os
import sqlite3
from _thread import _local as ThreadLocal  # pyright: ignore[reportPrivateUsage] - `threading` would cost a millisecond at every start
from typing import TYPE_CHECKING, Any

from postroom import errors, host
from postroom.clock import Clock, wall
from postroom.store.sqlite import connection as link
from postroom.store.sqlite import migrate
from postroom.store.sqlite.block import Hurry, Reading, Writing
from postroom.store.sqlite.read import SQL, ReadTx
from postroom.store.sqlite.write import WriteTx

if TYPE_CHECKING:
    from postroom.store.sqlite.search import Search
    from postroom.store.sqlite.state import Whole
    from postroom.store.sqlite.tally import Tally
    from postroom.store.sqlite.upkeep import Upkeep
    from postroom.store.sqlite.writer import Writer

# Connections a forked child inherited: closing one there would disturb the parent, so they are kept, unused.
_inherited: list[Any] = []


EVENTS_A_ROUND = 1024  # of the whole room between two checkpoints; who passes the mark makes the next
BYTES_A_ROUND = (
    8_000_000  # of messages of this process: long ones fill the WAL faster than a thread empties it
)

_BEGIN, _BEGIN_SENDING = SQL["begin"], SQL["begin_sending"]
_NONE = -1.0  # seconds of patience
_FORGOTTEN = (None, None, 0)  # what a room says of itself whose row in `meta` is gone


class SqliteStore:
    """The store contract on SQLite. See `postroom.store.contract`."""

    def __init__(
        self,
        path: str,
        *,
        tenant: str = "local",
        clock: Clock = wall,
        patience: float = 5.0,
        durability: str = "normal",
        create: bool = True,
        replaces: bool = False,
    ) -> None:
        """`replaces`: a backup is to be put in the place of what is here, so a lost room is no obstacle."""
        self.path = path
        self.tenant = tenant
        self.clock = clock
        self.patience = patience
        self.durability = durability
        self.readonly = False
        self._create = create
        self._replaces = replaces
        self._pid = os.getpid()
        self._threads = ThreadLocal()
        self._checkpointer: Any = None
        self._writer: Writer | None = None
        self._has_committed = False

    # connections

    def _connection(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            self._after_fork()
        connection = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self._open()
            by = self._writer.connection if self._writer else connection
            self._threads.write = WriteTx(by, self.tenant, self.path)
            self._threads.read = self._threads.look = ReadTx(connection, self.tenant, self.path)
            self._threads.end = link.Ending(connection)
        return connection

    def share(self) -> None:
        """From now on all threads write by one connection; see `writer`. Before any other thread is here."""
        from postroom.store.sqlite.writer import Writer  # noqa: PLC0415 - where many threads write

        self._connection()
        self._writer = Writer(self._open())
        self._threads.write = WriteTx(self._writer.connection, self.tenant, self.path)

    def _after_fork(self) -> None:
        _inherited.append((self._threads, self._checkpointer, self._writer))
        self._threads, self._checkpointer, self._pid = ThreadLocal(), None, os.getpid()
        self._writer = None

    def _open(self) -> sqlite3.Connection:
        try:
            size = os.path.getsize(self.path)
        except OSError:
            size = 0
        exists = size > 0
        if exists and host.owner_is_other(self.path):
            raise errors.StoreForeign(f"{self.path} belongs to another user", path=self.path)
        if not exists:
            if not self._create:
                raise self._no_room()
            self._refuse_remains()
            link.create(self.path)
        else:
            self._look_at_log(size)
        waited = 0.0
        while True:
            try:
                connection = self._checked(link.connect(self.path))
                self.readonly = not os.access(
                    self.path, os.W_OK
                )  # which SQLite would tell at the first write
                return connection
            except link.TROUBLE as exc:
                problem = link.explain(exc, self.path)
                if isinstance(problem, errors.StoreReadOnly):
                    return self._open_readonly(exc)
                # Another makes the room, mends it after a crash or is the last to close it: all soon done.
                if not link.is_busy(exc) or waited > self.patience:
                    raise problem from exc
            waited += link.pause()

    def _no_room(self) -> errors.NoRoom:
        events = os.path.join(os.path.dirname(self.path), "events")
        hint = "Its journals are there. Rebuild it: postroom replay --into NEW_HOME"
        more = {"hint": hint} if os.path.exists(os.path.join(events, "_head.json")) else {}
        return errors.NoRoom(f"there is no room at {self.path}", path=self.path, **more)

    def _look_at_log(self, size: int) -> None:
        """Open nothing beside a log that SQLite would not read, and then overwrite or remove."""
        if link.has_damaged_log(self.path):
            self._refuse_log()
        elif 0 < size <= link.ONE_PAGE and self._has_log():
            # The schema is in the log alone. A connection that only reads leaves the log there.
            with contextlib.suppress(*link.TROUBLE):
                connection = link.connect(self.path, readonly=True)
                try:
                    if migrate.version(connection) == 0:
                        self._refuse_remains(connection)
                finally:
                    connection.close()

    def _has_log(self) -> bool:
        try:
            return os.path.getsize(self.path + "-wal") > 0
        except OSError:
            return False

    def _refuse_log(self) -> None:
        from postroom.store.sqlite.log import has_commits  # noqa: PLC0415 - where it is damaged

        for _ in range(link.SPINS + 2):  # another process may write the header now
            link.pause()
            if not link.has_damaged_log(self.path):
                return
        if has_commits(self.path):
            raise self._damaged_log()

    def _damaged_log(self) -> errors.StoreCorrupt:
        log = f"{self.path}-wal"
        hint = (
            "Nothing was changed. Keep a copy of that file: the latest mail may be in it alone. "
            "Rebuild the room from its journals: postroom replay --into NEW_HOME. "
            f"To go on without what is in it, move it away: {log}"
        )
        return errors.StoreCorrupt(f"the write-ahead log {log} is damaged", hint=hint, path=log)

    def _refuse_remains(self, connection: sqlite3.Connection | None = None) -> None:
        """Make no room where there was one: its mail may be in its log, or in its journals, alone.

        `connection`: to the room's file, which has no schema.
        """
        from postroom.store.sqlite.log import remains  # noqa: PLC0415 - where a room is made

        if self._replaces or not (found := remains(self.path)):
            return
        for tries in range(link.SPINS + 3):  # another process may be making it: its log comes first
            if self._is_made(connection):
                return
            link.pause(tries)
        if found.endswith("-wal"):
            raise self._damaged_log()
        hint = (
            "Rebuild it: postroom replay --into NEW_HOME. Or put a backup in its place:"
            f" postroom restore FILE --yes. To make a new room, move the journals away: {found}"
        )
        raise errors.NoRoom(
            f"the room at {self.path} is lost, and its journals are there", hint=hint, path=self.path
        )

    def _is_made(self, connection: sqlite3.Connection | None) -> bool:
        if connection is not None:
            return migrate.version(connection) > 0
        with contextlib.suppress(OSError):
            return os.path.getsize(self.path) > 0
        return False

    def _open_readonly(self, cause: Exception) -> sqlite3.Connection:
        try:
            connection = self._checked(link.connect(self.path, readonly=True))
        except link.TROUBLE as exc:
            raise link.explain(exc, self.path) from cause
        self.readonly = True
        return connection

    def _checked(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """A connection whose schema this process understands."""
        try:
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        version = migrate.version(connection)
        if version < migrate.VERSION:
            if version == 0:
                migrate.refuse_strangers(connection, self.path)
                self._refuse_remains(connection)
                if not self._create and migrate.version(connection) == 0:
                    raise self._no_room()
            migrate.migrate(connection, self.path, self.clock(), self.patience)
        elif (
            version > migrate.VERSION
            or connection.execute("PRAGMA application_id").fetchone()[0] != migrate.APPLICATION_ID
        ):
            self._check_reader(connection)

    def _check_reader(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone()[0] != migrate.APPLICATION_ID:
            raise errors.StoreCorrupt(f"{self.path} is a SQLite file of something else", path=self.path)
        needed = connection.execute("SELECT min_reader FROM meta").fetchone()[0]
        if needed > migrate.VERSION:
            raise errors.StoreNewer(
                f"{self.path} needs a Postroom that reads version {needed}", path=self.path
            )

    # transactions

    def read(self) -> contextlib.AbstractContextManager[ReadTx]:
        """`with store.read() as tx`: a consistent snapshot; between parts, what is there by now."""
        tx = self.look()
        return contextlib.nullcontext(tx) if self._threads.write.has_parts else Reading(self, tx)

    def write(self) -> Writing:
        """`with store.write() as tx`: holds the write lock; commits, or rolls back on any exception."""
        return Writing(self)

    def look(self) -> ReadTx:
        """A read for one question only: each method sees its own snapshot."""
        if self._pid != os.getpid():
            self._after_fork()
        try:
            return self._threads.read
        except AttributeError:
            self._connection()
            return self._threads.read

    def changed(self) -> int:
        """A number that changes when another connection has committed."""
        return self.look().row("PRAGMA data_version")[0]

    def check(self) -> None:
        """Raises `StoreNewer` where another version has taken the room over since it was opened."""
        min_writer = self.look().row("SELECT min_writer FROM meta")[0]
        if min_writer is None or min_writer > migrate.VERSION:
            raise self._cannot_write(min_writer)

    def begin(self, mailbox: str = "", *, joins: bool = False) -> WriteTx:
        if self._pid != os.getpid():
            self._after_fork()
        try:
            tx: WriteTx = self._threads.write
        except AttributeError:
            self._connection()
            tx = self._threads.write
        if tx.has_parts:
            tx.begin_part(self.clock())
            return tx
        self._begin(tx, mailbox, joins=joins)
        tx.now = self.clock()
        tx.wrote, tx.spot, tx.posted, tx.lingering = False, None, None, None
        if tx.stirred or tx.touched:
            tx.stirred, tx.touched = set(), set()
        if tx.unsettled:
            tx.unsettled = set()
        return tx

    def gather(self) -> WriteTx:
        tx = self.begin()
        tx.has_parts = True
        return tx

    def _begin(self, tx: WriteTx, mailbox: str, *, joins: bool) -> None:
        if self.readonly:
            raise errors.StoreReadOnly(f"the room {self.path} cannot be written", path=self.path)
        try:
            if self._writer is None:
                try:
                    tx.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as exc:
                    link.begin_contended(tx.connection, exc, self._patience())
            else:
                self._writer.begin(tx.execute, self._patience(), joins=joins)
                self._threads.read = tx  # who looks sees what it wrote
            if mailbox:
                row = tx.execute(_BEGIN_SENDING, (self.tenant, mailbox)).fetchone()
                min_writer, tx.directory, seq, tx.vacant = row or (*_FORGOTTEN, None)
            else:
                tx.vacant = None
                min_writer, tx.directory, seq = tx.execute(_BEGIN).fetchone() or _FORGOTTEN
            if min_writer is None or min_writer > migrate.VERSION:
                raise self._cannot_write(min_writer)
        except BaseException as exc:  # an interrupt, too, must not leave the lock taken
            self.abandon(exc)
            raise
        tx.first_seq = tx.next_seq = seq

    def _patience(self) -> float:
        return self.patience if getattr(self._threads, "hurry", None) is None else _NONE

    def hurried(self) -> Hurry:
        return Hurry(self._threads)

    def _cannot_write(self, min_writer: int | None) -> errors.PostroomError:
        if min_writer is None:
            return errors.StoreCorrupt(
                f"{self.path} is damaged: it has forgotten its version", path=self.path
            )
        return errors.StoreNewer(f"{self.path} is now written by a newer Postroom", path=self.path)

    def commit(self) -> None:
        tx: WriteTx = self._threads.write
        try:
            if tx.is_part:
                tx.keep_part()
                return
            if self._writer is None:
                tx.execute("COMMIT")
            else:
                self._threads.read = self._threads.look
                # What is cached of who is here goes by a number: no other may see one that is not committed.
                waits = self._patience() > 0 and tx.directory is not None and not tx.has_parts
                self._writer.commit(tx.execute, waits=waits)
            tx.has_parts = False
        except link.TROUBLE as exc:
            self.rollback()
            raise link.explain(exc, self.path) from exc
        self._has_committed = True

    def rollback(self, cause: BaseException | None = None) -> None:
        tx: WriteTx = self._threads.write
        if tx.is_part:
            tx.undo_part()
            return
        tx.has_parts = False
        if self._writer is not None:
            self._threads.read = self._threads.look
            self._writer.rollback(tx.execute, cause)
        connection = self._threads.connection
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def abandon(self, exc: BaseException | None) -> None:
        """Roll back after an exception; a driver's error is raised again as one of ours."""
        self.rollback(exc)
        if isinstance(exc, link.TROUBLE):
            raise link.explain(exc, self.path) from exc

    def tidy(self) -> None:
        """Let the WAL not grow: by a thread of its own, or here and now after more than that could follow."""
        tx: WriteTx = self._threads.write
        if tx.weight > BYTES_A_ROUND:
            tx.weight = 0
            if self._patience() > 0:
                self._checkpoint_now()
            else:
                self._checkpoint_soon()
        elif tx.next_seq // EVENTS_A_ROUND != tx.first_seq // EVENTS_A_ROUND:
            self._checkpoint_soon()

    def make_lasting(self) -> None:
        """After the lock is released: others write while the disk works, and it is as durable for the caller
        as `synchronous=FULL` at more than twice the throughput.
        """
        if self.durability == "full":
            hurry: Hurry | None = getattr(self._threads, "hurry", None)
            if hurry is None:
                self.harden()
            else:
                hurry.owes = True

    def harden(self) -> None:
        self._connection()
        try:
            self._threads.end.sync_wal(self.path + "-wal")
        except OSError as exc:
            problem = errors.StoreError(f"the disk did not confirm it: {exc}", path=self.path)
            hint = "It survives any crash of a process, perhaps not a power cut. Check the disk."
            raise errors.stored_but("the change is stored", problem, hint=hint) from exc

    # the room as a whole

    def whole(self) -> "Whole":
        from postroom.store.sqlite.state import Whole  # noqa: PLC0415 - not on the mail path

        return Whole(self.look().connection, self.tenant)

    def upkeep(self) -> "Upkeep":
        from postroom.store.sqlite.upkeep import Upkeep  # noqa: PLC0415 - not on the mail path

        connection = self._writer.connection if self._writer else self._connection()
        return Upkeep(connection, self.path, self.patience)

    def search(self) -> "Search":
        from postroom.store.sqlite.search import Search  # noqa: PLC0415 - not on the mail path

        look = self.look()
        return Search(look, readonly=self.readonly)

    def tally(self) -> "Tally":
        from postroom.store.sqlite.tally import Tally  # noqa: PLC0415 - not on the mail path

        return Tally(self.look())

    # upkeep

    def _checkpoint_soon(self) -> None:
        if self._checkpointer is None:
            from postroom.store.sqlite.checkpoint import Checkpointer  # noqa: PLC0415 - one commit in a thousand

            self._checkpointer = Checkpointer(self.path)
        self._checkpointer.wake()

    def _checkpoint_now(self) -> None:
        from postroom.store.sqlite.checkpoint import checkpoint  # noqa: PLC0415 - after megabytes

        with contextlib.suppress(sqlite3.Error):  # busy: there is always a next time
            checkpoint(self._threads.connection)

    @property
    def is_open(self) -> bool:
        """Return True if this thread has a connection."""
        return getattr(self._threads, "connection", None) is not None

    def finish(self) -> None:
        """The end of a short-lived process: leaves the WAL to others unless it has grown long."""
        if self._has_committed:
            from postroom.store.sqlite.checkpoint import finish  # noqa: PLC0415 - writers only

            finish(self._threads.connection, self.path)

    def close(self) -> None:
        """Close this thread's connection and stop the upkeep. Other threads keep theirs until they end."""
        if self._pid != os.getpid():
            self._after_fork()
        if getattr(self._threads, "connection", None) is not None:
            self.finish()
            self._threads.connection.close()
            self._threads.__dict__.clear()
        if self._writer is not None:
            self._writer.connection.close()
            self._writer = None
        if self._checkpointer is not None:
            self._checkpointer.stop()
            self._checkpointer = None
