"""The demo's last act: mail for a program in a real pane of tmux, which asks something when it comes."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from postroom import host
from postroom.bridges.manifest import Manifest
from postroom.bridges.tmux import bridge as tmux
from postroom.bridges.tmux.server import Server, target
from postroom.daemon.keeper import Keeper
from postroom.demo.clerk import PROFILE
from postroom.demo.screen import Output
from postroom.errors import TimedOut
from postroom.room import glance
from postroom.room.local import LocalRoom

CLERK, WRITER = "clerk", "human:you"
_PATIENCE = 10.0  # seconds for each step
_PAUSE = 0.05
_SHORT = "/tmp"  # a socket's path has at most 107 bytes
_PIDS = "#{pid} #{pane_pid}"
# Our end is the end of its input, however it comes.
_GUARD = 'read _; "$1" -S "$2" kill-server 2>/dev/null; rm -f "$2"; rmdir "$0"'
_LINES, _WIDE = 5, 74  # of its screen
_ROW = f"{f'{WRITER} → {CLERK}':<27}{'report':<13}"  # as on the board


def _cut(line: str) -> str:
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 1]}…"


def can_play() -> bool:
    return bool(host.on_path("tmux"))


def play(room: LocalRoom, out: Output, unit: float) -> dict[str, Any]:
    """Show that nothing is typed into a question, and what proves the mail when it was."""
    with _guarded_server() as server:
        return _Act(room, out, unit, server).play()


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


class _Act:
    def __init__(self, room: LocalRoom, out: Output, unit: float, server: Server) -> None:
        self._room, self._out, self._unit, self._server = room, out, unit, server
        self._agent = room.join(CLERK, role="clerk", description="a program in a terminal")

    def play(self) -> dict[str, Any]:
        manifest = self._start()
        pane = target(manifest.pane).id
        self._say(f"\nIn a pane of tmux: {CLERK}, a program without hooks")
        keeper = Keeper(self._room, manifest, dict(os.environ))
        keeper.start()
        try:
            sent = self._room.send(CLERK, "Please file the report of T-1.", sender=WRITER, subject="report")
            self._until(lambda: self._reason() == "approval", "question")
            self._say(f"{_ROW}stored, waits: approval")
            self._say(f"  · {CLERK} asks [y/N] just now: not a key is pressed")
            time.sleep(self._unit * 3)
            self._server.run(["send-keys", "-t", pane, "n", "Enter"])  # the person at that terminal
            self._say("  · somebody answers it: n")
            [delivery] = self._room.until(sent.id, "seen", timeout=_PATIENCE)
            shown = keeper.ask(lambda _, bridge: bridge.screen()).splitlines()
        finally:
            keeper.stop()
            keeper.join(_PATIENCE)
        self._say(f"{_ROW}stored─offered─{delivery.state}")
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
