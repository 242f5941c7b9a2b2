"""A room, a tmux server of its own and the room's daemon: real processes, all ended with the `with` block."""

import os
import signal
import subprocess
import sys
from typing import Any, Self

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.manifest import Manifest
from postroom.daemon import instance
from tests.commandline import CommandLine, Result, Running
from tests.process import BOUND, ROOT, eventually
from tests.tui.stage import Stage

PROFILES = '[profiles.tutor]\nprompt = "ask> "\nprograms = ["tutor"]\n'


class Yard:
    """`yard("adopt", "--all")` runs a command as a person in a pane of the stage would."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.stage = Stage()
        self.line = CommandLine(home)

    @property
    def env(self) -> dict[str, str]:
        return {"TMUX": f"{self.stage.socket},1,0", "PYTHONPATH": ROOT}

    def __call__(self, *argv: str, **options: Any) -> Result:
        """Run a command as a process."""
        return self.line.process(*argv, env=self.env | options.pop("env", {}), **options)

    def ok(self, *argv: str, **options: Any) -> Result:
        result = self(*argv, **options)
        assert result.code == 0, result
        return result

    def start(self, *argv: str) -> Running:
        return self.line.start(*argv, env=self.env)

    def configure(self, text: str) -> None:
        os.makedirs(self.home, exist_ok=True)
        with open(config.config_path(self.home), "w", encoding="utf-8") as file:
            file.write(text)

    def manifest(self, name: str) -> Manifest:
        [found] = [one for one in manifests.every(self.home) if one.address == f"p/{name}"]
        return found

    def seen(self, ref: str) -> dict[str, Any]:
        """Wait until a message has been seen; its delivery."""
        eventually(lambda: self.line.receipt(ref)["state"] == "seen")
        return self.line.receipt(ref)

    def kill_daemon(self) -> None:
        """Without a word, as when the machine is short of memory."""
        process = instance.running(self.home)
        os.kill(int(process.partition(".")[0]), signal.SIGKILL)
        eventually(lambda: host.is_gone(process))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if process := instance.running(self.home):
            os.kill(int(process.partition(".")[0]), signal.SIGTERM)
            eventually(lambda: host.is_gone(process))
        # Before its socket is gone: the server may be one that a command has started.
        kill = ["tmux", "-S", self.stage.socket, "kill-server"]
        subprocess.run(kill, check=False, capture_output=True, timeout=BOUND)
        self.stage.__exit__()


def tutoring(yard: Yard) -> list[str]:
    """The command of a program that is no agent of ours; its last word is the file in which it notes all."""
    program = os.path.join(yard.stage.root, "tutor")
    if not os.path.exists(program):
        os.symlink(os.path.realpath(sys.executable), program)
    return [program, "-m", "tests.bridged", "prompt", os.path.join(yard.stage.root, "record")]
