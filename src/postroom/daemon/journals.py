"""What keeps the journals up with the room: a thread that sleeps until the room's bell rings, lets a moment
pass so that one write serves many events, and writes what there is.

While much is written to the room, it takes no more than a small share of a processor; what it owes then, it
writes as soon as the room is quieter. What fails is in the log once, and is tried again.
"""

import threading
import time

from postroom.daemon import log
from postroom.daemon.doorbell import Doorbell
from postroom.errors import StoreBusy
from postroom.room import journal, loss, snapshot
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE

_GATHER = 0.5  # seconds from the first event to the writing of all that have come by then
_PAGE = 400  # events in one transaction
_SHARE = 0.04  # of a processor, while others write
_ALLOWANCE = 0.1  # seconds of work that may be done at once, whatever the share
_FIRST, _LONGEST = 1.0, 60.0  # seconds before what failed is tried again


class Journals:
    """Those of one room, followed until `stop`."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._ends = threading.Event()
        self._bell = Doorbell(room.bell, EVERYONE)
        self._left, self._counted = _ALLOWANCE, time.monotonic()  # seconds of work, as of then
        self.problem = ""  # why they are not written
        self._lost: loss.Loss | None = None  # by the store, as the log has it
        self._thread = threading.Thread(target=self._run, name="journals", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def look(self) -> None:
        """The room has changed, and perhaps without a ring; its bell may be lost, too."""
        self._bell.ring()

    def stop(self) -> str | None:
        """Write all there is, and end; or say what was left."""
        self._ends.set()
        self._bell.ring()
        self._thread.join()
        self._bell.close()
        behind = journal.lag(self._room)
        return f"{behind} events are not in the journals" if behind else None

    def _run(self) -> None:
        pause, is_new = _FIRST, True
        while True:
            over = self._ends.is_set()
            try:
                if is_new or over:
                    snapshot.sync(self._room)  # mends what a crash of the machine left, too
                else:
                    self._follow()
            except Exception as exc:  # it must not take the daemon with it
                self._has_failed(exc, is_first=not is_new)
                if over:
                    return
                is_new = True
                self._ends.wait(pause)
                pause = min(_LONGEST, pause * 2)
                continue
            self._is_well()
            if over:
                return
            pause, is_new = _FIRST, False
            self._bell.wait(None)
            self._ends.wait(_GATHER)

    def _follow(self) -> None:
        """Write what there is by now, and go on as long as there is more."""
        is_busy = False
        while not self._ends.is_set():
            is_busy = self._bell.wait(0.0)  # before looking: who rings from now on has more
            began = time.thread_time()
            written = journal.extend(self._room, _PAGE)
            if written.has_closed:
                journal.compress(self._room)
            self._rest(time.thread_time() - began, is_busy=is_busy)
            if not written.left:
                return

    def _rest(self, worked: float, *, is_busy: bool) -> None:
        """Let others work: as long as the share asks for, or a moment where nobody writes."""
        now = time.monotonic()
        self._left = min(_ALLOWANCE, self._left + (now - self._counted) * _SHARE) - worked
        self._counted = now
        if is_busy and self._left < 0:
            self._ends.wait(-self._left / _SHARE)

    def _has_failed(self, exc: Exception, *, is_first: bool) -> None:
        if is_first and isinstance(exc, StoreBusy):
            return  # somebody writes for long
        if self.problem != str(exc):
            log.fail("journals are not written", error=exc)
        self.problem = str(exc)

    def _is_well(self) -> None:
        lost = loss.noted(journal.directory(self._room))
        if lost is not None and lost != self._lost:
            log.warn("the store has lost what the journals have", lost=lost.words, see="postroom verify")
        self._lost = lost
        if self.problem:
            log.note("journals are written again", after=self.problem)
        self.problem = ""
