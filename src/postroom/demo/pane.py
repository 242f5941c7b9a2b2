"""The demo's last act: mail for a program in a real pane of tmux, which asks something when it comes."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Self

from postroom import host
from postroom.bridges.manifest import Manifest
from postroom.bridges.tmux import bridge as tmux
from postroom.bridges.tmux.server import Server, target
from postroom.daemon.keeper import Keeper
from postroom.demo.clerk import PROFILE, REMOVE, TIDY
from postroom.demo.screen import Output
from postroom.errors import TimedOut
from postroom.model.message import Agent, Json, Sent
from postroom.room import glance
from postroom.room.authority import Operator
from postroom.room.local import LocalRoom
from postroom.server.port import NoBridges

CLERK = "clerk"
_PATIENCE = 10.0  # seconds for each step
_PAUSE = 0.05
_SHORT = "/tmp"  # a socket's path has at most 107 bytes
_PIDS = "#{pid} #{pane_pid}"
# Our end is the end of its input, however it comes.
_GUARD = 'read _; "$1" -S "$2" kill-server 2>/dev/null; rm -f "$2"; rmdir "$0"'
_LINES, _WIDE = 5, 74  # of its screen
_NAME = 17  # columns of the board for who writes


def _cut(line: str) -> str:
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 1]}…"


def can_play() -> bool:
    return bool(host.on_path("tmux"))


@contextmanager
def staged(room: LocalRoom, out: Output, unit: float, person: str) -> Generator["Act"]:
    """The act, whose pane is there until the end. `person` is who writes to it."""
    with _guarded_server() as server, Act(room, out, unit, server, person) as act:
        yield act


@contextmanager
def _guarded_server() -> Generator[Server]:
    """A server of its own. However this process ends, the server, what runs in it and its folder go, too."""
    folder = tempfile.mkdtemp(prefix="postroom-", dir=os.environ.get("TMUX_TMPDIR") or _SHORT)
    server = Server(os.path.join(folder, "tmux"))
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, folder, host.on_path("tmux"), server.socket], stdin=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    running: list[str] = []
    try:
        yield server
        running = [host.identity_of(int(pid)) for pid in server.run(["list-panes", "-aF", _PIDS]).split()]
    finally:
        guard.communicate()
        _await(lambda: all(map(host.is_gone, running)))


def _await(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


class Act(NoBridges):
    """Shows that nothing is typed into a question, and what proves the mail when it was.

    For the demo's page it is all the bridges there are.
    """

    name = CLERK

    def __init__(self, room: LocalRoom, out: Output, unit: float, server: Server, person: str) -> None:
        self._room, self._out, self._unit, self._server = room, out, unit, server
        self._person = person
        self._agent = room.join(CLERK, role="clerk", description="a program in a terminal")
        manifest = self._start()
        self._pane = target(manifest.pane).id
        self._keeper = Keeper(room, manifest, dict(os.environ))

    @property
    def address(self) -> str:
        """As it is found from anywhere: who reads it stands in a project of their own."""
        return self._agent.address

    def __enter__(self) -> Self:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.stop()
        self._keeper.join(_PATIENCE)

    def play(self) -> dict[str, Any]:
        name = self._person if len(self._person) <= _NAME else f"{self._person[: _NAME - 1]}…"
        row = f"{f'{name} → {CLERK}':<27}{'report':<13}"  # as on the board
        self._say(f"\nIn a pane of tmux: {CLERK}, a program without hooks")
        sent = self._write("report", "Please file the report of T-1.")
        self._say(f"{row}stored, waits: approval")
        self._say(f"  · {CLERK} asks [y/N] just now: not a key is pressed")
        time.sleep(self._unit * 3)
        self._type("n")
        self._say("  · somebody answers it: n")
        [delivery] = self._room.until(sent.id, "seen", timeout=_PATIENCE)
        shown = self.screen(self._agent, 0).splitlines()
        self._say(f"{row}stored─offered─{delivery.state}")
        self._say("  · typed when its prompt was empty; the prompt held it, and cleared")
        for line in shown[-_LINES:]:
            self._say(self._out.paint(f"  │ {_cut(line)}", "dim"))
        return {
            "agent": CLERK,
            "subject": "report",
            "state": str(delivery.state),
            "evidence": delivery.evidence.value if delivery.evidence else "",
            "attempts": delivery.attempts,
        }

    def ask_again(self) -> None:
        """Leave it with another question, and mail that waits for the answer: somebody to see to."""
        self._type(TIDY)
        self._until(lambda: REMOVE.strip() in self.screen(self._agent, 0), "second question")
        self._write("report T-2", "Please file the report of T-2.")

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if agent.id != self._agent.id:
            return None
        done = self._keeper.ask(lambda actor, _: actor.interrupt())
        return done and done._asdict()

    def stops(self, agent: Agent) -> bool:
        return agent.id == self._agent.id

    def screen(self, agent: Agent, lines: int) -> str:
        if agent.id != self._agent.id:
            return super().screen(agent, lines)
        return self._keeper.ask(lambda _, bridge: bridge.screen(lines))

    def _type(self, text: str) -> None:
        """As the person at that terminal does."""
        self._server.run(["send-keys", "-t", self._pane, text, "Enter"])

    def _write(self, subject: str, text: str) -> Sent:
        """Mail that finds it asking."""
        sent = self._room.send(CLERK, text, sender=self._person, subject=subject)
        self._until(lambda: self._reason() == "approval", "question")
        return sent

    def _start(self) -> Manifest:
        agent, home = self._agent, self._room.home
        details = {"socket": self._server.socket, "session": "demo", "profile": PROFILE}
        command = [sys.executable, "-m", "postroom.demo.clerk"]
        manifest = Manifest(agent.id, agent.address, tmux.NAME, details=details, command=command, cwd=home)
        return manifest.at(tmux.start(manifest.launch(dict(os.environ))))

    def _reason(self) -> str:
        seen = glance.get(self._room.home, self._agent.id)
        return seen.reason if seen else ""

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        if not _await(condition):
            hint = "Is the machine very busy? Try again."
            raise TimedOut(f"the {what} in the pane did not come", hint=hint)

    def _say(self, text: str) -> None:
        self._out.write(f"{text}\n")
