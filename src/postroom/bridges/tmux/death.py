"""How a program in a pane ended: tmux knows, where the pane stays after it."""

import os
import signal
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
        code, killed_by = (word.strip("[]") for word in said[1:])
        if code or killed_by or time.monotonic() > until:
            return _number(code, killed_by)
        _remind(where)
        time.sleep(_PAUSE)


def _remind(where: Target) -> None:
    """Have tmux look whether a child has ended. Of some it learns only with the next (seen in 3.3a)."""
    try:
        os.kill(int(where.server.partition(".")[0]), signal.SIGCHLD)
    except (ProcessLookupError, PermissionError):
        pass  # whoever asks it again is told


def _number(code: str, killed_by: str) -> int | None:
    if code.isdecimal():
        return int(code)
    return -int(killed_by) if killed_by.isdecimal() else None
