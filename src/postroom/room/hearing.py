"""Listening to a mailbox elsewhere: a connection that holds it, and gives one message after another."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any

from postroom.errors import PostroomError, Unreachable
from postroom.model.message import Mail
from postroom.protocol import unwire
from postroom.room.carriage import SILENCE, Carriage

PATH = "/inbox/listen"


class Hearing(Iterator[Mail]):
    """As `Listening` in the room's own process. It ends with its connection: then `Unreachable` is raised,
    and what was in hand is offered again, labelled.
    """

    def __init__(
        self, carriage: Carriage, call: Callable[..., Any], timeout: float | None, **query: str | None
    ) -> None:
        self._stream = carriage.stream(PATH, **query)
        self._call, self._timeout = call, timeout
        self._in_hand, self._id = False, ""
        hello = self._stream.frame(SILENCE)
        if hello is None or "id" not in hello:
            self._stream.close()
            raise self._broken()
        self._id = hello["id"]

    def __next__(self) -> Mail:
        if self._stream.is_closed:
            raise StopIteration
        try:
            if self._in_hand:
                self._call("heard", listener=self._id)
                self._in_hand = False
            mail = self._heard()
        except BaseException:
            self.close()
            raise
        if mail is None:
            self.close()
            raise StopIteration
        self._in_hand = True
        return mail

    def _heard(self) -> Mail | None:
        """The next one; None when time is up."""
        until = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            left = SILENCE if until is None else min(SILENCE, until - time.monotonic())
            found = self._stream.frame(left) if left > 0 else None
            if found is None:
                if until is not None and time.monotonic() >= until:
                    return None
                raise self._broken()
            if found.get("event") == "mail":
                return unwire.mail(found.get("data", {}))

    def _broken(self) -> Unreachable:
        return Unreachable("the connection that held the mailbox has ended; what was in hand comes again")

    def close(self) -> None:
        """What is still in hand stays unseen, and is offered again, labelled."""
        if not self._stream.is_closed:
            with suppress(PostroomError):  # then it ends with the connection
                self._call("unlisten", listener=self._id)
            self._stream.close()

    def __enter__(self) -> "Hearing":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._stream.close()
