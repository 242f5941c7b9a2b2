"""The files of the journals: what their names say, and how they are read, mended, closed and rewritten.

    <agent>.jsonl                          an agent's journal, being written; `_room` for no agent's events
    <agent>.<first>-<last>.jsonl           closed, not compressed yet
    <agent>.<first>-<last>.jsonl.gz        closed and compressed
    <agent>.<first>-<last>.void1.jsonl.gz  taken back as a whole after a power loss (see `journal`)

A closed file covers the events `first` to `last` as they were when it was closed. Whoever changes a file
holds the room's write lock.
"""

import contextlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from postroom.errors import JournalBroken
from postroom.room import file, line

ROOM = "_room"
BLOCK = 1 << 16

_STEM = r"\w+(?:\.\w+)*?"  # the id of a subagent has a dot for each agent above it
_NAME = re.compile(rf"({_STEM})(?:\.(\d+)-(\d+))?\.jsonl(\.gz)?", re.ASCII)
_VOID = re.compile(rf"({_STEM})\.(\d+)-(\d+)\.void\d+\.jsonl(?:\.gz)?", re.ASCII)


class Moved(JournalBroken):
    """A file was closed or rewritten while it was being read: begin again."""


class Damaged(JournalBroken):
    """The end of an open file is not what was written."""


class Segment(NamedTuple):
    """One file of one journal."""

    stem: str
    first: int
    last: int  # 0 while it is being written
    path: str
    identity: tuple[int, bytes] | None = None

    @property
    def is_open(self) -> bool:
        return self.last == 0

    @property
    def is_compressed(self) -> bool:
        return self.path.endswith(".gz")


def live_path(directory: str, stem: str) -> str:
    return os.path.join(directory, f"{stem}.jsonl")


def listed(directory: str) -> dict[str, list[Segment]]:
    """The files of each journal, oldest first, each range once: compressed, if it is there in both forms."""
    journals: dict[str, dict[tuple[int, int], Segment]] = {}
    for name in _names(directory):
        segment = _parsed(directory, name)
        if segment is None:
            continue
        ranges = journals.setdefault(segment.stem, {})
        if segment.is_compressed or (segment.first, segment.last) not in ranges:
            ranges[segment.first, segment.last] = segment
    return {stem: sorted(ranges.values(), key=_order) for stem, ranges in sorted(journals.items())}


def settled(directory: str) -> dict[str, list[Segment]]:
    """As `listed`, for who does not hold the lock, with the identity of each file that is being written.

    A file renamed during a listing may be in it by no name, and another may take its name before it is read.
    """
    before = None
    while (now := {stem: _identified(files) for stem, files in listed(directory).items()}) != before:
        before = now
    return now


def _identified(files: list[Segment]) -> list[Segment]:
    if files[-1].is_open:
        with contextlib.suppress(FileNotFoundError), open(files[-1].path, "rb") as opened:
            return [*files[:-1], files[-1]._replace(identity=_identity(opened))]
    return files


def _identity(opened: BinaryIO) -> tuple[int, bytes]:
    """Tells a file from one that took its name, and even its inode: no two begin with the same event."""
    return os.fstat(opened.fileno()).st_ino, opened.read(64)


def uncompressed(directory: str) -> list[Segment]:
    """Closed files that are still to be compressed, or have been and are still there."""
    found = [_parsed(directory, name) for name in _names(directory)]
    return [one for one in found if one and not one.is_open and not one.is_compressed]


def voids(directory: str, stem: str) -> list[Segment]:
    """Files of one journal that were taken back as a whole."""
    found = [(_VOID.fullmatch(name), os.path.join(directory, name)) for name in _names(directory)]
    return [Segment(stem, int(m[2]), int(m[3]), path) for m, path in found if m and m[1] == stem]


def drop_twins(directory: str) -> None:
    """Remove what is there in both forms, so that a change of one cannot be undone by the other."""
    for one in uncompressed(directory):
        if os.path.exists(one.path + ".gz"):
            os.unlink(one.path)


def void_path(segment: Segment) -> str:
    """A free name for a file that was taken back as a whole."""
    before, after = segment.path.split(".jsonl")
    n = 1
    while os.path.exists(path := f"{before}.void{n}.jsonl{after}"):
        n += 1
    return path


def _parsed(directory: str, name: str) -> Segment | None:
    found = _NAME.fullmatch(name)
    if found is None or (found[4] and not found[2]):
        return None
    return Segment(found[1], int(found[2] or 0), int(found[3] or 0), os.path.join(directory, name))


def _order(segment: Segment) -> tuple[bool, int, int]:
    return segment.is_open, segment.first, segment.last


def _names(directory: str) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(os.listdir(directory))
    return []


def lines(segment: Segment) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file, numbered from 1. No file stays open between two blocks.

    What follows the last line feed of an open file is a line that was never finished, and is left out.
    """
    rest, count = b"", 0
    for block in _blocks(segment):
        *whole, rest = (rest + block).split(b"\n") if b"\n" in block else (rest + block,)
        for text in whole:
            count += 1
            yield count, text
    if rest and not segment.is_open:
        raise JournalBroken(f"{segment.path}:{count + 1}: the last line is cut off", path=segment.path)


def _blocks(segment: Segment) -> Iterator[bytes]:
    inflate = zlib.decompressobj(31) if segment.is_compressed else None
    offset, identity = 0, segment.identity
    while True:
        try:
            with open(segment.path, "rb") as opened:
                if identity not in (None, now := _identity(opened)):
                    raise Moved(segment.path)
                identity = now
                opened.seek(offset)
                block = opened.read(BLOCK)
        except FileNotFoundError:
            raise Moved(segment.path) from None
        if not block:
            break
        offset += len(block)
        try:
            yield inflate.decompress(block) if inflate else block
        except zlib.error as exc:
            raise JournalBroken(f"{segment.path}: {exc}", path=segment.path) from exc
    if inflate and not inflate.eof:
        raise JournalBroken(f"{segment.path}: the compressed file is cut off", path=segment.path)


def mend(path: str) -> int:
    """Cut off a last line that was never finished; the seq up to which the file goes, 0 when it is empty."""
    try:
        opened = open(path, "r+b")  # noqa: SIM115 - closed just below
    except FileNotFoundError:
        return 0
    with opened:
        size = opened.seek(0, os.SEEK_END)
        want = BLOCK
        while True:
            start = max(0, size - want)
            opened.seek(start)
            block = opened.read(size - start)
            end = block.rfind(b"\n")
            begin = block.rfind(b"\n", 0, end) if end >= 0 else -1
            if begin >= 0 or start == 0:
                break
            want *= 8
        if start + end + 1 < size:
            opened.truncate(start + end + 1)
        if end < 0:
            return 0
        last = block[begin + 1 : end]
    try:
        to = line.rewinds_to(last)
        return line.number(last) if to is None else to
    except (ValueError, KeyError) as exc:
        raise Damaged(path) from exc


def cut_damage(segment: Segment) -> None:
    """Cut an open file before the first line that cannot be what was written."""
    size = 0
    for _, text in lines(segment):
        if not line.is_whole(text):
            break
        size += len(text) + 1
    if size < os.path.getsize(segment.path):
        os.truncate(segment.path, size)


def append(path: str, data: bytes, *, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rewrite(segment: Segment, change: Callable[[bytes], bytes | None]) -> int:
    """Change or drop lines of a file, all at once; how many. A file without lines goes away."""
    changed = kept = 0

    def content() -> Iterator[bytes]:
        nonlocal changed, kept
        for _, text in lines(segment):
            new = change(text)
            changed += new != text
            if new is not None:
                kept += 1
                yield new + b"\n"

    made = file.temporary(segment.path)
    try:
        file.write_whole(made, content(), compressed=segment.is_compressed)
        if not kept:
            os.unlink(segment.path)
        elif changed:
            file.put(made, segment.path)
    finally:
        file.remove(made)
    return changed
