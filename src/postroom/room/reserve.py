"""A reserve on the disk: space that a room keeps for the time when there is none left.

Mail that is read, and a prune, need some space to free more. On a full disk they borrow the reserve, and what
the write-ahead log holds, and give it back at once: senders, and other programs, do not get it.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from postroom.errors import StoreError, StoreFull, of_file
from postroom.room import file
from postroom.store.sqlite import connection as link

if TYPE_CHECKING:
    from postroom.room.premises import Premises

P = ParamSpec("P")
T = TypeVar("T")

NAME = "reserve"
_SHARE = 8  # no more than such a part of what is free is taken
_STEP = 64 << 10


def path(home: str) -> str:
    return os.path.join(home, NAME)


def held(home: str) -> int:
    """Return how many bytes of the disk are kept now."""
    try:
        return os.stat(path(home)).st_size
    except OSError:
        return 0


def keep(room: "Premises") -> None:
    """Take the reserve, where there is space enough. Nothing is raised: a room works without one."""
    home, size = room.home, room.settings.reserve_bytes
    if held(home) >= size:
        return
    with contextlib.suppress(OSError, AttributeError):  # Windows and macOS cannot claim space so
        if free(home) >= _SHARE * size:
            _fill(home, size)


def free(home: str) -> int:
    """Return how many bytes the file system still has for this user, quotas aside."""
    about = os.statvfs(home)
    return about.f_bavail * about.f_frsize


def is_full(store: str) -> StoreError | None:
    """Return the error that a write beside the store would have now, if any."""
    home, name = os.path.split(store)
    with contextlib.suppress(OSError, AttributeError):
        file.sweep_litter(home, f"{name}.{link.TRIED}.")
        if free(home) < link.NEEDED:
            return StoreFull(f"no space left: {store}", path=store)
    obstacle = link.obstacle(store)
    return None if obstacle is None else of_file(obstacle, store, path=store)


def borrowed(room: "Premises", act: Callable[[], T]) -> T:
    """Do what has just failed because the disk is full, with the reserve; or raise `StoreFull` again.

    The reserve stays where it is if it is too small for the log: what is borrowed then would stay in the log.
    """
    wanted = _growth(room) - free(room.home) - held(room.home)
    if wanted > 0:
        size = f"{-(-wanted // 1000):,} kB"
        raise StoreFull(
            f"no space left for {room.store.path}: its write-ahead log cannot be moved into it",
            hint=f"Nothing was changed. Free at least {size} on that disk, and try again.",
            path=room.store.path, wanted_bytes=wanted,
        )  # fmt: skip
    lend(room)
    return borrowing(room, act)


def borrowing(room: "Premises", act: Callable[[], T]) -> T:
    try:
        return act()
    finally:
        empty_log(room)
        with contextlib.suppress(OSError, AttributeError):
            _fill(room.home, room.settings.reserve_bytes)


def lend(room: "Premises") -> bool:
    """Give the reserve's space back to the disk; True if that, or what the log held, made any difference."""
    had = held(room.home)
    with contextlib.suppress(OSError):
        os.truncate(path(room.home), 0)
    return empty_log(room) or had > 0


def empty_log(room: "Premises") -> bool:
    """Move the write-ahead log into the store, and return its space; True if it held any.

    Only where the store has the space to grow: half of that would cost what is left, and return nothing.
    """
    log, look = room.store.path + "-wal", cast("Any", room.store.look())
    with contextlib.suppress(OSError, AttributeError, sqlite3.Error):
        before = os.path.getsize(log)
        if _growth(room) > free(room.home):
            return False
        look.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return os.path.getsize(log) < before
    return False


def _growth(room: "Premises") -> int:
    """Return by how many bytes the store grows when the log is moved into it."""
    look = cast("Any", room.store.look())
    pages, size = (look.row(f"PRAGMA page_{what}")[0] for what in ("count", "size"))
    return pages * size - os.path.getsize(room.store.path)


def _fill(home: str, wanted: int) -> None:
    """Keep as much as there is, up to the whole."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path(home), flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        while size < wanted:
            os.posix_fallocate(descriptor, size, min(_STEP, wanted - size))
            size += _STEP
    finally:
        os.close(descriptor)
