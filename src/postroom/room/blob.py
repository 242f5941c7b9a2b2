"""Attachments as files: each under the hash of its content (`blobs/ab/cdef…`), once however often it is sent.

A file is made under a temporary name, and takes its place under the room's write lock, just before the commit
of the message that names it. What no message names is removed under the same lock, so that nothing goes that
a message is about to name. A process killed in between leaves a file that nobody names, and the next
`sweep` removes that.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from postroom import host, label
from postroom.room import file

if TYPE_CHECKING:
    from postroom.model.message import Json
    from postroom.room.local import LocalRoom

CHUNK = 1 << 20
_HEAD = 4096


class Staged(NamedTuple):
    """A whole file that has not taken its place yet."""

    made: str
    sha256: str
    size: int
    head: bytes  # its first bytes


def directory(home: str) -> str:
    return os.path.join(home, "blobs")


def path(home: str, sha256: str) -> str:
    """Where the content with that hash is, if it is in the room."""
    return os.path.join(home, "blobs", sha256[:2], sha256[2:])


@file.tells_of_files
def stage(home: str, content: Iterable[bytes], *, lasting: bool) -> Staged:
    """Write content to a temporary file, of which nothing is left if that fails.

    `lasting`: wait for the disk.
    """
    if not os.path.isdir(directory(home)):
        host.private_directory(directory(home))
        file.sync_directory(home)
    made = file.temporary(os.path.join(directory(home), "new"))
    hashed, size, head = hashlib.sha256(), 0, b""
    try:
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            for chunk in content:
                hashed.update(chunk)
                size += len(chunk)
                head = head or chunk[:_HEAD]
                target.write(chunk)
            if lasting:
                target.flush()
                os.fsync(target.fileno())
    except BaseException:
        file.remove(made)
        raise
    label.here("blob-staged")
    return Staged(made, hashed.hexdigest(), size, head)


@file.tells_of_files
def place(home: str, staged: Staged, *, lasting: bool) -> None:
    """Put a staged file where its hash says, unless the same is there. Call with the write lock held."""
    there = path(home, staged.sha256)
    if _size(there) != staged.size:  # none, or what a power cut left of one
        folder = os.path.dirname(there)
        fresh = not os.path.isdir(folder)
        host.private_directory(folder)
        os.replace(staged.made, there)
        if lasting:
            file.sync_directory(folder)
        if lasting and fresh:
            file.sync_directory(directory(home))
    label.here("blob-placed")


def drop(staged: Iterable[Staged]) -> None:
    """Remove what has not taken its place."""
    for one in staged:
        file.remove(one.made)


def named(room: "LocalRoom", *, everyone: bool = False) -> Iterator[tuple[str, "Json"]]:
    """Every attachment of every message (of every tenant, if asked): the message's id, and the attachment."""
    return (
        (message, attachment)
        for message, attachments in room.store.whole().attached(everyone=everyone)
        for attachment in attachments
    )


@file.tells_of_files
def sweep(room: "LocalRoom") -> int:
    """Remove every file that no message names, and what gone processes left unfinished; how many files."""
    top = directory(room.home)
    if room.store.readonly or not os.path.isdir(top):
        return 0
    removed = 0
    room.store.begin()
    try:
        file.sweep_litter(top)
        wanted = {attachment["sha256"] for _, attachment in named(room, everyone=True)}
        for prefix in _folders(top):
            folder = os.path.join(top, prefix)
            for name in os.listdir(folder):
                if prefix + name not in wanted:
                    file.remove(os.path.join(folder, name))
                    removed += 1
                    label.here("blob-removed")
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(folder)
    finally:
        room.store.rollback()
    return removed


def _folders(top: str) -> list[str]:
    return [name for name in os.listdir(top) if len(name) == 2 and os.path.isdir(os.path.join(top, name))]


def fetch(source: str, home: str) -> None:
    """Copy every file of another home into this one, unless they are the same."""
    top = directory(source)
    if not os.path.isdir(top) or os.path.realpath(top) == os.path.realpath(directory(home)):
        return
    for prefix in _folders(top):
        for name in os.listdir(os.path.join(top, prefix)):
            staged = stage(home, chunks(source, prefix + name), lasting=True)
            place(home, staged, lasting=True)
            drop((staged,))


def chunks(home: str, sha256: str) -> Iterator[bytes]:
    """The content with that hash, piece by piece; `OSError` when it cannot be read."""
    with open(path(home, sha256), "rb") as source:
        while chunk := source.read(CHUNK):
            yield chunk


def fault(home: str, attachment: "Json", *, thorough: bool) -> str:
    """What is wrong with the file of an attachment; empty when nothing is."""
    there = path(home, attachment["sha256"])
    size = _size(there)
    if size is None:
        return "is not there"
    if size != attachment["size"]:
        return f"has {size:,} bytes instead of {attachment['size']:,}"
    if not thorough:
        return ""
    hashed = hashlib.sha256()
    try:
        for chunk in chunks(home, attachment["sha256"]):
            hashed.update(chunk)
    except OSError as exc:
        return f"cannot be read ({exc.strerror})"
    return "" if hashed.hexdigest() == attachment["sha256"] else "is not what was sent"


def is_there(home: str, attachment: "Json") -> bool:
    return _size(path(home, attachment["sha256"])) is not None


def _size(there: str) -> int | None:
    try:
        return os.stat(there).st_size
    except OSError:
        return None
