"""A room whose agents run in the panes of a stage, and real daemons for it."""

import os
import signal
import subprocess
import sys
from typing import Self

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.manifest import Manifest
from postroom.daemon import control
from postroom.daemon.place import log_path
from postroom.model.ladder import Evidence, State
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom
from tests.process import BOUND, ROOT, environment
from tests.tui.log import events
from tests.tui.stage import Pane, Stage, patiently


class Daemon:
    """A process that is a room's daemon; ended when its house is left."""

    def __init__(self, home: str, *words: str, **env: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.tui.daemon", home, *words], cwd=ROOT, stderr=subprocess.PIPE,
            env=environment(**env), start_new_session=True,
        )  # fmt: skip

    def answers(self) -> "Daemon":
        patiently(lambda: control.ping(self.home) or self.process.poll() is not None)
        return self

    def died(self) -> None:
        """Wait until it has ended by itself."""
        self.process.wait(BOUND)

    def end(self) -> None:
        """As `postroom down` or a signal does."""
        self.process.terminate()
        self.process.wait(BOUND)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(BOUND)
        if self.process.stderr is not None:
            self.process.stderr.close()


class House:
    """`with House(room, stage) as house`: leaves no daemon behind."""

    def __init__(self, room: LocalRoom, stage: Stage) -> None:
        self.room, self.stage, self.home = room, stage, room.home
        self._daemons: list[Daemon] = []

    def daemon(self, *words: str, **env: str) -> Daemon:
        """One that answers, or has ended."""
        self._daemons.append(Daemon(self.home, *words, **env))
        return self._daemons[-1].answers()

    def adopt(self, name: str, pane: Pane, **more: object) -> Manifest:
        """An agent of the room runs in a pane."""
        agent = self.room.who(name)
        known = Manifest(agent.id, agent.address, "tmux", host.identity_of(pane.pid), pane.target)
        return self.put(known._replace(**more))

    def put(self, manifest: Manifest) -> Manifest:
        manifests.put(self.home, manifest)
        return manifest

    def delivery(self, ref: str) -> Delivery:
        return self.room.receipts(ref).deliveries[0]

    def waits(self, ref: str, reason: str) -> None:
        """Wait until that is why it waits."""
        patiently(lambda: self.delivery(ref).reason == reason)
        assert self.delivery(ref).state is State.STORED

    def seen(self, ref: str, evidence: Evidence = Evidence.TERMINAL) -> None:
        """Wait until it has been seen, on that evidence."""
        patiently(lambda: self.delivery(ref).state is State.SEEN)
        assert self.delivery(ref).evidence is evidence

    def notes(self, what: str) -> list[dict[str, object]]:
        """What the daemon has logged."""
        return [line for line in events(log_path(self.home)) if line["event"] == what]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.kill()
