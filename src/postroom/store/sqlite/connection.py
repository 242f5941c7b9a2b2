"""One SQLite connection: how it is opened, how it waits for the write lock, how its errors are told.

Nothing above this module sees a `sqlite3` exception.
"""

import os
import sqlite3
import time

from postroom import errors, host

BUSY, LOCKED, CORRUPT = 5, 6, 11
NEEDED = 64 << 10  # bytes that must fit beside a room that is not full
TRIED = "tried"  # part of the name of the file that is written to find that out
ONE_PAGE = 4096  # bytes of a store whose schema is in its log alone
LOG_HEADER = 32  # bytes at the beginning of a write-ahead log
SPINS = 12 if hasattr(os, "sched_yield") else 0  # tries to take the lock before it is worth sleeping

_NO_TEXT = "Could not decode to UTF-8"  # the driver's own error: it has no code

# What the driver raises: the latter when a damaged file has put nonsense into an error's own text.
TROUBLE = (sqlite3.Error, UnicodeDecodeError)


def explain(exc: Exception, path: str) -> errors.PostroomError:  # noqa: PLR0911 - one per cause
    """The error of ours that says what a driver's error means."""
    is_no_text = isinstance(exc, UnicodeDecodeError) or _NO_TEXT in str(exc)
    code = CORRUPT if is_no_text else getattr(exc, "sqlite_errorcode", 0) & 0xFF
    facts = {"path": path, "cause": str(exc)}
    match code:
        case 5 | 6:
            return errors.StoreBusy(**facts)
        case 8:
            return errors.StoreReadOnly(f"the room {path} cannot be written", **facts)
        case 11 | 26:
            return errors.StoreCorrupt(f"{path} is damaged, or is not a room ({exc})", **facts)
        case 13:
            return errors.StoreFull(f"no space left for {path}: nothing was changed", **facts)
        case 14:
            problem = errors.StoreReadOnly(f"the room {path} cannot be opened", **facts)
            return _explained(path, problem, facts)
        case 10:  # a quota, or no room for the shared memory
            problem = errors.StoreError(f"{path}: {exc}", hint="Check it: postroom verify", **facts)
            return _explained(path, problem, facts)
        case 19 if "illegal move" in str(exc):
            return errors.IllegalMove(**facts)
        case _:
            return errors.StoreError(f"{path}: {exc}", hint="Check it: postroom verify", **facts)


def connect(path: str, *, readonly: bool = False) -> sqlite3.Connection:
    """Open an existing file. Waiting for locks is ours (`begin`), not SQLite's unfair busy handler."""
    if readonly:
        return _connect_readonly(path)
    connection = _open(path, "mode=rw")
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except BaseException:
        connection.close()
        raise
    return connection


def _open(path: str, query: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file://{quote(path)}?{query}", uri=True, timeout=0, isolation_level=None, check_same_thread=False,
        cached_statements=256,
    )  # fmt: skip


def quote(path: str) -> str:
    """A path inside a SQLite URI. `urllib.parse` would triple the cost of opening a room."""
    if os.sep != "/":
        path = "/" + path.replace(os.sep, "/")  # C:\\rooms becomes /C:/rooms
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _connect_readonly(path: str) -> sqlite3.Connection:
    """A room on read-only media. `immutable` returns stale rows beside a live WAL, so never beside one."""
    connection = _open(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
            raise
        connection = _open(path, "immutable=1")
    return connection


def has_damaged_log(path: str) -> bool:
    """Return True if the header of the log is damaged: SQLite would ignore the log, and overwrite it."""
    try:
        descriptor = os.open(path + "-wal", os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return False
    try:
        head = os.read(descriptor, LOG_HEADER)
    finally:
        os.close(descriptor)
    return len(head) == LOG_HEADER and is_damaged_header(head)


def is_damaged_header(head: bytes) -> bool:
    """Return True if the header of a write-ahead log is not as SQLite writes it: its checksum is wrong."""
    order = "big" if head[3] & 1 else "little"
    first = second = 0
    for at in (0, 8, 16):
        first = (first + int.from_bytes(head[at : at + 4], order) + second) & 0xFFFFFFFF
        second = (second + int.from_bytes(head[at + 4 : at + 8], order) + first) & 0xFFFFFFFF
    expected = b"\x37\x7f\x06", first.to_bytes(4, "big"), second.to_bytes(4, "big")
    return (head[:3], head[24:28], head[28:32]) != expected


def create(path: str) -> None:
    """Make an empty file for a room: private, on a file system whose locks can be trusted."""
    directory = os.path.dirname(path)
    try:
        host.private_directory(directory)
        if kind := host.unsafe_file_system(directory):
            raise errors.StoreNetworked(
                f"{directory} is on a {kind} file system", path=path, file_system=kind
            )
        # Never open what is there: closing it again would drop this process's locks on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as exc:
        raise _cannot_create(exc, path) from exc


def _cannot_create(exc: OSError, path: str) -> errors.PostroomError:
    return errors.of_file(exc, f"cannot make a room at {path}: {exc.strerror}", path=path)


def obstacle(path: str) -> OSError | None:
    """Return what keeps any file from being opened or written beside the room: SQLite does not say which."""
    try:
        descriptor, tried = _tried(path)
    except OSError as exc:
        return exc
    try:
        left = NEEDED
        while left:
            left -= os.write(descriptor, bytes(left))
    except OSError as exc:
        return exc
    finally:
        os.close(descriptor)
        if tried:
            os.unlink(tried)
    return None


def _tried(path: str) -> tuple[int, str]:
    """Open a file beside the room, and return it with its name. It has none where the system can do that: a
    process that is killed leaves nothing. Where it has one, `file.sweep_litter` removes it.
    """
    directory, name = os.path.split(path)
    if unnamed := getattr(os, "O_TMPFILE", 0):
        try:
            return os.open(directory or ".", os.O_WRONLY | unnamed, 0o600), ""
        except OSError as exc:
            import errno  # noqa: PLC0415 - only where something failed

            if exc.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
    tried = os.path.join(directory, f".{name}.{TRIED}.{os.urandom(3).hex()}.{host.identity()}")
    return os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), tried


def _explained(path: str, otherwise: errors.StoreError, facts: dict[str, str]) -> errors.StoreError:
    """The cause where it is a full disk, a quota, or a lack of descriptors."""
    found = obstacle(path)
    if found is None:
        return otherwise
    problem = errors.of_file(found, f"{path}: {found.strerror}", **facts)
    return otherwise if isinstance(problem, errors.StoreReadOnly) else problem


def is_busy(exc: Exception) -> bool:
    return (getattr(exc, "sqlite_errorcode", 0) & 0xFF) in (BUSY, LOCKED)


def pause(tries: int = SPINS) -> float:
    """Before trying again: at first let others run, then sleep, longer each time it was in vain.

    Returns what it used up of the caller's patience. That is what it meant to sleep, not what the clock says:
    who was itself stopped for a minute (a paused container, a suspended machine) has not waited in vain.

    Most transactions are over sooner than a sleeper can be woken. A sleep is a uniform 0.2 to 1.5 ms: random,
    so that nobody is starved as by SQLite's own busy handler. The second is 16 times as long and those after
    it 64 times: forty writers at a steady pace would take the processor from the one who has the lock.
    """
    if tries < SPINS:
        os.sched_yield()
        return 0.0
    seconds = (0.0002 + 0.0013 * os.urandom(1)[0] / 255) * min(16 ** (tries - SPINS), 64)
    time.sleep(seconds)
    return seconds


def begin(connection: sqlite3.Connection, patience: float) -> None:
    """Take the write lock, or raise the driver's busy error after `patience` seconds of waiting."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as exc:
        begin_contended(connection, exc, patience)


def begin_contended(
    connection: sqlite3.Connection, refusal: sqlite3.OperationalError, patience: float
) -> None:
    """Take the write lock after it was refused once."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")  # an interrupt came before whoever began it could end it
    elif not is_busy(refusal):
        raise refusal
    tries, waited = 0, 0.0
    while True:
        waited += pause(tries)
        tries += 1
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as exc:
            if not is_busy(exc) or waited > patience:
                raise


class Ending:
    """Closes a thread's connection when the thread ends; the collector might leave it open for long.

    And its descriptor of the WAL: the file stays the same only while the connection is open, because the
    last one in the room to close removes it.
    """

    __slots__ = ("_connection", "_pid", "_wal")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._pid = os.getpid()
        self._wal = -1

    def sync_wal(self, path: str) -> None:
        if self._wal < 0:
            self._wal = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        getattr(os, "fdatasync", os.fsync)(self._wal)

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self._connection.close()
            if self._wal >= 0:
                os.close(self._wal)
