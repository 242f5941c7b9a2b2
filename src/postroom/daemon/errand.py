"""What others ask of a keeper: done by its thread between two steps, one after the other, in time or not at
all.
"""

import queue
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from postroom.bridges.contract import Attendant, Bridge
from postroom.errors import BridgeError, TimedOut

_MOST = 64  # that may wait
_ANSWER = 60.0  # seconds for one to begin
_LONGER = 25.0  # seconds for one that has begun by then to end

Job = Callable[[Attendant, Bridge], Any]


class Errands:
    """Those of one agent. Any thread asks, and the agent's own does them."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[tuple[Job, Future[Any]]] = queue.Queue(_MOST)

    @property
    def is_none(self) -> bool:
        return self._jobs.empty()

    def add(self, job: Job, address: str) -> "Future[Any]":
        answer: Future[Any] = Future()
        try:
            self._jobs.put_nowait((job, answer))
        except queue.Full:
            raise BridgeError(f"too much is asked of {address} at once") from None
        return answer

    def do(self, actor: Attendant, bridge: Bridge) -> None:
        """All of them."""
        while not self._jobs.empty():
            job, answer = self._jobs.get_nowait()
            if not answer.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                answer.set_result(job(actor, bridge))
            except Exception as exc:
                answer.set_exception(exc)

    def refuse(self, exc: Exception) -> None:
        """None of them is done."""
        while not self._jobs.empty():
            _, answer = self._jobs.get_nowait()
            if answer.set_running_or_notify_cancel():
                answer.set_exception(exc)


def result(answer: "Future[Any]", address: str) -> Any:
    """What came of it. `TimedOut` if it has not begun in time, and then it is not done later either."""
    for seconds in (_ANSWER, _LONGER):
        if not wait([answer], seconds).not_done:
            return answer.result()
        if answer.cancel():
            words = f"{address} was at something else for {seconds:g} s"
            raise TimedOut(f"{words}, so it was not done", hint="Try again in a moment.")
    words = f"{address} is still at it after {_LONGER:g} s"
    raise TimedOut(words, hint="What comes of it is noted: postroom log")
