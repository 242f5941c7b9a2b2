"""How a program in a pane ended: tmux knows, where the pane stays after it."""

import time

from postroom import host
from postroom.bridges.tmux.server import Target, at
from postroom.errors import BridgeError

_FORMAT = "#{pane_pid} [#{pane_dead_status}] [#{pane_dead_signal}]"
_PATIENCE = 2.0  # seconds for tmux to learn of it: a process is gone a moment before
_PAUSE = 0.02


def exit_code(where: Target, process: str) -> int | None:
    """The code with which a process ended that tmux started in a pane, or the negative number of a signal.

    None: that cannot be known. The pane is gone, or its program was another one, which started this.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            said = at(where, ["display-message", "-p", "-t", where.id, _FORMAT]).split()
        except BridgeError:
            return None
        if len(said) != 3 or int(said[0]) != host.pid_of(process):
            return None
        code, signal = (word.strip("[]") for word in said[1:])
        if code or signal or time.monotonic() > until:
            return _number(code, signal)
        time.sleep(_PAUSE)


def _number(code: str, signal: str) -> int | None:
    if code.isdecimal():
        return int(code)
    return -int(signal) if signal.isdecimal() else None
