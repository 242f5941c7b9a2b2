"""A tmux server: commands to it, each with an end, and panes by names that mean one pane for ever."""

import os
import subprocess
from typing import NamedTuple

from postroom import host
from postroom.errors import BridgeError

_PATIENCE = 5.0  # seconds for one command
_HINT = "Is tmux running? See: tmux ls"


class Server:
    """The server behind a socket."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._program = host.on_path("tmux")

    def run(self, *words: str, given: str = "") -> str:
        """What a command, or several with `;` between them, printed. `given`: what it reads."""
        if not self._program:
            raise BridgeError("tmux is not installed", hint="Debian: apt install tmux")
        command = [self._program, "-S", self.socket, *words]
        # Not the variables of another server in which we may be running.
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, timeout=_PATIENCE, check=False,
                input=given.encode(errors="replace"),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            why = f"tmux did not answer within {_PATIENCE:g} s"
            raise BridgeError(why, hint=_HINT, silent=True) from None
        except OSError as exc:
            raise BridgeError(f"tmux cannot be run: {exc}", hint=_HINT) from exc
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise BridgeError(f"tmux: {said[-1] if said else f'exit {done.returncode}'}", hint=_HINT)
        return done.stdout.decode(errors="replace")


def own_socket() -> str:
    """The socket of the server in which this process runs, or of the one that a bare `tmux` would use."""
    if socket := os.environ.get("TMUX", "").rpartition(",")[0].rpartition(",")[0]:
        return socket
    base = os.path.realpath(os.environ.get("TMUX_TMPDIR") or "/tmp")
    return os.path.join(base, f"tmux-{host.user()}", "default")


class Target(NamedTuple):
    """One pane, for as long as it is there: `%3@SOCKET,SERVER`. No other pane ever has the same name."""

    id: str
    socket: str
    server: str  # the server's pid and start

    def __str__(self) -> str:
        return f"{self.id}@{self.socket},{self.server}"


def target(name: str) -> Target:
    pane, _, rest = name.partition("@")
    socket, _, server = rest.rpartition(",")
    if not pane.startswith("%") or not socket:
        raise BridgeError(f"{name!r} names no pane")
    return Target(pane, socket, server)


def server_of(pid: int) -> str:
    """A server as targets name it."""
    return ".".join(host.identity_of(pid).split(".")[:2])
