"""Renaming a letter that another program has put into an inbox, while others may read it.

A reader lists the inbox, reads a file, and then moves it by the name that it knows. If the name changes in
between, it reads the letter again under the new one. So a letter keeps its name once somebody else has read
it, and while somebody has it open. The first the watch tells (`watch.Visits`); the second a lease of the
system: while we have it, who opens the file waits until we let go of it.
"""

import contextlib
import errno
import os
import signal
from contextlib import AbstractContextManager
from typing import Protocol

from postroom.bridges.files.shelf import Sheet
from postroom.errors import BridgeError

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None

_SETSIG = 10  # of `fcntl`: not every Python names it


class _Inbox(Protocol):
    def inbox(self) -> AbstractContextManager[tuple[int, set[str]]]: ...


class Tenure:
    """A letter that we have read, and have open since. See `Picked`."""

    def __init__(self, shelf: _Inbox, name: str, file: int, sheet: Sheet) -> None:
        self._shelf, self._name, self._file = shelf, name, file
        self.sheet = sheet

    def rename(self, name: str) -> bool:
        try:
            with self._shelf.inbox() as (inbox, fresh):
                return self._name in fresh and self._rename(inbox, name)
        except (OSError, BridgeError):
            return False

    def _rename(self, inbox: int, name: str) -> bool:
        if not _lease(self._file):
            return False
        try:
            with self._shelf.inbox() as (_, fresh):
                if self._name not in fresh or _has(inbox, name) or not self._is_named(inbox):
                    return False
            os.rename(self._name, name, src_dir_fd=inbox, dst_dir_fd=inbox)
            if _is_wanted(self._file):  # who opens it now has found it by its old name
                os.rename(name, self._name, src_dir_fd=inbox, dst_dir_fd=inbox)
                return False
            return True
        finally:
            _release(self._file)

    def _is_named(self, inbox: int) -> bool:
        named = os.stat(self._name, dir_fd=inbox, follow_symlinks=False)
        return os.path.samestat(named, os.fstat(self._file))

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def is_being_written(file: int) -> bool:
    """Whether somebody has a file open for writing that we have open for reading, as far as we may know."""
    if fcntl is None or not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        _ask(file, fcntl.F_RDLCK)
    except OSError as exc:
        return exc.errno == errno.EAGAIN
    _release(file)
    return False


def _lease(file: int) -> bool:
    """Whether nobody else has it open, and from now on nobody opens it unnoticed."""
    if fcntl is None or not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        _ask(file, fcntl.F_WRLCK)
    except OSError:  # somebody has; or the file is another user's, or its system knows no leases
        return False
    return True


def _ask(file: int, kind: int) -> None:
    """The signal by which the system wants it back is one that does nothing, unless somebody handles it."""
    assert fcntl is not None
    fcntl.fcntl(file, _SETSIG, signal.SIGURG)
    fcntl.fcntl(file, fcntl.F_SETLEASE, kind)


def _is_wanted(file: int) -> bool:
    assert fcntl is not None
    return fcntl.fcntl(file, fcntl.F_GETLEASE) != fcntl.F_WRLCK


def _release(file: int) -> None:
    assert fcntl is not None
    with contextlib.suppress(OSError):
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _has(directory: int, name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        return True
    return False
