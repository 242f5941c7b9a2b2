"""A bridge, and the way to it, that is at something else until it is let go on."""

import threading
from collections.abc import Callable

from postroom.bridges.contract import Capabilities, Doing, Heard, Observation
from tests.process import BOUND


class Slow:
    """See above. `busy`: it is at it; `go`: that has an end."""

    name = "slow"

    def __init__(self) -> None:
        self.busy, self.go = threading.Event(), threading.Event()

    def open(self, _: object) -> "Slow":
        return self

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def attend(self, ring: Callable[[], None]) -> None: ...

    def receive(self) -> list[Heard]:
        self.busy.set()
        assert self.go.wait(BOUND)
        return []

    def observe(self) -> Observation:
        return Observation(Doing.PROCESSING, "it is at something else")

    def close(self) -> None: ...
