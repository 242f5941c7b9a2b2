"""Noticing what others change in the folders of a mailbox: by inotify, else by `watchfiles`, else not at all.

Nothing is polled where the system tells. One descriptor serves a mailbox. What it tells is a hint about which
folder to look into, never the truth; whoever misses something looks again by the clock.
"""

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from enum import Enum
from functools import cache
from typing import Any, Protocol

from postroom import host
from postroom.bridges.files.letter import numbered
from postroom.bridges.files.shelf import Folder
from postroom.errors import BridgeError

_MODIFY_CLOSED, _MOVED_FROM, _MOVED_TO = 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_MODIFY, _READ_CLOSED = 0x2, 0x10
_OVERFLOW, _IGNORED, _ONLYDIR = 0x4000, 0x8000, 0x1000000
_COMES, _GOES = _MODIFY_CLOSED | _MOVED_TO | _CREATE, _MOVED_FROM | _DELETE
_IS_LOST = _DELETE_SELF | _MOVE_SELF | _IGNORED
_EVENT = struct.Struct("iIII")
_BUFFER = 65_536
_FULL = _BUFFER - _EVENT.size - 256  # bytes: after fewer there is nothing more to read

Opened = Callable[[str], AbstractContextManager[int]]  # a folder of the mailbox; `""`: the mailbox itself


class Side(Enum):
    """Who watches, and what for."""

    HOST = {Folder.INBOX: _GOES | _COMES, Folder.OUTBOX: _COMES}  # noqa: RUF012 - a member, and read only
    AGENT = {Folder.INBOX: _COMES, Folder.RECEIPTS: _COMES}  # noqa: RUF012
    TREE = {}  # noqa: RUF012 - nothing but what comes into a directory


class Watch(Protocol):
    """What tells of changes."""

    is_blind: bool  # whether it cannot tell after all

    def fileno(self) -> int: ...

    def changes(self) -> frozenset[Folder]: ...

    def close(self) -> None: ...


def watch(opened: Opened, path: str, side: Side) -> Watch | None:
    """None where nothing here tells of changes."""
    if _libc() is not None:
        with contextlib.suppress(OSError):  # there are too many of them on this machine
            return Inotify(opened, side)
    try:
        return Notices(path, side)
    except ImportError:
        return None


@cache
def _libc() -> Any:
    """The system's own library, if it has inotify."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
    return libc if hasattr(libc, "inotify_init1") else None


def _call(function: Any, *arguments: Any) -> int:
    result: int = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


class Inotify:
    """A folder that is taken away and comes back is watched again."""

    def __init__(self, opened: Opened, side: Side) -> None:
        self._opened = opened
        self._masks: dict[str, int] = {"": _CREATE | _MOVED_TO, **side.value}
        self._folders = frozenset(side.value)
        self._fd = _call(_libc().inotify_init1, os.O_NONBLOCK | os.O_CLOEXEC)
        self._watched: dict[int, str] = {}  # by the number of its watch
        self._mailbox = ""  # which directory it is that is watched
        self.is_blind = False
        self._check_place()
        self._arm()

    def fileno(self) -> int:
        return self._fd

    def changes(self) -> frozenset[Folder]:
        """A folder that is watched from now on may have changed before."""
        found = set[str]()
        for watched, mask in self._events():
            if mask & _OVERFLOW:
                found |= self._folders
            folder = self._watched.get(watched)
            if folder is None:
                continue
            found.add(folder)
            if not folder:  # with a mailbox go its folders; what came into it may be another one of them
                self._disarm_folders()
            if mask & _IS_LOST:
                self._disarm(watched)
        self._check_place()
        return frozenset(Folder(each) for each in found | self._arm() if each)

    def _check_place(self) -> None:
        """Nobody tells of a directory further up that was replaced: what is watched lies elsewhere then."""
        try:
            with self._opened("") as directory:
                about = os.fstat(directory)
        except (OSError, BridgeError):  # it is gone; whatever comes in its place is another one
            return
        here = f"{about.st_dev}.{about.st_ino}"
        if here != self._mailbox:
            for each in list(self._watched) if self._mailbox else ():
                self._disarm(each)
            self._mailbox = here

    def _disarm_folders(self) -> None:
        """One that was removed tells so only when nobody has a file of it open any more."""
        for watched in [each for each, folder in self._watched.items() if folder]:
            self._disarm(watched)

    def _arm(self) -> set[str]:
        """Watch what is not watched yet; what that is."""
        missing = self._masks.keys() - set(self._watched.values())
        return {folder for folder in missing if self._add(folder)}

    def _add(self, folder: str) -> bool:
        try:
            with self._opened(folder) as directory:
                watched = self._watch_number(folder, directory)
        except (OSError, BridgeError):  # it is gone, or no directory
            return False
        if watched is None:
            return False
        self._watched[watched] = folder
        return True

    def _watch_number(self, folder: str, directory: int) -> int | None:
        """None where it cannot be watched, because the machine has no more watches, say."""
        mask = self._masks[folder] | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
        path = f"/proc/self/fd/{directory}".encode()  # no name that somebody may have made a link
        try:
            return _call(_libc().inotify_add_watch, self._fd, path, mask)
        except OSError:
            self.is_blind = True
            return None

    def _disarm(self, watched: int) -> None:
        if self._watched.pop(watched, None) is not None:
            with contextlib.suppress(OSError):  # it went with its folder
                _call(_libc().inotify_rm_watch, self._fd, watched)

    def _events(self) -> list[tuple[int, int]]:
        """Those of names with a dot are of no letter yet, or ours; so is a letter that we put there."""
        return [
            (watched, mask)
            for watched, mask, name in _events(self._fd)
            if not name.startswith(b".") and not (mask & _COMES and self._is_ours(watched, name))
        ]

    def _is_ours(self, watched: int, name: bytes) -> bool:
        is_inbox = self._watched.get(watched) == Folder.INBOX
        return is_inbox and Folder.OUTBOX in self._folders and numbered(os.fsdecode(name)) is not None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _events(fd: int) -> Iterator[tuple[int, int, bytes]]:
    """All that wait: the number of the watch, what happened, and the name of the file, if any."""
    with contextlib.suppress(BlockingIOError):
        data = b""
        while (not data or len(data) > _FULL) and (data := os.read(fd, _BUFFER)):
            at = 0
            while at < len(data):
                watched, mask, _, length = _EVENT.unpack_from(data, at)
                name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
                at += _EVENT.size + length
                yield watched, mask, name


class Visits:
    """What came into one inbox since it is watched, what others have read there, and what has gone again.

    Nobody is woken by that. One descriptor serves all inboxes of the process; what the system forgot to tell
    (its queue is bounded) is not fresh, and has to be looked for.
    """

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place  # which directory it is
        self.fresh = set[str]()  # came since, and nobody has read it
        self.gone = set[str]()  # came, and is not there any more
        self.is_over = False  # nothing is noted here any more
        self.is_missed = False  # something that was not told of

    def note(self, mask: int, name: str) -> None:
        if mask & (_MODIFY_CLOSED | _MOVED_TO):
            self.fresh.add(name)
        elif mask & _READ_CLOSED:
            self.fresh.discard(name)
        elif mask & _GOES:
            self.fresh.discard(name)
            self.gone.add(name)


class _Lookout:
    """Where visits are noted, for all shelves of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fd = -1
        self._visits: dict[int, Visits] = {}  # by the number of its watch
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """The queue of a parent is its own."""
        self._lock = threading.Lock()
        if self._fd >= 0:
            os.close(self._fd)
        for one in self._visits.values():
            one.is_over = True
        self._fd, self._visits = -1, {}

    def look(self) -> None:
        """Note what has happened since the last look."""
        with self._lock:
            if self._fd >= 0:
                self._look()

    def visits(self, directory: int) -> Visits | None:
        """Those to an inbox, which is open, as of now; watched from the first call on. None: nobody can."""
        if _libc() is None:
            return None
        with self._lock, contextlib.suppress(OSError):
            if self._fd < 0:
                self._fd = _call(_libc().inotify_init1, os.O_NONBLOCK | os.O_CLOEXEC)
            self._look()
            about = os.fstat(directory)
            place = about.st_dev, about.st_ino
            known = next((one for one in self._visits.values() if one.place == place), None)
            return known or self._add(directory, place)
        return None

    def _add(self, directory: int, place: tuple[int, int]) -> Visits:
        mask = _MODIFY_CLOSED | _MOVED_TO | _READ_CLOSED | _GOES | _ONLYDIR
        path = f"/proc/self/fd/{directory}".encode()
        watched = _call(_libc().inotify_add_watch, self._fd, path, mask)
        found = self._visits[watched] = Visits(place)
        return found

    def _look(self) -> None:
        for watched, mask, name in _events(self._fd):
            if mask & _OVERFLOW:
                for one in self._visits.values():
                    one.fresh.clear()
                    one.is_missed = True
            elif mask & _IGNORED:
                if (over := self._visits.pop(watched, None)) is not None:
                    over.is_over = True
            elif name.endswith(b".json") and not name.startswith(b"."):
                text = os.fsdecode(name)
                if (one := self._visits.get(watched)) is not None and numbered(text) is None:
                    one.note(mask, text)


_lookout = _Lookout()


def look_out() -> None:
    """See `_Lookout.look`."""
    _lookout.look()


def visits(directory: int) -> Visits | None:
    """See `_Lookout.visits`."""
    return _lookout.visits(directory)


class FileWatch:
    """Tells that one file was written, or one of those that its program keeps beside it (`FILE-wal`, …)."""

    def __init__(self, path: str) -> None:
        directory, self._name = os.path.split(os.path.abspath(path))
        self._fd = _call(_libc().inotify_init1, os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mask = _MODIFY | _COMES | _GOES | _ONLYDIR
            _call(_libc().inotify_add_watch, self._fd, os.fsencode(directory), mask)
        except OSError:
            self.close()
            raise

    def fileno(self) -> int:
        return self._fd

    def drain(self) -> bool:
        """Forget what was told so far; whether any of it was about that file."""
        names = [os.fsdecode(name) for _, _, name in _events(self._fd)]
        return any(name.startswith(self._name) for name in names)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def file_watch(path: str) -> FileWatch | None:
    """None where nothing tells of changes of a file there."""
    if _libc() is None or host.unsafe_file_system(path):
        return None
    try:
        return FileWatch(path)
    except OSError:
        return None


class Notices:
    """By `watchfiles`, in a thread of its own: for systems that have no inotify."""

    is_blind = False

    def __init__(self, path: str, side: Side) -> None:
        from watchfiles import watch as notices  # noqa: PLC0415 - an extra, and only where it is needed

        self._folders = frozenset(side.value)
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._stop = threading.Event()
        self._notices: Any = notices(path, stop_event=self._stop, raise_interrupt=False, recursive=True)
        self._thread = threading.Thread(target=self._run, name="watchfiles", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for _ in self._notices:
                self._ring()
        except Exception:  # what it watched is gone
            self.is_blind = True
            self._ring()  # whoever waits for it looks by the clock from now on

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def fileno(self) -> int:
        return self._reader

    def changes(self) -> frozenset[Folder]:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass
        return self._folders

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)
