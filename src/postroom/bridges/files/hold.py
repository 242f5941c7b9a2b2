"""Which program has which letter of an inbox in hand, when several receive from it at once.

A hold is a small file beside the letters, `inbox/.held/<letter>.<n>`, that names its holder. Of several who
make the same one, one succeeds. A hold counts while its holder lives; who finds one of a holder that is gone
makes the next, `n + 1`, and knows from that number that the letter may have been read before.
"""

import contextlib
import os
import re
import stat
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Protocol

from postroom import host
from postroom.bridges.files import descent
from postroom.bridges.files.letter import SUFFIX
from postroom.errors import BridgeError

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None

FOLDER = "inbox/.held"
_SIGN = re.compile(r"\.[0-9a-f]{16}")
_NUMBER = re.compile(r"[0-9]{1,4}")  # of a hold: nobody has held a letter more often
LONGEST = 200  # bytes of what a holder says of itself
_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _PLAIN
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _PLAIN


class Place(Protocol):
    """Where holds are kept, and how a holder is known to live."""

    def begin(self, holder: str) -> None:
        """From now on this holder lives."""
        ...

    def is_alive(self, holder: str) -> bool: ...

    def names(self) -> list[str]: ...

    def read(self, name: str) -> str:
        """Empty where there is none."""
        ...

    def create(self, name: str, holder: str) -> bool: ...

    def remove(self, name: str) -> None: ...

    def end(self, holder: str) -> None: ...

    def clear(self) -> None:
        """Remove all that was kept, for a mailbox that is served no longer. What others put there stays."""
        ...

    def forget(self) -> None:
        """In a process that was forked: who lives is its parent, whose connections stay as they are."""
        ...

    def close(self) -> None:
        """Nothing is asked of it any more."""
        ...


class Holds:
    """What this program has in hand. Used by one thread at a time."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._me = os.urandom(8).hex()
        self._begun = False
        self._mine: dict[str, int] = {}  # and how often each has been held before
        _every.add(self)

    def take(
        self, letters: list[str], most: int, here: Iterable[str] | None = None
    ) -> list[tuple[str, bool]]:
        """So many of these letters, each with whether somebody has had it before; none that another has.

        `here`: all that are in the inbox, if these are not all; how often those were held is not forgotten.
        """
        if not self._begun:
            self._place.begin(self._me)
            self._begun = True
        held, found = self._held(letters if here is None else here), list[tuple[str, bool]]()
        for letter in letters:
            if len(found) == most:
                break
            count = held.get(letter, 0)
            if letter not in self._mine and self._take(letter, count):
                self._mine[letter] = count
                found.append((letter, count > 0))
        return found

    def _take(self, letter: str, count: int) -> bool:
        if count:
            holder = self._place.read(f"{letter}.{count - 1}")
            if holder != self._me and self._lives(holder):
                return False
        return self._place.create(f"{letter}.{count}", self._me)

    def _lives(self, holder: str) -> bool:
        return holder.isalnum() and self._place.is_alive(holder)

    def _held(self, letters: Iterable[str]) -> dict[str, int]:
        """How often each has been held. What is left of letters that are gone goes, too."""
        here, found = set(letters), dict[str, int]()
        for name in self._place.names():
            letter, _, number = name.rpartition(".")
            if letter in here and _NUMBER.fullmatch(number):
                found[letter] = max(found.get(letter, 0), int(number) + 1)
            elif _is_hold(name) and letter not in here and not self._lives(self._place.read(name)):
                self._place.remove(name)
        return found

    def done(self, letter: str) -> None:
        """It is not in the inbox any more, or was not there after all."""
        for number in range(self._mine.pop(letter, -1) + 1):
            self._place.remove(f"{letter}.{number}")

    def put_back(self, letter: str) -> None:
        """It was not shown to anybody by us."""
        number = self._mine.pop(letter, None)
        if number is not None:
            self._place.remove(f"{letter}.{number}")

    def close(self) -> None:
        """What is still in hand is anybody's from now on, and will be said to have been read before."""
        begun, self._begun = self._begun, False
        self._mine.clear()
        try:
            if begun:
                self._place.end(self._me)
        finally:
            self._place.close()

    def forget(self) -> None:
        """In a process that was forked from the holder's own."""
        self._begun = False
        self._mine.clear()
        self._place.forget()


def _is_hold(name: str) -> bool:
    """What has another name is nobody's that we know."""
    letter, _, number = name.rpartition(".")
    return letter.endswith(SUFFIX) and letter[0] != "." and _NUMBER.fullmatch(number) is not None


def is_ours(name: str) -> bool:
    """A hold, or what tells that a holder lives."""
    return _is_hold(name) or _SIGN.fullmatch(name) is not None


_every: "weakref.WeakSet[Holds]" = weakref.WeakSet()


def _forget_all() -> None:
    for one in list(_every):
        one.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class Here:
    """On this machine. A holder lives while it has a lock on a file, which ends with its process.

    Whoever has the mailbox may turn anything in it into anything: so no link in it is followed.
    """

    def __init__(self, mailbox: str) -> None:
        self._tree, self._name = os.path.split(mailbox)
        self._folder = os.path.join(mailbox, FOLDER)
        self._lock = -1

    @contextmanager
    def _opened(self, folder: str = FOLDER) -> Generator[int]:
        """The folder of the holds, or one above it; what is wrong there is told as a bridge's error."""
        try:
            directory = self._descend(folder)
            try:
                yield directory
            finally:
                os.close(directory)
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError as exc:
            hint = "Look at it; what is no directory of ours there may be taken away."
            raise BridgeError(f"{self._folder} cannot be used: {exc.strerror}", hint=hint) from exc

    def _descend(self, folder: str) -> int:
        return descent.below(descent.below(os.open(self._tree or ".", descent.FOLDER), self._name), folder)

    def begin(self, holder: str) -> None:
        self.forget()
        try:
            self._make()
            with self._opened() as folder:
                self._lock = os.open(f".{holder}", _NEW, 0o644, dir_fd=folder)
                os.write(self._lock, host.identity().encode())
                if fcntl is not None:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError as exc:
            raise BridgeError(f"{self._folder} cannot be used: {exc.strerror}") from exc

    def _make(self) -> None:
        above, _, name = FOLDER.rpartition("/")
        with self._opened(above) as inbox, contextlib.suppress(FileExistsError):
            os.mkdir(name, os.fstat(inbox).st_mode & 0o777, dir_fd=inbox)

    def is_alive(self, holder: str) -> bool:
        try:
            with self._opened() as folder:
                return self._is_locked(folder, f".{holder}")
        except FileNotFoundError:
            return False
        except BridgeError:
            return True  # it cannot be told

    def _is_locked(self, folder: int, sign: str) -> bool:
        """Whether somebody has that lock; the file of one that nobody has is removed."""
        file = os.open(sign, _READ, dir_fd=folder)
        try:
            if fcntl is None:
                return not host.is_gone(os.read(file, LONGEST).decode("ascii", "replace"))
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(file)
        with contextlib.suppress(OSError):
            os.unlink(sign, dir_fd=folder)
        return False

    def names(self) -> list[str]:
        try:
            with self._opened() as folder:
                return [name for name in os.listdir(folder) if name[0] != "."]
        except FileNotFoundError:
            return []  # the inbox was taken away

    def read(self, name: str) -> str:
        try:
            with self._opened() as folder:
                file = os.open(name, _READ, dir_fd=folder)
                try:
                    is_plain = stat.S_ISREG(os.fstat(file).st_mode)
                    return os.read(file, LONGEST).decode("ascii", "replace") if is_plain else ""
                finally:
                    os.close(file)
        except (BridgeError, FileNotFoundError):
            return ""

    def create(self, name: str, holder: str) -> bool:
        if not self._has(f".{holder}"):
            self.begin(holder)  # it went with the inbox
        try:
            with self._opened() as folder:
                return _link(folder, name, holder.encode())
        except FileNotFoundError as exc:
            raise BridgeError(f"{self._folder} cannot be used: {exc.strerror}") from exc

    def _has(self, name: str) -> bool:
        try:
            with self._opened() as folder:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """A directory that is called so is no hold of anybody's, and stays."""
        absent, no_file = contextlib.suppress(FileNotFoundError), contextlib.suppress(IsADirectoryError)
        with absent, self._opened() as folder, no_file:
            os.unlink(name, dir_fd=folder)

    def end(self, holder: str) -> None:
        with contextlib.suppress(BridgeError):
            self.remove(f".{holder}")
        self.forget()

    def clear(self) -> None:
        """Nothing, while somebody who lives uses it."""
        above, _, name = FOLDER.rpartition("/")
        with contextlib.suppress(FileNotFoundError):
            with self._opened() as folder:
                ours = [each for each in os.listdir(folder) if is_ours(each)]
                if any(self._is_locked(folder, each) for each in ours if each[0] == "."):
                    return
                for each in ours:
                    with contextlib.suppress(OSError):
                        os.unlink(each, dir_fd=folder)
            with self._opened(above) as inbox, contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=inbox)

    def forget(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def close(self) -> None:
        self.forget()


def _link(folder: int, name: str, data: bytes) -> bool:
    """Make a file, whole, unless there is one; whether it was made."""
    temporary = f".{os.urandom(8).hex()}"
    try:
        file = os.open(temporary, _NEW, 0o644, dir_fd=folder)
        try:
            os.write(file, data)
        finally:
            os.close(file)
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
    return True
