"""Agents in panes that a daemon keeps, for tests of what commands do with them. Nothing is left running."""

import os
import signal
import subprocess
import sys
from typing import Any

from postroom import host
from postroom.bridges import manifest
from postroom.bridges.manifest import Manifest
from postroom.config import Settings
from postroom.daemon import control, instance
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.process import BOUND, environment, until
from tests.tui.stage import Pane, Stage, patiently


class Kept:
    """A stage with agents that a daemon keeps, and a command line of the same room, in project `p`."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.cli = CommandLine(home)
        self.stage = Stage()
        self.room = LocalRoom(home, Settings(sender_rate=0), project="p")
        self.room.join("human:ana")

    def keep(self, name: str, *options: str, supervisor: str = "") -> Pane:
        """A fake agent that is reached by tmux, and read as Claude Code is, whose looks it has."""
        pane = self.stage.agent(*options)
        agent = self.room.join(name, **({"supervisor": supervisor} if supervisor else {}))
        process = host.identity_of(pane.pid)
        manifest.put(self.home, Manifest(agent.id, agent.address, "tmux", process, pane.target, "claude"))
        return pane

    @property
    def tmux(self) -> dict[str, str]:
        """What a person in that server has in the environment."""
        return {"TMUX": f"{self.stage.socket},1,0"}

    def up(self) -> None:
        """Start the daemon, by a process of its own: it is nobody's child here."""
        words = [sys.executable, "-c", f"from postroom.daemon.instance import ensure; ensure({self.home!r})"]
        subprocess.run(words, env=environment(**self.cli.environment), check=True, timeout=BOUND)
        control.ask(self.home, "reload")

    def kill(self) -> None:
        """End the daemon as no signal handler can: what it had in memory is lost."""
        process = instance.running(self.home)
        os.kill(int(process.partition(".")[0]), signal.SIGKILL)
        until(lambda: not instance.running(self.home))

    def down(self) -> None:
        if process := instance.running(self.home):
            os.kill(int(process.partition(".")[0]), signal.SIGTERM)
            patiently(lambda: host.is_gone(process))

    def delivery(self, ref: str) -> dict[str, Any]:
        return self.cli.receipt(ref)

    def reaches(self, ref: str, state: str) -> dict[str, Any]:
        """Wait until the one delivery of a message is there."""
        patiently(lambda: self.delivery(ref)["state"] == state)
        return self.delivery(ref)

    def close(self) -> None:
        self.down()
        self.room.close()
        self.stage.__exit__()
