"""A person's own terminal as that of an agent which the daemon runs, until C-] or its end."""

import os
import select
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context

LEAVE = b"\x1d"  # C-]
_CHUNK = 1 << 16
# What an agent may have switched on: pastes, the mouse, another screen, no cursor. It would stay so.
_RESTORE = b"\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1049l\x1b[?25h\x1b[0m\r\n"


def show(home: str, manifest: "Manifest", context: "Context") -> int:
    """Show an agent's terminal, and type there."""
    from postroom.daemon.control import take_over
    from postroom.errors import UsageError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "attach needs a terminal", hint=f"Read its screen: postroom screen {manifest.address}"
        )
    link, _ = take_over(home, "attach", agent=manifest.agent)
    context.note(f"{manifest.address}: C-] leaves it")
    with link, _raw(), _resizes() as resized:
        _send_size(link)
        left = _pass(link, resized)
    os.write(1, _RESTORE)
    context.note(f"left {manifest.address}, which runs on" if left else f"{manifest.address} is gone")
    return 0


def _pass(link: socket.socket, resized: int) -> bool:
    """Bytes to and fro; whether the person has left, and not the agent."""
    from postroom.daemon.attachment import keys

    link.setblocking(True)
    while True:
        ready = select.select([link, 0, resized], [], [])[0]
        if resized in ready:
            os.read(resized, _CHUNK)
            _send_size(link)
        if link in ready:
            shown = link.recv(_CHUNK)
            if not shown:
                return False
            _write(shown)
        if 0 in ready:
            typed = os.read(0, 4096)
            if not typed or LEAVE in typed:
                return True
            link.sendall(keys(typed))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _send_size(link: socket.socket) -> None:
    from postroom.daemon.attachment import size

    columns, lines = os.get_terminal_size(1)
    if columns and lines:
        link.sendall(size(columns, lines))


@contextmanager
def _raw() -> Generator[None]:
    """Every key is passed on, C-c too."""
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _resizes() -> Generator[int]:
    """A descriptor that can be read when the window has another size."""
    inner, outer = os.pipe()
    os.set_blocking(outer, False)

    def note(*_: Any) -> None:
        try:
            os.write(outer, b".")
        except BlockingIOError:
            pass  # it will be asked anyway

    before = signal.signal(signal.SIGWINCH, note)
    try:
        yield inner
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(inner)
        os.close(outer)
