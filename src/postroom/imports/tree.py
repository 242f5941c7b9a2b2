"""A tree of mailboxes as another tool has left it: `DIR/<agent>/inbox/*.json`, what was processed, `outbox`.

Nothing in it is changed. Links are not followed, what is no plain file is left out, and so is what is too
large, or says too much once it is unpacked: each with its reason.
"""

import os
import stat
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from postroom.bridges.files import dialect
from postroom.bridges.files.dialect import Read
from postroom.bridges.files.letter import items
from postroom.bridges.files.place import BASE, SERVED
from postroom.errors import InvalidLetter, InvalidValue, NameTaken, Refused
from postroom.imports.plan import LeftOut
from postroom.text import storable

INBOX, OUTBOX = "inbox", "outbox"
_LARGEST = 1 << 22  # bytes of a file, packed or not
_MOST = 200_000  # letters
_DEEPEST = 3  # folders below `processed`: by the day, say
_DONE = ("processed", "archive", "archived", "done", "read", "seen")
_SENT = ("processed", "archive", "archived", "done", "sent")
_PACKED, _PLAIN = ".json.gz", ".json"
_UNKNOWN = "what a folder of that name holds is not known"


class Box(StrEnum):
    """Where a letter lies, which is all that is known of how far it got."""

    WAITING = "inbox"
    DONE = "processed"
    CLAIMED = "claimed"  # in a queue: somebody there has it in hand
    UNSENT = "outbox"
    SENT = "sent"


class Place(NamedTuple):
    """Where a file lies."""

    where: str  # below the tree
    owner: str  # the name of the mailbox
    box: Box


class Found(NamedTuple):
    """One letter in somebody's mailbox."""

    where: str
    owner: str
    box: Box
    read: Read


class Tree(NamedTuple):
    """All that lies in a tree."""

    owners: list[str]
    found: list[Found]
    left: list[LeftOut]


def is_tree(path: str) -> bool:
    return bool(mailboxes(path))


def mailboxes(path: str) -> dict[str, str]:
    """The directory of each mailbox, by its owner's name; one mailbox is a tree of one."""
    if _is_mailbox(path):
        return {os.path.basename(os.path.abspath(path)): path}
    found: dict[str, str] = {}
    for name, inner in _folders(path):
        if _is_mailbox(inner) and found.setdefault(name, inner) != inner:
            raise NameTaken(
                f"two mailboxes in {path} are called {name} when that is spelt out",
                name=name,
                hint="Rename one of the two directories, and import again.",
            )
    return found


def read(path: str) -> Tree:
    """Every letter in a tree, and what is none."""
    if os.path.lexists(os.path.join(path, BASE, SERVED)):
        raise Refused(f"a room serves {path}, and has its letters", hint="See which: postroom mailbox list")
    boxes = mailboxes(path)
    found: list[Found] = []
    left: list[LeftOut] = []
    for owner, directory in sorted(boxes.items()):
        for box, file, name in _files(directory, left, path):
            if len(found) > _MOST:
                raise Refused(
                    f"there are more than {_MOST:,} letters in {path}", hint="Import one mailbox at a time."
                )
            where = _relative(file, path)
            found += _letters(file, Place(where, owner, box), storable(name), left)
    left += [
        LeftOut(name, "it has neither an inbox nor an outbox")
        for name, _ in (() if _is_mailbox(path) else _folders(path))
        if name not in boxes
    ]
    if not _is_mailbox(path):
        left += [
            LeftOut(storable(entry.name), "it lies in no mailbox")
            for entry in _entries(path)
            if not entry.name.startswith(".") and not entry.is_dir(follow_symlinks=False)
        ]
    return Tree(sorted(boxes), found, left)


def _is_mailbox(path: str) -> bool:
    return any(_is_folder(os.path.join(path, name)) for name in (INBOX, OUTBOX))


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _folders(path: str) -> Iterator[tuple[str, str]]:
    for entry in _entries(path):
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield storable(entry.name), entry.path


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as exc:
        raise InvalidValue(
            f"{path} cannot be read: {exc.strerror}", hint="May you read it?", path=path
        ) from None


def _files(directory: str, left: list[LeftOut], root: str) -> Iterator[tuple[Box, str, str]]:
    """The files of a mailbox that may be letters: each with its box, its path and what it is called."""
    for folder, box, inner, below in (
        (INBOX, Box.WAITING, _DONE, Box.DONE),
        (OUTBOX, Box.UNSENT, _SENT, Box.SENT),
    ):
        path = os.path.join(directory, folder)
        if _is_folder(path):
            yield from _in(path, box, left, root)
            for name in inner:
                if _is_folder(done := os.path.join(path, name)):
                    yield from _in(done, below, left, root, _DEEPEST)
            left += [
                LeftOut(_relative(each, root), _UNKNOWN) for name, each in _folders(path) if name not in inner
            ]
    if _is_folder(done := os.path.join(directory, "processed")):
        yield from _in(done, Box.DONE, left, root, _DEEPEST)
    left += [
        LeftOut(_relative(each, root), _UNKNOWN)
        for name, each in _folders(directory)
        if name not in (INBOX, OUTBOX, "processed", "receipts")
    ]


def _in(
    path: str, box: Box, left: list[LeftOut], root: str, deep: int = -1
) -> Iterator[tuple[Box, str, str]]:
    for entry in _entries(path):
        if entry.name.startswith("."):
            continue
        suffix = next((end for end in (_PACKED, _PLAIN) if entry.name.endswith(end)), "")
        if entry.is_dir(follow_symlinks=False):
            if deep > 0:
                yield from _in(entry.path, box, left, root, deep - 1)
            elif deep == 0:
                left.append(LeftOut(_relative(entry.path, root), "it lies too deep"))
        elif suffix:
            yield box, entry.path, entry.name.removesuffix(suffix)
        else:
            left.append(LeftOut(_relative(entry.path, root), "its name does not end in .json"))


def _relative(path: str, root: str) -> str:
    return storable(os.path.relpath(path, root))


def _letters(file: str, place: Place, name: str, left: list[LeftOut]) -> list[Found]:
    """The letters of a file, each for itself; those that are none are left out."""
    try:
        several = items(_content(file))
    except (InvalidLetter, OSError, zlib.error) as exc:
        left.append(LeftOut(place.where, _why(exc)))
        return []
    found: list[Found] = []
    for n, item in enumerate(several):
        mark = f"#{n + 1}" if len(several) > 1 else ""
        try:
            read = dialect.read(item, name + mark, place.owner)
            found.append(Found(place.where + mark, place.owner, place.box, read))
        except InvalidLetter as exc:
            left.append(LeftOut(place.where + mark, _why(exc)))
    return found


def _why(exc: Exception) -> str:
    return (exc.strerror or "it cannot be read") if isinstance(exc, OSError) else str(exc)


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidLetter("it is not a regular file")
        data = file.read(_LARGEST + 1)
    if path.endswith(_PACKED) and len(data) <= _LARGEST:
        data = _unpacked(data)
    if len(data) > _LARGEST:
        raise InvalidLetter(f"it has more than {_LARGEST:,} bytes")
    return data


def _unpacked(data: bytes) -> bytes:
    """Never more than is wanted, however much a small file would become."""
    stream = zlib.decompressobj(wbits=31)
    found = stream.decompress(data, _LARGEST + 1)
    if not stream.eof and len(found) <= _LARGEST:
        raise InvalidLetter("it ends in the middle")
    return found
