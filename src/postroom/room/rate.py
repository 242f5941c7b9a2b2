"""Rates: so many at once, and then so many in a minute or a day, evenly.

A bucket is a moment in a small file under `run/rate`: when all that was drawn from it will have been made
good. It is read and written under the room's write lock, so all processes agree. Lost with the file, or not
kept because the disk is full, it only forgets: a limit never stands in the way of what may be sent.
"""

import os

from postroom import host

MINUTE, DAY = 60_000, 86_400_000  # milliseconds
_LONGEST_LINE = 10_000  # of those for whom something is reserved


class Bucket:
    """`most` may be drawn in `span` milliseconds."""

    def __init__(self, path: str, most: int, span: int) -> None:
        self._path = path
        self._span = span * 1000  # microseconds: a pace of 7 ms must not become one of 7.9
        self._pace = self._span // most

    def wait(self, now: int) -> int:
        """How many milliseconds until there is one; 0 when there is now."""
        with _Moment(self._path, now, self._span) as moment:
            return max(0, -(-(moment.value - now * 1000 - self._span + self._pace) // 1000))

    def left(self, now: int) -> int:
        """How many there are now."""
        with _Moment(self._path, now, self._span) as moment:
            return max(0, (now * 1000 + self._span - moment.value) // self._pace)

    def draw(self, now: int) -> None:
        """Take one. Ask before whether there is any."""
        with _Moment(self._path, now, self._span) as moment:
            moment.value += self._pace

    def reserve(self, now: int) -> int:
        """Take one, though there be none: the moment at which there will be."""
        with _Moment(self._path, now, self._span + _LONGEST_LINE * self._pace) as moment:
            moment.value += self._pace
            return max(now, -(-(moment.value - self._span) // 1000))


class _Moment:
    """A moment in a file, in microseconds, with the time at which it was written; written back with that.

    A clock that goes back takes the moment with it. One that lies further ahead than it can is forgotten: the
    file is damaged.
    """

    def __init__(self, path: str, now: int, furthest: int) -> None:
        self._path = path
        self._descriptor = -1
        self._now = now * 1000
        self._furthest = furthest
        self.value = self._was = self._now

    def __enter__(self) -> "_Moment":
        kept = b""
        try:
            self._descriptor = _opened(self._path)
            kept = os.pread(self._descriptor, 16, 0)
        except OSError:
            pass
        ahead = int.from_bytes(kept[:8], "little") - (then := int.from_bytes(kept[8:], "little"))
        if len(kept) == 16 and 0 <= ahead <= self._furthest:
            self.value = max(self._now, min(then, self._now) + ahead)
            self._was = self.value if then <= self._now else -1  # else the time of writing must go back, too
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor < 0:
            return
        try:
            if self.value != self._was:
                kept = self.value.to_bytes(8, "little") + self._now.to_bytes(8, "little")
                os.pwrite(self._descriptor, kept, 0)
        except OSError:
            pass
        finally:
            os.close(self._descriptor)


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        host.private_directory(os.path.dirname(path))
        return os.open(path, flags, 0o600)
