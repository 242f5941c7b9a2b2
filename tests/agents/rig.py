"""Runs one real agent CLI offline: a scratch home, dummy keys, a scripted model, no network but loopback.

    with Rig(CLIS["claude"]) as rig:
        rig.cli.wire(rig.place, {"PostToolUse": "..."})
        rig.run("[[bash echo hi]] [[say BYE]]")
        assert rig.log.count("BYE") == 0
        with rig.terminal() as terminal:
            terminal.wait_idle()
            terminal.submit("[[say HELLO]]")

Whatever the agent leaves running shares the rig's network namespace, is found by it, and ended one by one.
"""

import copy
import glob
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from typing import NamedTuple, Self

import pytest

from tests.agents.cli import Cli, Place
from tests.agents.log import BOUND, Log, until
from tests.agents.model import HOST, ModelProcess
from tests.agents.pin import program
from tests.agents.terminal import Terminal
from tests.machine import unshare

RUN_BOUND = 120.0  # seconds for a headless run
_KEEPS = "POSTROOM_KEEP_RIGS" in os.environ  # whether scratch directories stay, to be looked at


class Done(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


class Rig:
    """One agent CLI in a world of its own. Nothing of it outlives the `with` block."""

    def __init__(self, cli: Cli) -> None:
        found = program(cli.name)
        assert found, f"{cli.name} is not installed: make agents"
        self.cli = cli
        self.program = found
        root = tempfile.mkdtemp(prefix="rig-")  # short: sockets in it have at most 107 bytes
        self._model = ModelProcess(os.path.join(root, "requests.jsonl"), prefix=unshare("-n"))
        self.place = Place(root, f"http://{HOST}:{self._model.port}")
        self._terminals: list[Terminal] = []
        self._is_closed = False
        for directory in (self.place.home, self.place.project, self.place.tmp):
            os.mkdir(directory, 0o700)
        subprocess.run(["git", "init", "-q", self.place.project], check=True, timeout=BOUND)
        cli.seed(self.place)

    def also(self, cli: Cli) -> "Rig":
        """The same world, with another agent in it; this rig ends them both."""
        other = copy.copy(self)
        other.cli = cli
        other.program = program(cli.name) or pytest.skip(f"NOT TESTED HERE: no {cli.name}: make agents")
        cli.seed(self.place)
        return other

    @property
    def log(self) -> Log:
        """What the model was asked."""
        return self._model.log

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of the agent: nothing of ours is in it."""
        node = program("node")
        path = [os.path.dirname(node)] if node else []
        return {
            "HOME": self.place.home,
            "PATH": ":".join([*path, "/usr/local/bin", "/usr/bin", "/bin"]),
            "TMPDIR": self.place.tmp,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            **self.cli.env(self.place),
        }

    @property
    def prefix(self) -> list[str]:
        """The words that start a command inside the rig's network namespace."""
        user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self._model.pid), *user, "-n"]

    def start(self, *command: str, **env: str) -> subprocess.Popen[str]:
        """Start any command where the agent runs, with pipes; `env` is added to the agent's environment."""
        return subprocess.Popen(
            [*self.prefix, *command], cwd=self.place.project, env=self.env | env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def command(self, *command: str, bound: float = RUN_BOUND, stdin: str = "", **env: str) -> Done:
        """Run any command where the agent runs, to its end."""
        with self.start(*command, **env) as process:
            try:
                out, err = process.communicate(stdin, timeout=bound)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                raise AssertionError(f"{command[0]} did not end within {bound:g} s:\n{out}\n{err}") from None
        return Done(process.returncode, out, err)

    def run(self, prompt: str, *arguments: str, bound: float = RUN_BOUND, **env: str) -> Done:
        """Run the agent headless with one prompt, to its end; `arguments` come before its own."""
        return self.command(self.program, *arguments, *self.cli.headless(prompt), bound=bound, **env)

    def resume(self, prompt: str, bound: float = RUN_BOUND, **env: str) -> Done:
        """Go on with the last session, headless, to the end of one prompt."""
        assert self.cli.resume, f"{self.cli.name} does not resume"
        return self.command(self.program, *self.cli.resume(prompt), bound=bound, **env)

    def terminal(self, *arguments: str, **env: str) -> Terminal:
        """Start the agent in a terminal; end it by its `with` block, or let the rig do it."""
        socket = os.path.join(self.place.root, f"tmux{len(self._terminals)}")
        command = [self.program, *self.cli.interactive, *arguments]
        terminal = Terminal(command, socket=socket, place=self.place, cli=self.cli)
        self._terminals.append(terminal)
        return terminal.start(self.prefix, self.env | env)

    def processes(self) -> list[int]:
        """The processes in the rig's namespace, but for the model."""
        return [pid for pid in _sharing(self._model.pid) if pid != self._model.pid]

    def close(self) -> None:
        """End all that runs here, then the model, and remove the scratch directory; twice does no harm."""
        if self._is_closed:
            return
        self._is_closed = True
        for terminal in self._terminals:
            terminal.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.processes():
                _signal(pid, number)
            try:
                until(lambda: not self.processes(), 5.0, "end of what the agent left")
                break
            except AssertionError:
                if number == signal.SIGKILL:
                    raise
        self._model.__exit__(None, None, None)
        for path in _linked_away(self.place):
            os.unlink(path)
        if not _KEEPS:
            shutil.rmtree(self.place.root, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _linked_away(place: Place) -> list[str]:
    """Sockets outside the scratch directory that an agent left a link to: their paths there were too long."""
    links = glob.glob(
        os.path.join(glob.escape(place.home), "**", "*.sock"), recursive=True, include_hidden=True
    )
    targets = [os.path.realpath(path) for path in links if os.path.islink(path)]
    return [path for path in targets if not path.startswith(place.root) and os.path.lexists(path)]


def _sharing(holder: int) -> Iterator[int]:
    """The processes in the network namespace of another."""
    namespace = os.readlink(f"/proc/{holder}/ns/net")
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if os.readlink(f"/proc/{name}/ns/net") == namespace:
                    yield int(name)
            except OSError:
                pass  # it has just ended, or is not ours to look at


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
