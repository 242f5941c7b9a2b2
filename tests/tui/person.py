"""A person at a terminal: a program under a PTY of its own, whose screen somebody must read away."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

from tests.process import BOUND


class Person:
    """Types into a program, and keeps what it wrote."""

    def __init__(self, argv: list[str], env: dict[str, str], size: tuple[int, int]) -> None:
        self._end, self._terminal = pty.openpty()
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("4H", size[1], size[0], 0, 0))
        # Whoever leads a session and opens a terminal is controlled by it.
        opens = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self._terminal)]
        self.process = subprocess.Popen([*opens, *argv], env=env, start_new_session=True)
        self.seen = b""  # all that it wrote
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def type(self, text: str) -> None:
        """Bytes as a keyboard sends them: `\\r` is Enter."""
        self.write(text.encode())

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._end, data) :]

    def _read(self) -> None:
        try:
            while data := os.read(self._end, 65536):
                self.seen += data
        except OSError:
            pass  # Linux says so when the other side is closed

    def leave(self) -> None:
        """End the program, as when a window is closed."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(BOUND)
        if self._terminal >= 0:
            os.close(self._terminal)
            self._reader.join(BOUND)
            os.close(self._end)
            self._terminal = -1
