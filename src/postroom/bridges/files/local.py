"""A mailbox in a directory of this machine, where somebody else may turn anything into anything at any time.

So nothing is reached by a path below the tree: each folder is opened in the one above it, without following
links, for each thing that is done there; and what is opened is looked at before it is read.
"""

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from postroom import host
from postroom.bridges.files import draft
from postroom.bridges.files.descent import BELOW, FOLDER, below
from postroom.bridges.files.hold import Here
from postroom.bridges.files.letter import SUFFIX, numbered
from postroom.bridges.files.shelf import MARK, USUAL, Folder, Picked, Sheet
from postroom.bridges.files.tenure import Tenure, is_being_written
from postroom.bridges.files.watch import Side, Visits, Watch, look_out, visits, watch
from postroom.errors import BridgeError, InvalidLetter

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _CLOEXEC
_PACKED = (Folder.READ, Folder.TAKEN, Folder.RECEIPTS)
_MOST_PACKED = 500  # at a time
_VISITS = 5.0  # seconds
_AS_EVER = (FileNotFoundError, FileExistsError, InvalidLetter)  # what a shelf's user knows what to do with


class LocalShelf:
    """See `Shelf`. `tree` is the host's own; `name` a directory in it."""

    def __init__(self, tree: str, name: str, side: Side = Side.HOST) -> None:
        self.place = os.path.join(tree, name)
        self._tree, self._name = tree, host.plain(name)
        self._side = side
        self._watch: Watch | None = None
        self._is_watched = False
        self._draft: draft.Draft | None = None  # of the next letter into the inbox, made ahead
        self._visits: Visits | None = None  # to the inbox
        self._visits_until = 0.0  # when to see whether it still is the same one, on the monotonic clock
        self._has_mail = False  # whether letters come at all: else none is
        self.is_slow = bool(host.unsafe_file_system(self.place))

    # folders

    @contextmanager
    def _opened(self, folder: str) -> Generator[int]:
        """A folder of the mailbox; the mailbox itself where that is empty."""
        with self._said():
            directory = self._descend(folder)
            try:
                yield directory
            finally:
                os.close(directory)

    @contextmanager
    def _kept(self, folder: Folder) -> Generator[int]:
        """A folder in which we keep something; it is made again, unless it is the agent's own."""
        with self._said():
            try:
                directory = self._descend(folder)
            except FileNotFoundError:
                if folder in (Folder.INBOX, Folder.OUTBOX):
                    raise
                self._make(folder)
                directory = self._descend(folder)
            try:
                yield directory
            finally:
                os.close(directory)

    def _make(self, folder: Folder) -> None:
        above, _, name = folder.rpartition("/")
        with self._opened(above) as directory:
            _make(directory, name)

    def _descend(self, folder: str) -> int:
        return below(below(os.open(self._tree, FOLDER), self._name), folder)

    @contextmanager
    def _said(self) -> Generator[None]:
        """What is wrong with a folder or its disk, as the error of a bridge."""
        try:
            yield
        except _AS_EVER:
            raise
        except NotADirectoryError:
            raise BridgeError(f"a folder of {self.place} is none", hint="Has it become a link?") from None
        except OSError as exc:
            raise BridgeError(f"{self.place} cannot be used: {exc.strerror}", errno=exc.errno) from exc

    def make(self) -> None:
        with self._said():
            directory = os.open(self._tree, FOLDER)
            try:
                _make(directory, self._name)
            finally:
                os.close(directory)
        for folder in USUAL:
            self._make(folder)

    # files

    def names(self, folder: Folder) -> list[str]:
        with self._opened(folder) as directory:
            return sorted(name for name in os.listdir(directory) if name[0] != ".")

    def has(self, folder: Folder, name: str) -> bool:
        try:
            self.stamp(folder, name)
        except FileNotFoundError:
            return False
        return True

    def stamp(self, folder: Folder, name: str) -> str:
        with self._opened(folder) as directory:
            return draft.stamp(os.stat(name, dir_fd=directory, follow_symlinks=False))

    def read(self, folder: Folder, name: str, limit: int) -> Sheet:
        with self._opened(folder) as directory:
            opened = _open(directory, name, limit)
            with open(opened, "rb", buffering=0):
                return _sheet(opened, limit)

    def pick(self, name: str, limit: int) -> Picked:
        with self._opened(Folder.INBOX) as directory:
            opened = _open(directory, name, limit)
            try:
                sheet = _sheet(opened, limit)
            except BaseException:
                os.close(opened)
                raise
        return Tenure(self, name, opened, sheet)

    @contextmanager
    def inbox(self) -> Generator[tuple[int, set[str]]]:
        """It, open, and what has come there since somebody looks and no one else has read."""
        with self._opened(Folder.INBOX) as directory:
            found = None if self.is_slow else visits(directory)
            yield directory, set() if found is None else found.fresh

    def visitors(self) -> set[str] | None:
        if self.is_slow:
            return set()
        found, now = self._visits, time.monotonic()
        if found is None or found.is_over or now >= self._visits_until:
            with self._opened(Folder.INBOX) as directory:
                found = self._visits = visits(directory)
            self._visits_until = now + _VISITS
        else:
            look_out()
        if found is None:
            return set()
        gone, missed = set(found.gone), found.is_missed
        found.gone.clear()
        found.is_missed = False
        return None if missed else gone

    def read_since(self, moment: int) -> list[str]:
        found: list[str] = []
        if self.is_slow:
            return found
        with contextlib.suppress(FileNotFoundError), self._opened(Folder.READ) as directory:
            for name in os.listdir(directory):
                if name[0] != "." and name.endswith(SUFFIX) and numbered(name) is None:
                    with contextlib.suppress(FileNotFoundError):
                        about = os.stat(name, dir_fd=directory, follow_symlinks=False)
                        if about.st_ctime_ns > moment:
                            found.append(name)
        return sorted(found)

    def is_being_written(self, name: str) -> bool:
        with contextlib.suppress(FileNotFoundError, InvalidLetter), self._opened(Folder.INBOX) as directory:
            opened = _open(directory, name, sys.maxsize)
            try:
                return is_being_written(opened)
            finally:
                os.close(opened)
        return False

    def write(
        self, folder: Folder, name: str, data: bytes, *, lasting: bool = True, beside: str = ""
    ) -> None:
        """Into an inbox it comes from elsewhere, so that we do not wake ourselves."""
        name = _one(name)
        if folder is Folder.INBOX:
            self._has_mail = True
            with contextlib.suppress(FileNotFoundError, BridgeError), self._opened("") as mailbox:
                self._put_from_aside(mailbox, name, data, lasting=lasting, beside=beside)
                return
        with self._kept(folder) as directory:
            made = draft.make(directory)
            draft.put(made, directory, directory, name, data, lasting=lasting, beside=beside)

    def _put_from_aside(self, mailbox: int, name: str, data: bytes, *, lasting: bool, beside: str) -> None:
        with _opened_in(mailbox, Folder.INBOX) as inbox, _opened_in(mailbox, Folder.TAKING) as aside:
            made = self._made_ahead(aside) or draft.make(aside)
            draft.put(made, aside, inbox, name, data, lasting=lasting, beside=beside)

    def identity(self) -> str:
        """The time is of the file itself: nobody can copy it. On a network these numbers may change."""
        if self.is_slow:
            return ""
        with self._opened(Folder.INBOX) as inbox:
            mark = os.stat(MARK, dir_fd=inbox, follow_symlinks=False)
            return f"{os.fstat(inbox).st_ino}.{mark.st_ino}.{mark.st_ctime_ns}"

    def prepare(self) -> None:
        if self._has_mail and self._draft is None:
            with contextlib.suppress(FileNotFoundError, BridgeError), self._opened(Folder.TAKING) as aside:
                self._draft = draft.make(aside)

    def _made_ahead(self, aside: int) -> draft.Draft | None:
        """The next draft, if it is made and nobody has done anything to it."""
        made, self._draft = self._draft, None
        if made is None or made.is_blank(aside):
            return made
        os.close(made.file)
        return None

    def _drop(self) -> None:
        """Do without the draft that was made ahead."""
        made, self._draft = self._draft, None
        if made is None:
            return
        with contextlib.suppress(FileNotFoundError, BridgeError), self._opened(Folder.TAKING) as aside:
            if made.is_blank(aside):
                os.unlink(made.name, dir_fd=aside)
        os.close(made.file)

    def move(self, source: Folder, name: str, target: Folder, new_name: str) -> str:
        with self._opened(source) as here, self._kept(target) as there:
            if draft.is_there(_one(new_name), there):
                raise FileExistsError(errno.EEXIST, "there is such a file", new_name)
            os.rename(name, new_name, src_dir_fd=here, dst_dir_fd=there)
            return draft.stamp(os.stat(new_name, dir_fd=there, follow_symlinks=False))

    def remove(self, folder: Folder, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._opened(folder) as directory:
            os.unlink(name, dir_fd=directory)

    def pack(self, seconds: float) -> int:
        """What is done with is old by the time at which it was written or put there, whichever was later."""
        packed, before = 0, time.time() - seconds
        for folder in _PACKED:
            with contextlib.suppress(FileNotFoundError, BridgeError), self._opened(folder) as directory:
                for name in os.listdir(directory):
                    if packed == _MOST_PACKED:
                        return packed
                    if name[0] != "." and name.endswith(SUFFIX):
                        packed += draft.pack(directory, name, before, is_renewed=folder is Folder.RECEIPTS)
        return packed

    def tidy(self) -> None:
        for folder in Folder:
            with contextlib.suppress(FileNotFoundError, BridgeError), self._opened(folder) as directory:
                draft.tidy(directory)

    def leave(self) -> None:
        self._drop()
        self.tidy()
        with contextlib.suppress(FileNotFoundError, BridgeError), self._opened(Folder.TAKING) as aside:
            draft.tidy(aside, 0.0)  # only its carrier makes any there, and that has ended
        self.remove(Folder.INBOX, MARK)
        Here(self.place).clear()
        above, _, name = Folder.TAKING.rpartition("/")
        with contextlib.suppress(OSError, BridgeError), self._opened(above) as outbox:
            os.rmdir(name, dir_fd=outbox)  # unless something is in it

    # changes

    @property
    def is_blind(self) -> bool:
        self._see()
        return self.is_slow or self._watch is None or self._watch.is_blind

    def fileno(self) -> int:
        self._see()
        return -1 if self._watch is None else self._watch.fileno()

    def changes(self) -> frozenset[Folder]:
        self._see()
        return frozenset() if self._watch is None else self._watch.changes()

    def _see(self) -> None:
        """Begin to watch, when somebody wants to know."""
        if not self._is_watched:
            self._is_watched, self._watch = True, watch(self._opened, self.place, self._side)

    def close(self) -> None:
        self._drop()
        self._is_watched, watched, self._watch = False, self._watch, None
        if watched is not None:
            watched.close()


def _make(directory: int, name: str) -> None:
    """A folder for whoever uses the one above it."""
    try:
        os.mkdir(name, 0o700, dir_fd=directory)
    except FileExistsError:
        return
    made = os.open(name, BELOW, dir_fd=directory)
    try:
        draft.like(made, directory, 0o777)
    finally:
        os.close(made)


@contextmanager
def _opened_in(mailbox: int, folder: Folder) -> Generator[int]:
    directory = below(os.dup(mailbox), folder)
    try:
        yield directory
    finally:
        os.close(directory)


def _open(directory: int, name: str, limit: int) -> int:
    about = os.stat(name, dir_fd=directory, follow_symlinks=False)
    _check(about, limit)  # a device may do something when it is opened
    try:
        return os.open(name, _READ, dir_fd=directory)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENXIO):  # it has just become one
            raise InvalidLetter("it is not a regular file") from None
        if isinstance(exc, PermissionError):
            raise InvalidLetter("it may not be read from here") from None
        raise


def _sheet(opened: int, limit: int) -> Sheet:
    about = os.fstat(opened)
    _check(about, limit)
    return Sheet(_all(opened, limit), draft.stamp(about))


def _check(about: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = (
            "a link" if stat.S_ISLNK(about.st_mode) else "a directory" if stat.S_ISDIR(about.st_mode) else ""
        )
        raise InvalidLetter(f"it is {kind or 'not a regular file'}")
    if about.st_nlink > 1:  # none: another has just taken its place, and it is still whole
        raise InvalidLetter("it is a file that has another name, too: it may be somebody else's")
    if about.st_size > limit:
        raise InvalidLetter(f"it has {about.st_size:,} bytes; the limit is {limit:,} (mailbox_file_bytes)")


def _all(file: int, limit: int) -> bytes:
    """All of it, or a little more than may be: it may grow meanwhile."""
    found: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := os.read(file, min(left, 1 << 20))):
        found.append(piece)
        left -= len(piece)
    if left <= 0:
        raise InvalidLetter(f"it has more than {limit:,} bytes (mailbox_file_bytes)")
    return b"".join(found)


def _one(name: str) -> str:
    """The name of one file: what would lead elsewhere is none."""
    if not name or "/" in name or name in (".", ".."):
        raise InvalidLetter(f"{name!r} is no name of a file"[:200])
    return name
