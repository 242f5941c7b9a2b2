"""A depot that is asked less and less often while it cannot be reached, and says what it said last.

So a store that is away for a day costs one question a minute, and no mailbox in it waits for another.
"""

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from postroom.bridges.files.depot import About, Depot
from postroom.errors import MailboxUnreachable

_FIRST, _LONGEST = 4.0, 60.0  # seconds
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Patient:
    """See `Depot`."""

    def __init__(self, depot: Depot, clock: Callable[[], float] = time.monotonic) -> None:
        self._depot, self._clock = depot, clock
        self._pause, self._until = _FIRST, 0.0
        self._said: MailboxUnreachable | None = None

    def names(self, folder: str) -> list[str]:
        return self._ask(self._depot.names, folder)

    def about(self, path: str) -> About:
        return self._ask(self._depot.about, path)

    def read(self, path: str, limit: int) -> bytes:
        return self._ask(self._depot.read, path, limit)

    def write(self, path: str, data: bytes) -> None:
        self._ask(self._depot.write, path, data)

    def create(self, path: str, data: bytes) -> bool:
        return self._ask(self._depot.create, path, data)

    def move(self, old: str, new: str) -> str:
        return self._ask(self._depot.move, old, new)

    def remove(self, path: str) -> None:
        self._ask(self._depot.remove, path)

    def make(self, folder: str) -> None:
        self._ask(self._depot.make, folder)

    def drop(self, folder: str) -> None:
        self._ask(self._depot.drop, folder)

    def sweep(self, folder: str) -> None:
        self._ask(self._depot.sweep, folder)

    def close(self) -> None:
        self._depot.close()

    def _ask(self, do: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
        if self._said is not None and self._clock() < self._until:
            raise self._said
        try:
            answer = do(*args, **options)
        except MailboxUnreachable as exc:
            self._said, self._until = exc, self._clock() + self._pause
            self._pause = min(_LONGEST, self._pause * 2)
            raise
        except OSError:  # which is an answer, too
            self._said, self._pause = None, _FIRST
            raise
        self._said, self._pause = None, _FIRST
        return answer
