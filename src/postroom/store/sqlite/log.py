"""Reads the write-ahead log past SQLite, which takes its damaged part for a part that was never written.

Loaded where a room is made, where the log's header is damaged, and by `verify`.
"""

import os
import sys
from array import array
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from postroom.store.sqlite import connection as link

_PAGE = 4096
_ENDS = 1 << 32


class _Frame(NamedTuple):
    """One page as the log has it."""

    is_commit: bool
    salts: bytes
    kept: bytes  # the checksum of all up to here, as it was written
    summed: bytes  # what is summed up, after the checksum of the frame before


def has_commits(path: str) -> bool:
    """Return True if the log beside a store holds anything that was committed, readable or not."""
    try:
        with open(path + "-wal", "rb") as opened:
            return any(one.is_commit for one in _frames(opened, _page_size(opened.read(link.LOG_HEADER))))
    except OSError:
        return False


def unread(path: str) -> int:
    """Return how many transactions stand behind a damaged place of the log, so that SQLite ignores them.

    Others may write meanwhile: what they have written half looks damaged. Ask again with the write lock.
    """
    try:
        with open(path + "-wal", "rb") as opened:
            head = opened.read(link.LOG_HEADER)
            if len(head) < link.LOG_HEADER or link.is_damaged_header(head):
                return 0  # then no connection is opened
            return _unread(_frames(opened, _page_size(head)), head)
    except OSError:
        return 0


def _unread(frames: Iterator[_Frame], head: bytes) -> int:
    is_native = (head[3] & 1) == (sys.byteorder == "big")
    before, salts, is_broken, found = head[24:32], head[16:24], False, 0
    for frame in frames:
        is_whole = frame.salts == salts and frame.kept == _checksum(before, frame.summed, native=is_native)
        is_broken |= not is_whole
        # The sum goes on from that which was written: behind a damaged frame, the next ones fit again.
        found += is_broken and is_whole and frame.is_commit
        before = frame.kept
    return found


def _checksum(before: bytes, text: bytes, *, native: bool) -> bytes:
    words = array("I", text)
    if not native:
        words.byteswap()
    first, second = int.from_bytes(before[:4], "big"), int.from_bytes(before[4:], "big")
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first.to_bytes(4, "big") + second.to_bytes(4, "big")


def _page_size(head: bytes) -> int:
    size = int.from_bytes(head[8:12], "big")
    return size if 512 <= size <= 1 << 16 and size & (size - 1) == 0 else _PAGE


def _frames(opened: BinaryIO, page: int) -> Iterator[_Frame]:
    """The whole frames from where the file stands."""
    while len(text := opened.read(24 + page)) == 24 + page:
        number, size = int.from_bytes(text[:4], "big"), int.from_bytes(text[4:8], "big")
        yield _Frame(number > 0 and 0 < size < _ENDS, text[8:16], text[16:24], text[:8] + text[24:])


def remains(path: str) -> str:
    """Return what lies beside a store that is to be made, and shows that there was one; empty: nothing."""
    if has_commits(path):
        return f"{path}-wal"
    events = os.path.join(os.path.dirname(path), "events")
    try:
        names = os.listdir(events)
    except OSError:
        return ""
    return events if any(name[0] != "." for name in names) else ""
