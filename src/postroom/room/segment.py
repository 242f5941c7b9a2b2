"""The files of the journals: what their names say, and how they are read, mended, closed and rewritten.

    _room.jsonl                                      the events of no agent
    <project>/<agent>.jsonl                          an agent's journal, being written
    <project>/<agent>.<first>-<last>.jsonl           closed, not compressed yet
    <project>/<agent>.<first>-<last>.jsonl.gz        closed and compressed
    <project>/<agent>.<first>-<last>.void1.jsonl.gz  taken back as a whole after a power loss (see `journal`)
    <id>.jsonl …                                     an agent's, as earlier versions named it

What stands before the range is the stem of a journal: names as `filename` escapes them, or an id. A closed
file covers the events `first` to `last` as they were when it was closed. Whoever changes a file holds the
room's write lock. No link is followed below the directory of the journals.
"""

import contextlib
import errno
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from postroom import host
from postroom.errors import JournalBroken
from postroom.room import file, filename, line

ROOM = "_room"
BLOCK = 1 << 16
_TAIL = 1 << 12  # bytes in which the last line of most files is

_FILE = re.compile(r"(.+?)(?:\.(\d+)-(\d+))?(?:\.(void)\d+)?\.jsonl(\.gz)?", re.ASCII)
_LOSS = re.compile(r"\.void(\d+)\.jsonl")
_FLAT = re.compile(r"\w+(?:\.\w+)*", re.ASCII)  # the id of a subagent has a dot for each agent above it
_ID = re.compile(r"a[0-9a-z]{1,40}(?:\.[0-9a-z]{1,40})*", re.ASCII)


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


def is_id(party: str) -> bool:
    """Whether it can be the id of an agent."""
    return _ID.fullmatch(party) is not None


@lru_cache(4096)
def is_stem(stem: str) -> bool:
    """Whether it can be what the files of a journal are named by; it never leads out of their directory."""
    project, slash, name = stem.rpartition("/")
    if slash:
        return filename.is_escaped(project) and filename.is_escaped(name)
    return _FLAT.fullmatch(name) is not None and len(name) <= filename.LONGEST


def live_path(directory: str, stem: str) -> str:
    return _path(directory, stem, ".jsonl")


def _path(directory: str, stem: str, ending: str) -> str:
    if not is_stem(stem):
        raise JournalBroken(f"{stem!r} names no journal"[:200], path=directory)
    return os.path.join(directory, *f"{stem}{ending}".split("/"))


def make_rooms(directory: str, stems: Iterable[str]) -> None:
    """Make the directories of journals, where they are not there; what is in the place of one is refused."""
    for project in {project for stem in stems if (project := stem.rpartition("/")[0])}:
        path = os.path.join(directory, project)
        host.private_directory(path)
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            hint = "Move it away, and write the journals: postroom journal"
            raise JournalBroken(f"{path} is not a directory", path=path, hint=hint)


def listed(directory: str) -> dict[str, list[Segment]]:
    """The files of each journal, oldest first, each range once: compressed, if it is there in both forms."""
    return _sorted(found for found, is_void in _all(directory) if not is_void)


def of(directory: str, stem: str) -> list[Segment]:
    """The files of one journal."""
    found = (found for found, is_void in _in(directory, stem) if not is_void and found.stem == stem)
    return _sorted(found).get(stem, [])


def _sorted(segments: Iterable[Segment]) -> dict[str, list[Segment]]:
    journals: dict[str, dict[tuple[int, int], Segment]] = {}
    for segment in segments:
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
        with contextlib.suppress(FileNotFoundError), opened(files[-1].path) as source:
            return [*files[:-1], files[-1]._replace(identity=_identity(source))]
    return files


def _identity(source: BinaryIO) -> tuple[int, bytes]:
    """Tells a file from one that took its name, and even its inode: no two begin with the same event."""
    return os.fstat(source.fileno()).st_ino, source.read(64)


def uncompressed(directory: str) -> list[Segment]:
    """Closed files that are still to be compressed, or have been and are still there."""
    return [
        found for found, is_void in _all(directory) if not (is_void or found.is_open or found.is_compressed)
    ]


def voids(directory: str, stem: str) -> list[Segment]:
    """Files of one journal that were taken back as a whole."""
    return [found for found, is_void in _in(directory, stem) if is_void and found.stem == stem]


def drop_twins(directory: str) -> None:
    """Remove what is there in both forms, so that a change of one cannot be undone by the other."""
    for one in uncompressed(directory):
        if os.path.exists(one.path + ".gz"):
            os.unlink(one.path)


def loss_of(path: str) -> int:
    """Which loss a file was taken back for, as its name says."""
    return int(_LOSS.findall(path)[-1])


def void_path(segment: Segment, loss: int) -> str:
    """A name for a file that was taken back as a whole."""
    before, ending, after = segment.path.rpartition(".jsonl")
    n = loss
    while os.path.lexists(path := f"{before}.void{n}{ending}{after}"):
        n += 1
    return path


def closed_path(path: str, first: int, last: int) -> str:
    """The name that an open file has from when it is closed."""
    return f"{path.removesuffix('.jsonl')}.{first}-{last}.jsonl"


def parsed(directory: str, name: str) -> Segment | None:
    """What a file's name says, from the journals' directory on; None where it is none of a journal's that
    counts."""
    found = _parsed(directory, name)
    return None if found is None or found[1] else found[0]


def _parsed(directory: str, name: str) -> tuple[Segment, bool] | None:
    """What it says, and whether the file was taken back."""
    found = _FILE.fullmatch(name)
    if found is None or not is_stem(found[1]) or ((found[4] or found[5]) and not found[2]):
        return None
    path = os.path.join(directory, *name.split("/"))
    return Segment(found[1], int(found[2] or 0), int(found[3] or 0), path), bool(found[4])


def _order(segment: Segment) -> tuple[bool, int, int]:
    return segment.is_open, segment.first, segment.last


def _all(directory: str) -> Iterator[tuple[Segment, bool]]:
    yield from _in(directory, ROOM)
    for project in projects(directory):
        yield from _in(directory, f"{project}/")


def _in(directory: str, stem: str) -> Iterator[tuple[Segment, bool]]:
    """The files in the directory in which those of a journal are."""
    project, slash, _ = stem.rpartition("/")
    where = os.path.join(directory, project)
    if slash and os.path.islink(where):
        return
    for name in _names(where, _is_file):
        if (found := _parsed(directory, f"{project}{slash}{name}")) is not None:
            yield found


def projects(directory: str) -> list[str]:
    """The directories of projects, by their names."""
    return [name for name in _names(directory, _is_directory) if filename.is_escaped(name)]


def _is_file(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file(follow_symlinks=False)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)


def _names(directory: str, wanted: "Callable[[os.DirEntry[str]], bool]") -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if wanted(entry))
    except (FileNotFoundError, NotADirectoryError):
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
            with opened(segment.path) as source:
                if identity not in (None, now := _identity(source)):
                    raise Moved(segment.path)
                identity = now
                source.seek(offset)
                block = source.read(BLOCK)
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


class End(NamedTuple):
    """How far an open file goes."""

    seq: int  # 0 when it is empty
    owner: str | None = None  # the agent of the last line; None where that tells none


def mend(path: str) -> End:
    """Cut off a last line that was never finished; where the file ends then."""
    try:
        mended = opened(path, to_change=True)
    except FileNotFoundError:
        return End(0)
    with mended:
        size = mended.seek(0, os.SEEK_END)
        want = _TAIL
        while True:
            start = max(0, size - want)
            mended.seek(start)
            block = mended.read(size - start)
            end = block.rfind(b"\n")
            begin = block.rfind(b"\n", 0, end) if end >= 0 else -1
            if begin >= 0 or start == 0:
                break
            want *= 8
        if start + end + 1 < size:
            mended.truncate(start + end + 1)
        if end < 0:
            return End(0)
        last = block[begin + 1 : end]
    try:
        to = line.rewinds_to(last)
        return End(line.number(last), line.owner(last)) if to is None else End(to)
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


def opened(path: str, *, to_change: bool = False) -> BinaryIO:
    """Open a file that is there; what is a link, or no file, is not opened."""
    flags = (os.O_RDWR if to_change else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    return open(_descriptor(path, flags), "r+b" if to_change else "rb")


def _descriptor(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _no_file(path) from exc
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def _no_file(path: str) -> JournalBroken:
    return JournalBroken(
        f"{path} is not a file", path=path, hint="Move it away, and write the journals: postroom journal"
    )


def append(path: str, data: bytes, *, durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = _descriptor(path, flags)
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
