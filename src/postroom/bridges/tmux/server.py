"""A tmux server: commands to it, each with an end, and panes by names that mean one pane for ever."""

import os
import re
import subprocess
from typing import NamedTuple

from postroom import host
from postroom.errors import BridgeError

_PATIENCE = 5.0  # seconds for one command
_HINT = "Is tmux running? See: tmux ls. That of another socket (tmux -L, -S): --socket PATH"
_ANOTHER = "postroom-another-server"
_AGENTS = "See who runs where: postroom agents"
_TARGET = re.compile(r"(%\d+)@(.+),(\d+\.[^,]*)", re.DOTALL)


class Server:
    """The server behind a socket."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._program = host.on_path("tmux")
        self._hint = _HINT if socket == own_socket() else _another(socket)

    def run(self, *commands: list[str], given: str = "") -> str:
        """What these commands printed, one after the other. `given`: what they read.

        Each is the words of one command, and every word is data: what it ends with ends no command.
        """
        if not self._program:
            raise BridgeError("tmux is not installed", hint="Debian: apt install tmux")
        # Without -u it prints `_` for what is not ASCII, wherever no locale says UTF-8.
        command = [self._program, "-u", "-S", self.socket, *_joined(commands)]
        # Not the variables of another server in which we may be running.
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, timeout=_PATIENCE, check=False,
                input=given.encode(errors="replace"),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            why = f"tmux did not answer within {_PATIENCE:g} s"
            raise BridgeError(why, hint=self._hint, silent=True) from None
        except OSError as exc:
            raise BridgeError(f"tmux cannot be run: {exc}", hint=self._hint) from exc
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise BridgeError(f"tmux: {said[-1] if said else f'exit {done.returncode}'}", hint=self._hint)
        return done.stdout.decode(errors="replace")


def _another(socket: str) -> str:
    """What to try for a server that was named."""
    import shlex  # noqa: PLC0415 - only for who is refused

    folder = shlex.quote(os.path.dirname(own_socket()))
    return f"Is that a socket of tmux? See: tmux -S {shlex.quote(socket)} ls. Sockets are in: ls {folder}"


def _joined(commands: tuple[list[str], ...]) -> list[str]:
    """One list of words: tmux takes any that ends in `;` for the end of a command, unless it is `\\;`."""
    words: list[str] = []
    for command in commands:
        words += [";"] if words else []
        words += [f"{word[:-1]}\\;" if word.endswith(";") else word for word in command]
    return words


def script(*commands: list[str]) -> str:
    """Commands as one word of another: `if-shell` takes them so. Every word is data here, too."""
    return " ; ".join(" ".join(map(_quoted, command)) for command in commands)


def _quoted(word: str) -> str:
    """In quotes; but tmux takes blanks away after a newline in them, so that stands outside."""
    return "'" + word.replace("'", r"'\''").replace("\n", r"'\n'") + "'"


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
    found = _TARGET.fullmatch(name)
    if found is None:
        raise BridgeError(f"{name!r} names no pane")
    return Target(*found.groups())


def server_of(pid: int) -> str:
    """A server as targets name it."""
    return ".".join(host.identity_of(pid).split(".")[:2])


def is_over(where: Target) -> bool:
    """Whether the server of a pane has ended; another may have its socket, and a pane of the same id."""
    pid = int(where.server.partition(".")[0])
    return server_of(pid) != where.server or host.is_gone(host.identity_of(pid))


def at(where: Target, *commands: list[str]) -> str:
    """What these commands printed on the server of a pane. On another, nothing is done: `BridgeError`.

    tmux asks itself, in the moment in which it does it.
    """
    ended = BridgeError(f"the tmux server of pane {where.id} has ended", hint=_AGENTS)
    if is_over(where):
        raise ended
    condition = f"#{{==:#{{pid}},{where.server.partition('.')[0]}}}"
    asked = ["if-shell", "-F", condition, script(*commands), f"display-message -p {_ANOTHER}"]
    said = Server(where.socket).run(asked)
    if said.strip() == _ANOTHER:
        raise ended
    return said
