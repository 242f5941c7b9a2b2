"""What programs behind pipes have in common: lines go in whole or not at all, what they print is kept."""

import threading
import time
from collections import deque
from collections.abc import Callable

from postroom.bridges.contract import Assent, Attachable, Delivered, Heard, Launch, Result
from postroom.bridges.process.child import Child
from postroom.bridges.process.line import Cut, Splitter
from postroom.bridges.process.nursery import let_go
from postroom.bridges.process.tape import Tape, left_out

_READY = 2.0  # seconds in which a program must have room for a byte
_WRITE = 5.0  # seconds in which it must have taken a line
_SHOWN = 2_000  # lines of output that `screen` can show
_PAGE = 50


class Piped:
    """A child behind pipes. Subclasses say what is written, and what a line that it prints means."""

    name = ""

    def __init__(self, launch: Launch) -> None:
        self.address = launch.address
        self._changed = threading.Condition()  # guards what follows
        self._tape = Tape()
        self._shown: deque[str] = deque(maxlen=_SHOWN)
        self._moved_at = time.monotonic()
        self._splitters = {"output": Splitter(), "error": Splitter()}
        self._ring: Callable[[], None] = lambda: None
        self._owed = b""  # the rest of a line of which a part was written
        self._child = Child(launch, self)
        self._child.listen()

    @property
    def process(self) -> str:
        return self._child.process

    @property
    def is_gone(self) -> bool:
        return self._child.is_gone

    def setup(self) -> None:
        """Nothing is missing: mail goes in by its input."""

    # ------------------------------------------------------------------------------- by the child's thread

    def heard(self, stream: str, data: bytes) -> None:
        self._note(stream, self._splitters[stream].feed(data))

    def ended(self, code: int) -> None:
        for stream, splitter in self._splitters.items():
            self._note(stream, splitter.rest())
        self._tape.add(Heard(exit_code=code))
        with self._changed:
            self._changed.notify_all()
        self._ring()

    def _note(self, stream: str, lines: list[Cut]) -> None:
        for line in lines:
            with self._changed:
                self._moved_at = time.monotonic()
                heard, shown = self._meant(stream, line)
                if heard is not None:
                    self._tape.add(heard)
                self._shown.extend(shown.splitlines())
                if line.missing:
                    self._tape.add(left_out(line.missing))
                self._changed.notify_all()
        if lines:
            self._ring()

    def _meant(self, stream: str, line: Cut) -> tuple[Heard | None, str]:
        """What a line is to whoever listens, if anything, and what people are shown of it. Guarded."""
        return Heard(line.text, stream), line.text

    # ---------------------------------------------------------------------------------------- by its user

    def attend(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def receive(self) -> list[Heard]:
        self._pay(0.0)
        return self._tape.take()

    def answer(self, question: str, option: str) -> bool:
        """It asks nothing that could be answered here."""
        return False

    def screen(self, lines: int = 0) -> str:
        """The last lines of what it said: so many, and a page."""
        with self._changed:
            return "\n".join([*self._shown][-(lines + _PAGE) :])

    def terminal(self) -> Attachable | None:
        """It has none."""
        return None

    def close(self) -> None:
        let_go(self)
        self._child.close()

    def _pay(self, patience: float) -> bool:
        """Whether nothing is owed any more: no line begins inside another one."""
        if self._owed:
            self._owed = self._owed[self._child.write(self._owed, patience) :]
        return not self._owed

    def _hand(self, line: str, assent: Assent) -> Delivered:
        """Write one line, if it may be. Who reads it late gets it whole, but it is not known who does."""
        objection = self._child.objection(_READY if self._pay(_READY) else 0.0)
        if objection == "offline":
            return Delivered(Result.REFUSED, objection, words="it has ended, or reads nothing any more")
        if objection or self._owed:
            return Delivered(Result.REFUSED, "busy", words="it does not read what it was given before")
        if not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        assent.begun()
        self._tape.doubt()
        data = line.encode(errors="replace") + b"\n"
        done = self._child.write(data, _WRITE)
        self._owed = data[done:] if done else b""
        return self._handed(done, len(data))

    def _handed(self, done: int, size: int) -> Delivered:
        if done == size:
            return Delivered(Result.HANDED, words="it was written to its input")
        if not done:
            return Delivered(Result.REFUSED, "offline", words="it reads nothing any more")
        words = f"{done} of {size} bytes were written, and it read no more within {_WRITE:g} s"
        return Delivered(Result.UNCERTAIN, words=words)
