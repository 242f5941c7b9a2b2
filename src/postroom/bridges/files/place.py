"""Where a tree of mailboxes lies: what is in it, and the note that a room elsewhere serves it."""

import contextlib
import os
import re
import stat

from postroom.bridges.files import remote
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Shelf
from postroom.errors import BridgeError, InvalidValue

BASE, SERVED = ".postroom", "served"
_DRAFT = re.compile(r"\.[0-9a-f]{16}")  # of that note
_FOLDER, _NOFOLLOW = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), getattr(os, "O_NOFOLLOW", 0)


def checked(place: str) -> str:
    """A tree as it is kept: one path, however it was written; or an address."""
    if remote.is_remote(place):
        return remote.checked(place)
    real = os.path.realpath(os.path.expanduser(place))
    if os.path.lexists(real) and not os.path.isdir(real):
        raise InvalidValue(f"{place} is no directory", hint="Give the directory with the mailboxes in it.")
    if not os.path.isdir(real):
        raise InvalidValue(f"there is no directory {place}", hint=f"Make it: mkdir -p {place}")
    return real


def shelf(place: str, name: str) -> Shelf:
    """One mailbox of a tree."""
    if remote.is_remote(place):
        return remote.shelf(place, name)
    return LocalShelf(place, name)


def members(place: str) -> list[str]:
    """The mailboxes that are there: directories, and no links to some. None where the tree is gone."""
    if remote.is_remote(place):
        return remote.members(place)
    try:
        with os.scandir(place) as found:
            return sorted(
                each.name
                for each in found
                if each.name[0] != "." and stat.S_ISDIR(each.stat(follow_symlinks=False).st_mode)
            )
    except OSError:
        return []


def absence(place: str, name: str) -> str:
    """Why a mailbox cannot be seen to now, in words; empty: it can, or only the store knows."""
    if remote.is_remote(place) or os.path.isdir(os.path.join(place, name)):
        return ""
    return f"{os.path.join(place, name)} is not there"


def changed_at(place: str) -> int:
    """When something came into a tree or went, in nanoseconds; 0: it cannot be told."""
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return 0


def mark(place: str, data: bytes) -> None:
    """Note in a tree that a room elsewhere serves it; `BridgeError` where nothing can be written there."""
    if remote.is_remote(place):
        remote.mark(place, data)
        return
    try:
        _make_base(place)
        base = _base(place)
        try:
            name = f".{os.urandom(8).hex()}"
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o644, dir_fd=base)
            with open(file, "wb") as note:
                os.fchmod(file, 0o644)  # whoever uses a mailbox there may see it
                note.write(data)
            os.replace(name, SERVED, src_dir_fd=base, dst_dir_fd=base)
        finally:
            os.close(base)
    except OSError as exc:
        raise BridgeError(f"{place} cannot be written: {exc.strerror}") from exc


def unmark(place: str) -> None:
    """Take that note away, and the directory it lay in if there was nothing else."""
    if remote.is_remote(place):
        remote.unmark(place)
        return
    try:
        base = _base(place)
    except OSError:
        return  # there is nothing left of it
    try:
        for name in os.listdir(base):
            if name == SERVED or _DRAFT.fullmatch(name):
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=base)
    finally:
        os.close(base)
    with contextlib.suppress(OSError):  # something else is in it: a room, say
        os.rmdir(os.path.join(place, BASE))


def has_room(place: str) -> bool:
    """Whether the programs of a tree carry for themselves while nobody else does."""
    return not remote.is_remote(place) and os.path.lexists(os.path.join(place, BASE, "room"))


def _make_base(place: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.join(place, BASE), 0o755)


def _base(place: str) -> int:
    """Our directory in a tree, and no link to one."""
    tree = os.open(place, _FOLDER)
    try:
        return os.open(BASE, _FOLDER | _NOFOLLOW, dir_fd=tree)
    finally:
        os.close(tree)


def marked(place: str) -> bytes:
    """The note in a tree of who serves it; empty where there is none that can be read."""
    if remote.is_remote(place):
        return remote.marked(place)
    try:
        base = _base(place)
    except OSError:
        return b""
    try:
        file = os.open(SERVED, os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0), dir_fd=base)
        try:
            return os.read(file, 4096) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        finally:
            os.close(file)
    except OSError:
        return b""
    finally:
        os.close(base)
