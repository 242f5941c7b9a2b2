"""What the model was asked, and what became of each request: a line for each, for those who assert."""

import contextlib
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

from tests.agents.fault import Fault, Order, give

PAUSE = 0.05  # seconds between two looks at what gives no signal
BOUND = 60.0

# The model answered it whole; refused it by a status; hung up before a byte of an answer, or in the middle of
# it; or the client hung up first. Empty: it is still open.
Outcome = Literal["", "answered", "refused", "cut", "broken", "left"]


class Request:
    """One request, and when it arrived (seconds since the epoch)."""

    def __init__(self, time: float, path: str, body: dict[str, Any], number: int = 0) -> None:
        self.time = time
        self.path = path
        self.body = body
        self.number = number
        self.outcome: Outcome = ""
        self.ended = 0.0  # when it came to its outcome

    @property
    def has_tools(self) -> bool:
        """Whether it belongs to a conversation; titles, summaries and checks declare no tools."""
        return bool(self.body.get("tools"))

    @cached_property
    def text(self) -> str:
        """All that the model can read in it, but for the tools' own descriptions."""
        return "\n".join(_strings({key: value for key, value in self.body.items() if key != "tools"}))


class Log:
    """The requests in a file that a model writes. Reading it again sees what came since.

    What was read once is not read again: a long conversation is sent whole with each of its requests.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._read: list[Request] = []
        self._end = 0  # of what was read, in bytes
        self._guard = threading.Lock()
        self._orders = itertools.count(1)

    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        with self._guard:
            if os.path.exists(self.path):
                self._read_on()
            return list(self._read)

    def _read_on(self) -> None:
        with open(self.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            assert size >= self._end, f"the log of requests has shrunk from {self._end} to {size} bytes"
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # the rest of it is still to come
                self._take(json.loads(line))
                self._end += len(line)

    def _take(self, line: dict[str, Any]) -> None:
        if "outcome" not in line:
            self._read.append(Request(**line))
            return
        request = next(each for each in reversed(self._read) if each.number == line["number"])
        request.outcome, request.ended = line["outcome"], line["time"]

    def conversation(self, about: str = "") -> list[Request]:
        """The requests that declare tools, and have `about` in their text."""
        return [request for request in self.requests() if request.has_tools and about in request.text]

    def last(self, about: str = "") -> str:
        """The text of the last request of the conversation; empty before the first.

        A subagent's conversation has tools too: name something that only the one you mean can have read.
        """
        requests = self.conversation(about)
        return requests[-1].text if requests else ""

    def count(self, marker: str, about: str = "") -> int:
        """How often a text was shown: histories are sent again, so it is counted in the last request only."""
        return self.last(about).count(marker)

    def arrival(self, marker: str) -> float | None:
        """When a text first stood in any request of a conversation."""
        return next((request.time for request in self.conversation(marker)), None)

    def answered(self, marker: str) -> list[Request]:
        """The requests with a text that the model answered, whole or in part: only they show that it read."""
        return [
            request
            for request in self.requests()
            if marker in request.text and request.outcome in ("answered", "broken")
        ]

    @contextlib.contextmanager
    def fault(self, fault: Fault, about: str = "", times: int | None = None) -> Iterator[None]:
        """Let requests be met by a fault: those with a text, so many of them; after the block none is."""
        give(self.path, Order(next(self._orders), fault, about, times))
        try:
            yield
        finally:
            self.answer()

    def answer(self) -> None:
        """Let the model answer again."""
        give(self.path, None)

    def wait(self, marker: str, bound: float = BOUND) -> float:
        """Wait until a text arrives; when it did."""
        until(lambda: self.arrival(marker) is not None, bound, f"{marker!r} in a request")
        arrived = self.arrival(marker)
        assert arrived is not None
        return arrived


def until(condition: Callable[[], object], bound: float = BOUND, what: str = "it") -> None:
    """Ask until it is so, for what gives no signal; in between the agents have the processor."""
    deadline = time.monotonic() + bound
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} within {bound:g} s")
        time.sleep(PAUSE)  # noqa: TID251  the bound is above, and a screen or a file of another process rings no bell


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
