"""The daemon of a room in which every bridge hangs as soon as it is used: `python -m tests.hung HOME`.

What a test wants to be otherwise stands in the variable `SEAMS`: `postroom.daemon.loop._AGENTS=0.2`.
"""

import importlib
import os
import sys
import threading

from postroom.daemon import keeper
from postroom.daemon.loop import serve
from tests.slow import Slow


class Hung(Slow):
    """It never comes back."""

    def receive(self) -> list[object]:  # pyright: ignore[reportIncompatibleMethodOverride] - it has no answer
        threading.Event().wait()
        return []


if __name__ == "__main__":
    for seam in os.environ.get("SEAMS", "").split():
        name, _, value = seam.partition("=")
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, float(value))
    keeper.load = lambda _: Hung()
    serve(sys.argv[1])
