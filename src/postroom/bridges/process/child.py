"""A child of ours: in a session of its own, heard by one thread, and ended by a story that has an end.

Where we die without a word, its terminal hangs up, or its input ends; one that does not mind is ended by the
next of us. What it starts in a session of another's is no longer ours to end.
"""

import os
import select
import shutil
import signal
import subprocess
import threading
import time
from typing import NamedTuple, Protocol

from postroom import host
from postroom.bridges.contract import Launch
from postroom.bridges.process import brood
from postroom.errors import BridgeError

_LEAVE, _TERMINATE, _KILL, _REST = 2.0, 2.0, 1.0, 1.0  # seconds that each step of an end may take
_TICK = 500  # milliseconds between two looks whether it lives, where the system does not tell
_CHUNK = 1 << 16
_TAIL = 64  # chunks that are still read after its end
_PAUSE = 0.02
_ANSWER = 0.2
_FOREIGN = ("TMUX", "TMUX_PANE")  # of the pane in which somebody asked for it: it is in none
# A shell that leads a session has no terminal until it opens one; the program then takes its place.
_IN_TERMINAL = ("/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&1')


class Size(NamedTuple):
    """Of a terminal."""

    columns: int = 140
    lines: int = 50


class Listener(Protocol):
    """Who hears a child. Called by the child's own thread only."""

    def heard(self, stream: str, data: bytes) -> None:
        """What it printed; nothing: a pipe has ended, and nothing more will come from there."""
        ...

    def ended(self, code: int) -> None:
        """Once, after the last output; the negative number of a signal, if that ended it."""
        ...


class Child:
    """One running program. With a size it has a terminal, else pipes. Whoever made it lets it be heard."""

    def __init__(self, launch: Launch, listener: Listener, size: Size | None = None) -> None:
        program = shutil.which(launch.command[0], path=launch.env.get("PATH")) if launch.command else None
        if not program or not os.path.isdir(launch.cwd):
            missing = (
                f"no directory {launch.cwd}" if program else f"no program {' '.join(launch.command[:1])}"
            )
            raise BridgeError(f"{launch.address} cannot be started: {missing}")
        self._listener = listener
        self._pen = threading.Lock()
        self._ended = threading.Event()
        self._bell, self._rope = os.pipe()
        self._closing = threading.Lock()
        self._is_closed = False
        self._spare = [self._bell, self._rope]
        self._input = -1
        self._streams: dict[int, str] = {}
        try:
            self._process = self._in_terminal(launch, size) if size else self._with_pipes(launch)
        except OSError as exc:
            self._close_all()
            raise BridgeError(f"{launch.address} cannot be started: {exc}") from exc
        self.pid = self._process.pid
        self.process = host.identity_of(self.pid)

    def listen(self) -> None:
        threading.Thread(target=self._listen, name=f"child-{self.pid}", daemon=True).start()

    def _with_pipes(self, launch: Launch) -> "subprocess.Popen[bytes]":
        ours, theirs = list[int](), list[int]()
        for mine in (1, 0, 0):  # its input is written by us, the others are read
            pipe = os.pipe()
            ours.append(pipe[mine])
            theirs.append(pipe[1 - mine])
        self._spare += ours
        self._input, self._streams = ours[0], {ours[1]: "output", ours[2]: "error"}
        try:
            return self._popen(launch, launch.command, *theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def _in_terminal(self, launch: Launch, size: Size) -> "subprocess.Popen[bytes]":
        master, slave = os.openpty()
        self._spare += [master, slave]  # ours stays open, else reading fails before it has opened its own
        self._input, self._streams = master, {master: "output"}
        self.resize(size)
        return self._popen(launch, [*_IN_TERMINAL, os.ttyname(slave), *launch.command], slave, slave, slave)

    def _popen(self, launch: Launch, command: list[str], *ends: int) -> "subprocess.Popen[bytes]":
        for descriptor in (self._input, *self._streams):
            os.set_blocking(descriptor, False)
        env = {name: value for name, value in launch.env.items() if name not in _FOREIGN}
        return subprocess.Popen(
            command, stdin=ends[0], stdout=ends[1], stderr=ends[2], cwd=launch.cwd,
            env=env | {"POSTROOM_AGENT": launch.address}, start_new_session=True,
        )  # fmt: skip

    @property
    def is_gone(self) -> bool:
        return self._ended.is_set()

    def resize(self, size: Size) -> None:
        import fcntl  # noqa: PLC0415 - absent on Windows
        import struct  # noqa: PLC0415
        import termios  # noqa: PLC0415

        packed = struct.pack("HHHH", size.lines, size.columns, 0, 0)
        fcntl.ioctl(self._input, termios.TIOCSWINSZ, packed)

    def is_in_foreground(self) -> bool:
        """Whether what is typed into its terminal goes to it, and not to a job of its own."""
        try:
            return os.tcgetpgrp(self._input) == self.pid
        except OSError:
            return False

    def is_line_by_line(self) -> bool:
        """Whether its terminal collects a line for it, and silently drops what is more than it can hold."""
        import termios  # noqa: PLC0415 - absent on Windows

        try:
            return bool(termios.tcgetattr(self._input)[3] & termios.ICANON)
        except (OSError, termios.error):
            return False

    # ------------------------------------------------------------------------------------- what goes in

    def objection(self, patience: float) -> str:
        """Why not a byte can be written to it, waited for so long: `offline`, `busy`, or nothing."""
        with self._pen:
            return self._objection(patience)

    def _objection(self, patience: float) -> str:
        if self._ended.is_set() or self._input < 0:
            return "offline"
        if host.is_gone(self.process):  # which is not heard yet; what it has left may read on
            return "offline"
        poll = select.poll()
        poll.register(self._input, select.POLLOUT)
        found = poll.poll(max(0.0, patience) * 1000)
        if not found:
            return "busy"
        return "offline" if found[0][1] & (select.POLLERR | select.POLLNVAL) else ""

    def lend_input(self) -> int:
        """A descriptor of its input for who writes by other means; to be closed before `close`, or it would
        not hear the end of its input.
        """
        with self._pen:
            return os.dup(self._input)

    def write(self, data: bytes, patience: float) -> int:
        """How many bytes went in, within the time."""
        with self._pen:
            return self._write(data, patience)

    def answer(self, data: bytes) -> None:
        """Write what its terminal answers, at once or never: the listener calls, and must read on."""
        if self._pen.acquire(timeout=_ANSWER):
            try:
                self._write(data, _ANSWER)
            finally:
                self._pen.release()

    def _write(self, data: bytes, patience: float) -> int:
        done, until = 0, time.monotonic() + patience
        while done < len(data) and not self._objection(until - time.monotonic()):
            try:
                done += os.write(self._input, data[done : done + _CHUNK])
            except BlockingIOError:
                pass
            except OSError:
                break
        return done

    # ------------------------------------------------------------------------------------ what comes out

    def _listen(self) -> None:
        poll, watch = select.poll(), self._watch()
        for descriptor in (self._bell, *self._streams, *([] if watch is None else [watch])):
            poll.register(descriptor, select.POLLIN)
        try:
            self._hear(poll, _TICK if watch is None else None)
        finally:
            if watch is not None:
                os.close(watch)
            code = self._code()
            self._ended.set()
            if code is not None:
                self._listener.ended(code)

    def _watch(self) -> int | None:
        """A descriptor that can be read once it has ended, where the system has such a thing."""
        try:
            return os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return None

    def _hear(self, poll: "select.poll", tick: int | None) -> None:
        silent: set[int] = set()
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(tick)}
            if self._bell in ready:
                return
            for descriptor in ready & self._streams.keys():
                if not self._read(descriptor):
                    poll.unregister(descriptor)
                    silent.add(descriptor)
            if self._code() is not None:
                self._read_tails(self._streams.keys() - silent)
                return

    def _read(self, descriptor: int) -> bool:
        """Whether there may be more to come."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # a terminal that nobody has open
            return False
        self._listener.heard(self._streams[descriptor], data)
        return bool(data)

    def _read_tails(self, descriptors: set[int]) -> None:
        for descriptor in descriptors:
            for _ in range(_TAIL):
                if not select.select([descriptor], [], [], 0)[0] or not self._read(descriptor):
                    break

    def _code(self) -> int | None:
        """How it ended, though it is not laid to rest: until `close`, nobody else can have its number."""
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll()
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._process.poll()
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    # --------------------------------------------------------------------------------------------- its end

    def close(self) -> None:
        """End it, and all that runs in its session: asked, then told, then made to. Twice does no harm."""
        with self._closing:
            if self._is_closed:
                return
            self._hang_up()
            for number, patience in ((0, _LEAVE), (signal.SIGTERM, _TERMINATE), (signal.SIGKILL, _KILL)):
                if number:
                    brood.tell(self.pid, number)
                if self._ended.wait(patience):
                    break
            self._end_rest()
            self._is_closed = True
            os.write(self._rope, b"x")  # the thread of one that cannot be ended is not kept
            self._ended.wait(_KILL)
            self._bury()
            with self._pen:
                self._close_all()

    def _hang_up(self) -> None:
        """What ends a program at its end: of its input, or of its terminal."""
        if self._input in self._streams:
            brood.tell(self.pid, signal.SIGHUP)
            brood.tell(self.pid, signal.SIGCONT)
        else:
            with self._pen:
                self._spare.remove(self._input)
                os.close(self._input)
                self._input = -1

    def _end_rest(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not brood.others(self.pid):
                return
            brood.tell(self.pid, number)
            until = time.monotonic() + _REST
            while brood.others(self.pid) and time.monotonic() < until:
                time.sleep(_PAUSE)

    def _bury(self) -> None:
        try:
            self._process.wait(0)
        except subprocess.TimeoutExpired:
            pass

    def _close_all(self) -> None:
        for descriptor in self._spare:
            os.close(descriptor)
        self._spare = []
