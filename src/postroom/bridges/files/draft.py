"""Files in the making: each has a name by which nobody looks for anything, until it is whole.

Its maker has a lock on it while it writes, in whatever container that is. So one that was left by a process
that was killed is known from one that is being written.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from postroom import host
from postroom.bridges.files.letter import SUFFIX

_CLOEXEC, _NOFOLLOW = getattr(os, "O_CLOEXEC", 0), getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC
_NAME = re.compile(r"\.[0-9]+\.[0-9a-f]{12}")
_YOUNG = 60.0  # seconds in which one may have no lock yet, or none any more
_LARGEST_PACKED = 64 << 20  # bytes
_LONGEST_PACKED = 220  # bytes of a name, to which something is added


class Draft(NamedTuple):
    """A new file of ours, with nothing in it yet."""

    name: str
    file: int  # open, and locked

    def is_blank(self, directory: int) -> bool:
        """Whether it still is what bears that name there, under no other name, and empty."""
        try:
            named = os.stat(self.name, dir_fd=directory, follow_symlinks=False)
        except OSError:  # it is gone, or out of reach
            return False
        own = os.fstat(self.file)
        return os.path.samestat(named, own) and (own.st_nlink, own.st_size) == (1, 0)


def make(directory: int) -> Draft:
    """This takes longer than all that is done with it (on ext4, 250 to 800 µs), so it may be done ahead."""
    name = f".{os.getpid()}.{os.urandom(6).hex()}"
    file = os.open(name, _NEW, 0o600, dir_fd=directory)
    host.lock(file)
    return Draft(name, file)


@contextmanager
def _placed(draft: Draft, directory: int) -> Generator[None]:
    """It takes its place in here. If that comes to nothing, it is gone."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft.name, dir_fd=directory)
        raise


@contextmanager
def _closed(draft: Draft) -> Generator[int]:
    """It is, before it takes its place: who watches there would be woken by that."""
    try:
        yield draft.file
    finally:
        os.close(draft.file)


def is_one(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def tidy(directory: int, young: float = _YOUNG) -> None:
    """Remove what processes that were killed have left: what nobody has a lock on, and is no longer young."""
    for name in filter(is_one, os.listdir(directory)):
        _discard(directory, name, young)


def _discard(directory: int, name: str, young: float) -> None:
    with contextlib.suppress(OSError):  # it has taken its place, or is none of ours
        about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(about.st_mode) or (young and time.time() - about.st_mtime < young):
            return
        file = os.open(name, _READ, dir_fd=directory)
        try:
            if host.lock(file):
                os.unlink(name, dir_fd=directory)
        finally:
            os.close(file)


def put(
    draft: Draft, aside: int, directory: int, name: str, data: bytes, *, lasting: bool, beside: str
) -> None:
    """Write a draft from one directory, and let it take its place in another one, or in the same."""
    with _placed(draft, aside):
        with _closed(draft) as file:
            _fill(file, data)
            like(file, directory)
            if lasting:
                os.fsync(file)
        if beside:
            os.stat(beside, dir_fd=directory, follow_symlinks=False)
        os.replace(draft.name, name, src_dir_fd=aside, dst_dir_fd=directory)


def _fill(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def like(file: int, directory: int, bits: int = 0o666) -> None:
    """Let those read and write it who may do so with the folder: in a container, they have other numbers."""
    about = os.fstat(directory)
    os.fchmod(file, about.st_mode & bits)
    if os.geteuid() == 0 and (about.st_uid, about.st_gid) != (0, 0):
        os.fchown(file, about.st_uid, about.st_gid)


def stamp(about: os.stat_result) -> str:
    return f"{about.st_dev}.{about.st_ino}.{about.st_size}.{about.st_mtime_ns}"


def is_there(name: str, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def pack(directory: int, name: str, before: float, *, is_renewed: bool) -> bool:
    """Gzip one file that has not changed since; its place is taken by what was made of it.

    `is_renewed`: a later one of that name says all that an earlier one did.
    """
    import gzip  # noqa: PLC0415 - now and then
    import shutil  # noqa: PLC0415

    if len(os.fsencode(name)) > _LONGEST_PACKED:
        return False
    about = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if max(about.st_mtime, about.st_ctime) > before or not stat.S_ISREG(about.st_mode):
        return False
    if about.st_nlink != 1 or about.st_size > _LARGEST_PACKED:
        return False
    source = os.open(name, _READ, dir_fd=directory)
    with open(source, "rb") as plain:
        draft = make(directory)
        with _placed(draft, directory):
            with _closed(draft) as target, open(target, "wb", closefd=False) as file:
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    shutil.copyfileobj(plain, packed)
                like(target, directory)
                file.flush()
                os.fsync(target)
            if stamp(os.fstat(source)) != stamp(about):
                os.unlink(draft.name, dir_fd=directory)
                return False
            target_name = name if is_renewed else _free(name, directory)
            os.replace(draft.name, f"{target_name}.gz", src_dir_fd=directory, dst_dir_fd=directory)
    os.unlink(name, dir_fd=directory)
    return True


def _free(name: str, directory: int) -> str:
    """What to call it when it is packed, if another of its name was before."""
    if not is_there(f"{name}.gz", directory):
        return name
    return f"{name.removesuffix(SUFFIX)}.{time.time_ns()}{SUFFIX}"
