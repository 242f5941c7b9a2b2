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
_LEFT, _GONE, _LOST = "left", "is gone", "may run on: the connection to the daemon was lost"
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
        end = _pass(link, resized)
    os.write(1, _RESTORE)
    context.note(f"{end} {manifest.address}, which runs on" if end == _LEFT else f"{manifest.address} {end}")
    return int(end == _LOST)


def _pass(link: socket.socket, resized: int) -> str:
    """Bytes to and fro; how it ended: by the person, by the agent, or neither."""
    from postroom.daemon.attachment import END, keys

    link.setblocking(True)
    tail = b""
    while True:
        ready = select.select([link, 0, resized], [], [])[0]
        if resized in ready:
            os.read(resized, _CHUNK)
            _send_size(link)
        if link in ready:
            shown = _received(link)
            if not shown:
                return _GONE if tail == END else _LOST
            tail = (tail + shown)[-len(END) :]
            _write(shown)
        if 0 in ready:
            typed = os.read(0, 4096)
            if not typed or LEAVE in typed:
                return _LEFT
            _sent(link, keys(typed))


def _received(link: socket.socket) -> bytes:
    try:
        return link.recv(_CHUNK)
    except OSError:
        return b""


def _sent(link: socket.socket, data: bytes) -> None:
    """What cannot be sent any more is found out by reading."""
    try:
        link.sendall(data)
    except OSError:
        pass


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _send_size(link: socket.socket) -> None:
    from postroom.daemon.attachment import size

    columns, lines = os.get_terminal_size(1)
    if columns and lines:
        _sent(link, size(columns, lines))


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
