"""A tmux server of its own with one pane, in which processes play agent CLIs one after the other."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Self

from tests.machine import lacks
from tests.process import BOUND, ROOT, environment, until


class Pane:
    """Leaves nothing behind when its `with` block ends."""

    def __init__(self, cwd: str = ROOT, **env: str) -> None:
        if shutil.which("tmux") is None:
            lacks("tmux")
        self._root = tempfile.mkdtemp(prefix="pane-")  # short: a socket's path has at most 107 bytes
        self._socket = os.path.join(self._root, "tmux")
        self._cwd, self._env = cwd, env
        os.makedirs(cwd, exist_ok=True)
        self.tmux(
            "set", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-c", cwd, "--", "true",
        )  # fmt: skip

    def tmux(self, *words: str) -> str:
        env = environment(PYTHONPATH=ROOT, **self._env)
        return subprocess.run(
            ["tmux", "-S", self._socket, "-f", os.devnull, *words], env=env, check=True, timeout=BOUND,
            capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip

    def ask(self, what: str) -> str:
        return self.tmux("display-message", "-p", what)

    @property
    def variables(self) -> dict[str, str]:
        """What tmux puts into the environment of whatever runs there."""
        return {"TMUX": f"{self._socket},{self.ask('#{pid}')},0", "TMUX_PANE": self.ask("#{pane_id}")}

    def play(self, *args: str) -> "Actor":
        """Start a player in the pane, in which nothing runs any more."""
        return Actor(self, self._root, self._cwd, args)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self._root, ignore_errors=True)


class Actor:
    """A player whose terminal is the pane; told and heard as other children are."""

    def __init__(self, pane: Pane, root: str, cwd: str, args: tuple[str, ...]) -> None:
        place = tempfile.mkdtemp(dir=root)
        paths = [os.path.join(place, name) for name in ("in", "out")]
        for path in paths:
            os.mkfifo(path)
        self._in, self._out = (os.open(path, os.O_RDWR) for path in paths)
        words = " ".join([sys.executable, "-m", "tests.player", "play", *args])
        script = f"exec {words} <{paths[0]} >{paths[1]} 2>{place}/err 9<>/dev/tty"  # else nobody had it open
        until(lambda: pane.ask("#{pane_dead}") == "1")
        pane.tmux("respawn-pane", "-c", cwd, "--", "sh", "-c", script)
        self._pane = pane
        self._heard = b""
        assert self.hear() == "ready"
        self.pid = int(pane.ask("#{pane_pid}"))

    def tell(self, what: object = None) -> None:
        os.write(self._in, json.dumps(what).encode() + b"\n")

    def hear(self, bound: float = BOUND) -> Any:
        while b"\n" not in self._heard:
            assert select.select([self._out], [], [], bound)[0], "the player in the pane said nothing"
            self._heard += os.read(self._out, 65536)
        line, _, self._heard = self._heard.partition(b"\n")
        return json.loads(line)

    def kill(self) -> None:
        os.kill(self.pid, 9)
        until(lambda: self._pane.ask("#{pane_dead}") == "1")

    def __exit__(self, *_: object) -> None:
        os.close(self._in)
        os.close(self._out)
