"""The daemon of a room for whose terminals the profile of the fake agent counts.

    python -m tests.tui.daemon HOME [STEP [N [SIGNAL]]]

With a step it ends itself by a signal (KILL, or STOP) when a keeper comes there for the Nth time. What else a
test wants to be otherwise stands in the variable `SEAMS`: `postroom.room.pen._SPAN=500`.
"""

import importlib
import os
import signal
import sys
import threading

from postroom import label
from postroom.bridges.tmux import bridge
from postroom.daemon.loop import serve
from tests.tui.profile import PROFILE


class EndAt:
    """Stands in for `label.here` in the threads of keepers."""

    def __init__(self, step: str, times: int, number: int) -> None:
        self._step, self._left, self._number = step, times, number

    def __call__(self, step: str) -> None:
        if step == self._step and "/" in threading.current_thread().name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._number)


def main(home: str, step: str = "", times: str = "1", end: str = "KILL") -> None:
    bridge.profile_of = lambda _: PROFILE
    for seam in os.environ.get("SEAMS", "").split():
        name, _, value = seam.partition("=")
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, float(value))
    if step:
        label.here, label.armed = EndAt(step, int(times), signal.Signals[f"SIG{end}"]), True
    serve(home)


if __name__ == "__main__":
    main(*sys.argv[1:])
