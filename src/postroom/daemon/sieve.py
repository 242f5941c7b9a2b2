"""`python -m postroom.daemon.sieve DESCRIPTOR PATTERN WINDOW`: a pane's lines that match, as letters.

A process of its own: a pattern that takes for ever, or a pane that prints without end, is nothing to the
daemon. It writes one letter a line as JSON, and ends when its standard input does, which the daemon holds
open, or when nobody writes into its descriptor, a FIFO's, any more.
"""

import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

from postroom.daemon.burst import Burst
from postroom.protocol.plain import one_line

LINE = 2_000  # characters of a line that are looked at
SLOW = 3  # the exit code of one whose pattern is too slow
_TICK = 0.1  # seconds that a pattern may take on one line
_LAGS = 10  # lines on which it may take longer
_SECOND = 2_000_000  # bytes that are looked at in a second
_LARGEST = LINE * 4  # bytes of an unfinished line that are kept


class _TooSlow(Exception):
    """The pattern takes too long."""


class Lines:
    """Whole lines from pieces of output; of a very long one, the beginning."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_torn = False

    def skip(self, data: bytes) -> None:
        """This is missing: what surrounds it is no line."""
        self._rest, self._is_torn = b"", not data.endswith(b"\n")

    def feed(self, data: bytes) -> Iterator[str]:
        if self._is_torn:
            _, end, data = data.partition(b"\n")
            self._is_torn = not end
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:_LARGEST]
        for line in whole:
            yield one_line(line[:_LARGEST].decode(errors="replace").rstrip("\r"), LINE).rstrip()


class Sieve:
    """What matches of one pane."""

    def __init__(self, pattern: str, window: float) -> None:
        self._pattern = re.compile(pattern)
        self.burst = Burst(window)
        self._lines = Lines()
        self._at = self._seen = 0  # the line that is looked at, and which that was at the last tick
        self.lags = 0
        self._budget, self._since = _SECOND, time.monotonic()

    def feed(self, data: bytes) -> None:
        now = time.monotonic()
        if now - self._since >= 1.0:
            self._budget, self._since = _SECOND, now
        taken, self._budget = data[: self._budget], max(0, self._budget - len(data))
        self._match(taken, now)
        if missed := data[len(taken) :]:
            self._lines.skip(missed)
            self.burst.miss(len(missed), now)

    def _match(self, data: bytes, now: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        try:
            for line in self._lines.feed(data):
                self._look(line, now)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _look(self, line: str, now: float) -> None:
        self._at += 1
        try:
            if self._pattern.search(line):
                self.burst.add(line, now)
        except _TooSlow:
            self.lags += 1
            self.burst.lag(now)

    def tick(self, _number: int, frame: FrameType | None) -> None:
        """Called by the clock while lines are looked at: it breaks off a search, and nothing else."""
        is_same, self._seen = self._at == self._seen, self._at
        if is_same and frame is not None and frame.f_code is Sieve._look.__code__:
            raise _TooSlow


def run(fifo: int, sieve: Sieve) -> int:
    """Until the daemon or the pane ends it; its exit code."""
    poll = select.poll()
    poll.register(fifo, select.POLLIN)
    poll.register(0, select.POLLIN)
    while True:
        wait = sieve.burst.due_in(time.monotonic())
        ready = dict(poll.poll(None if wait is None else wait * 1000))
        data = os.read(fifo, 1 << 18) if ready.get(fifo, 0) & select.POLLIN else b""
        sieve.feed(data)
        is_over = 0 in ready or (not data and ready.get(fifo, 0) & select.POLLHUP) or sieve.lags >= _LAGS
        if is_over or sieve.burst.due_in(time.monotonic()) == 0:
            _tell(sieve)
        if is_over:
            return SLOW if sieve.lags >= _LAGS else 0


def _tell(sieve: Sieve) -> None:
    letter = sieve.burst.take(time.monotonic())
    if letter.total or letter.missed or letter.slow:
        os.write(1, json.dumps(letter._asdict()).encode() + b"\n")


def main(descriptor: str, pattern: str, window: str) -> int:
    sieve = Sieve(pattern, float(window))
    signal.signal(signal.SIGALRM, sieve.tick)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run(int(descriptor), sieve)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
