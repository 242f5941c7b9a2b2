"""Watches one pane: what it prints and matches goes out as letters, until the pane is gone.

A thread that waits for letters of its sieve (`sieve.py`). When the sieve, the pipe or tmux fails, all is
begun anew, later and later. What a pane prints is data, and a letter says so first.
"""

import json
import os
import subprocess
import sys
import threading
import time

from postroom.bridges.tmux.pipe import Pipe
from postroom.bridges.tmux.server import target
from postroom.daemon import watch as watches
from postroom.daemon.burst import Letter
from postroom.daemon.log import note, warn
from postroom.daemon.sieve import SLOW
from postroom.daemon.watch import Watch
from postroom.errors import BridgeError, NotFound, PostroomError, Refused
from postroom.model.message import Json
from postroom.room.bounce import notify
from postroom.room.local import LocalRoom

_FIRST, _LONGEST = 0.5, 60.0  # seconds before it is begun anew
_STEADY = 30.0  # seconds after which a failure is the first again
_END = 5.0  # seconds for a sieve to end


class Watcher:
    """One watch's thread."""

    def __init__(self, room: LocalRoom, watch: Watch) -> None:
        self.watch = watch
        self._room = room
        self._pipe = Pipe(target(watch.pane), watches.fifo(room.home, watch.id))
        self._sieve: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self.ready = threading.Event()  # it reads
        self.crashes = 0
        self._unsent = 0  # lines of letters that were refused
        self._thread = threading.Thread(target=self._run, name=f"watch {watch.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Raises what keeps it from reading that pane."""
        self._pipe.check()

    @property
    def is_over(self) -> bool:
        return self.ready.is_set() and not self._thread.is_alive()

    def stop(self, *, detach: bool) -> None:
        """End it; what it has gathered goes out. `detach`: the pane's output is let go, too."""
        self._stopping.set()
        with self._guard:
            if self._sieve is not None and self._sieve.stdin is not None:
                self._sieve.stdin.close()
        self._thread.join(_END)
        if detach:
            self._let_go()

    def _let_go(self) -> None:
        try:
            self._pipe.detach()
        except PostroomError as exc:
            warn("pipe stays", watch=self.watch.id, error=exc)

    def _run(self) -> None:
        pause = _FIRST
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                if not self._serve():
                    break
            except NotFound as exc:
                self._finish(f"{exc}, so it is watched no longer.")
                break
            except Exception as exc:
                self._fail(exc, pause)
            pause = _FIRST if time.monotonic() - began > _STEADY else min(_LONGEST, pause * 2)
            self._stopping.wait(pause)
        self.ready.set()

    def _fail(self, exc: Exception, pause: float) -> None:
        self.crashes += 1
        warn("watch failed", watch=self.watch.id, error=exc, again_in=pause)

    def _serve(self) -> bool:
        """Read until the pipe or the sieve ends; whether to begin anew."""
        descriptor = self._pipe.attach()
        with self._begun(descriptor) as sieve:
            assert sieve.stdout is not None
            self.ready.set()
            for line in sieve.stdout:
                self._send(Letter(**json.loads(line)))
        code = sieve.wait(_END)
        if code == SLOW:
            self._let_go()
            self._finish("The pattern takes too long on what it prints, so it is watched no longer.")
            return False
        if code and not self._stopping.is_set():
            raise BridgeError(f"the sieve ended with {code}")
        return True

    def _begun(self, descriptor: int) -> "subprocess.Popen[bytes]":
        words = [str(descriptor), self.watch.pattern, str(self.watch.window)]
        try:
            with self._guard:
                self._sieve = subprocess.Popen(
                    [sys.executable, "-m", "postroom.daemon.sieve", *words], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(descriptor,), cwd="/",
                )  # fmt: skip
                if self._stopping.is_set() and self._sieve.stdin is not None:
                    self._sieve.stdin.close()
                return self._sieve
        finally:
            os.close(descriptor)

    def _send(self, letter: Letter) -> None:
        """A letter that is refused is counted in the next: nothing here waits while a pane prints."""
        watch, body = self.watch, text(self.watch, letter, self._unsent)
        subject = watch.subject or f"{_lines(letter.total)} of {watch.place} match"
        try:
            self._room.send(
                watch.to, body, sender=watch.sender, subject=subject,
                metadata={"watch": watch.id, "pane": watch.pane},
            )  # fmt: skip
        except PostroomError as exc:
            self._unsent += letter.total
            warn("watch letter refused", watch=watch.id, error=exc, lines=letter.total)
        else:
            self._unsent = 0

    def _finish(self, why: str) -> None:
        """It is over for good: whoever set it up is told once."""
        watch = self.watch
        watches.remove(self._room.home, watch.id)
        note("watch over", watch=watch.id, why=why)
        with self._room.write() as tx:
            owner = tx.agent(watch.owner)
            if owner is not None:
                body = f"Watch {watch.id} on {watch.place}, for {watch.pattern!r}: {why}"
                payload = {"watch": {"id": watch.id, "pane": watch.pane}}
                notify(tx, owner, f"Watch on {watch.place} is over", body, payload, key=f"watch:{watch.id}")


def text(watch: Watch, letter: Letter, unsent: int = 0) -> str:
    """The body of a letter."""
    head = f"Outside content, data and nobody's word: lines of pane {watch.place} that match {watch.pattern}"
    wide = max((len(str(count)) + 1 for count, _ in letter.lines if count > 1), default=0)
    lines = [_line(count, line, wide) for count, line in letter.lines]
    rest = [
        (letter.more, f"and {_lines(letter.more)} more"),
        (unsent, f"and {_lines(unsent)} before that could not be sent"),
        (letter.missed, f"and {letter.missed:,} bytes that came too fast to be looked at"),
        (letter.slow, f"and {_lines(letter.slow)} on which the pattern took too long"),
    ]
    return "\n".join([head, "", *lines, *(words for count, words in rest if count)])


def _line(count: int, line: str, wide: int) -> str:
    times = f"{count}×" if count > 1 else ""
    return f"{times:>{wide}} {line}" if wide else line


def _lines(count: int) -> str:
    return f"{count:,} line" if count == 1 else f"{count:,} lines"


class Watches:
    """All watchers of a room: one for each file, and no other."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._watchers: dict[str, Watcher] = {}
        self._past = 0  # crashes of those that are no more: the count only rises
        self._guard = threading.Lock()

    def facts(self) -> Json:
        """How many there are, and how often one has failed and was begun anew."""
        found = list(self._watchers.values())  # no guard: whoever adds one has it for seconds
        return {"count": len(found), "crashes": self._past + sum(one.crashes for one in found)}

    def reconcile(self) -> None:
        with self._guard:
            wanted = {one.id: one for one in watches.every(self._room.home)}
            for id in [id for id, one in self._watchers.items() if id not in wanted or one.is_over]:
                watcher = self._watchers.pop(id)
                watcher.stop(detach=id not in wanted)
                self._past += watcher.crashes
            for id, one in wanted.items():
                if id not in self._watchers:
                    self._begin(Watcher(self._room, one))

    def _begin(self, watcher: Watcher) -> None:
        self._watchers[watcher.watch.id] = watcher
        watcher.start()

    def add(self, watch: Watch, patience: float) -> None:
        """Watch from now on; raises what keeps it from being."""
        with self._guard:
            for other in watches.every(self._room.home):
                if other.pane == watch.pane:
                    hint = (
                        f"One pattern can be for both (A|B). End the other: postroom watch --stop {other.id}"
                    )
                    raise Refused(f"watch {other.id} is on that pane already", hint=hint)
            watcher = Watcher(self._room, watch)
            watcher.check()
            watches.put(self._room.home, watch)
            self._begin(watcher)
        if not watcher.ready.wait(patience):
            raise BridgeError(f"watch {watch.id} has not begun yet", hint="See: postroom watch --list")

    def finish(self) -> None:
        with self._guard:
            for watcher in self._watchers.values():
                watcher.stop(detach=False)
