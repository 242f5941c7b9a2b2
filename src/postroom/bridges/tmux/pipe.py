"""What a pane prints, as it prints it: into a FIFO, by tmux itself. Nothing is polled.

A pane has one pipe at most. Ours is known by its writer: while it lives, the FIFO has one.
"""

import os
import select
import shlex
import stat
import threading

from postroom.bridges.tmux.place import Place, standing
from postroom.bridges.tmux.server import Target, at
from postroom.errors import BridgeError, Refused

_STARTS = 5.0  # seconds for the writer to begin
_PAUSE = 0.02
_HINT = "End that first (tmux pipe-pane -t PANE), or watch what it writes."
_never = threading.Event()


class Pipe:
    """From a pane to a FIFO."""

    def __init__(self, target: Target, fifo: str) -> None:
        self._target = target
        self._fifo = fifo

    def is_ours(self) -> bool:
        """Whether our writer, of this life or an earlier one, still writes."""
        try:
            descriptor = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        try:
            return _has_writer(descriptor)
        finally:
            os.close(descriptor)

    def check(self) -> Place:
        """The pane, if its output can be had; `Refused` while it goes somewhere else."""
        place = standing(self._target)
        if place.is_piped and not self.is_ours():
            raise Refused(f"what pane {place.name} prints goes into another pipe already", hint=_HINT)
        return place

    def attach(self) -> int:
        """Have the output go into the FIFO, unless it does; a descriptor that reads it, to be closed."""
        place = self.check()
        _make(self._fifo)
        descriptor = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not place.is_piped or not _has_writer(descriptor):
                self._run("-O", "-t", self._target.id, f"exec cat > {_quoted(self._fifo)}")
            self._wait(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _wait(self, descriptor: int) -> None:
        for _ in range(int(_STARTS / _PAUSE)):
            if _has_writer(descriptor):
                return
            _never.wait(_PAUSE)
        raise BridgeError(f"tmux does not pipe pane {self._target.id}")

    def detach(self) -> None:
        """End the pipe, if it is ours and the pane is there."""
        if self.is_ours():
            self._run("-t", self._target.id)
        try:
            os.unlink(self._fifo)
        except FileNotFoundError:
            pass

    def _run(self, *words: str) -> None:
        at(self._target, ["pipe-pane", *words])


def _make(path: str) -> None:
    try:
        if not stat.S_ISFIFO(os.lstat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        pass
    try:
        os.mkfifo(path, 0o600)
    except FileExistsError:
        pass


def _has_writer(descriptor: int) -> bool:
    """Whether somebody has the other end open. What can be read stays there."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if dict(poll.poll(0)).get(descriptor, 0) & select.POLLIN:
        return True
    try:
        return bool(os.read(descriptor, 1))  # nothing was there: an end, or a writer that is silent
    except BlockingIOError:
        return True


def _quoted(path: str) -> str:
    """For the shell, and for tmux before it, which replaces formats and times."""
    return shlex.quote(path).replace("%", "%%").replace("#", "##")
