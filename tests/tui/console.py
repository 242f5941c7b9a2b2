"""A terminal from inside: raw, with the alternate screen, drawn a frame at a time."""

import math
import os
import select
import signal
import termios
import tty

from tests.tui.face import Frame

_IN, _OUT = 0, 1


class Console:
    """Restored on leaving, unless the program is killed."""

    def __init__(self) -> None:
        self._before = termios.tcgetattr(_IN)
        self._drawn: Frame | None = None
        self._framed = False
        self.frames = 0  # how often it was drawn; the title says it, too
        self.due = math.inf  # when the next frame will be
        self.resized, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGWINCH, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def __enter__(self) -> "Console":
        tty.setraw(_IN)
        self._write("\x1b[?1049h")
        return self

    def __exit__(self, *_: object) -> None:
        self._write("\x1b[?2004l\x1b[?1049l\x1b[?25h")
        termios.tcsetattr(_IN, termios.TCSADRAIN, self._before)

    def bracket(self, wanted: bool) -> None:
        """Ask for pastes in brackets, or no longer; a frame follows, by which others know that it is so."""
        if wanted != self._framed:
            self._framed, self._drawn = wanted, None
            self._write("\x1b[?2004h" if wanted else "\x1b[?2004l")

    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        return os.get_terminal_size(_OUT)

    def show(self, frame: Frame, now: float, delay: float) -> None:
        """Draw it, so long after it first differed from what is shown, by one write."""
        self.due = math.inf if frame == self._drawn else min(self.due, now + delay)
        if self.due > now:
            return
        self._drawn, self.frames, self.due = frame, self.frames + 1, math.inf
        rows = "".join(f"\x1b[{n}H\x1b[0m{line}\x1b[0m\x1b[K" for n, line in enumerate(frame.lines, 1))
        row, column = frame.cursor
        self._write(f"\x1b]2;frame {self.frames}\x07\x1b[?25l{rows}\x1b[{row + 1};{column + 1}H\x1b[?25h")

    def refresh(self) -> None:
        """Draw the next frame, whatever is shown: the terminal has another size."""
        os.read(self.resized, 4096)
        self._drawn = None

    def has_keys(self) -> bool:
        return bool(select.select([_IN], [], [], 0)[0])

    def read(self, size: int) -> bytes:
        return os.read(_IN, size)

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(_OUT, data) :]
