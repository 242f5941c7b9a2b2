"""The demo's scratch room and its processes. However the demo ends, they all end with it."""

import os
import shutil
import subprocess
import sys
import tempfile
from types import TracebackType

from postroom import config
from postroom.errors import PostroomError
from postroom.room.local import LocalRoom, open_room

PROJECT = "demo"


class Stage:
    """`with Stage(...) as stage`: a room nobody else uses, and agents that run in it."""

    def __init__(self, *, pace: float, keep: bool) -> None:
        self._pace = pace
        self._keep = keep
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.home = tempfile.mkdtemp(prefix="postroom-demo-")
        self.room: LocalRoom = open_room(self.home, project=PROJECT, durability="normal")

    def start(self, name: str, stuck_on: str = "") -> int:
        """Start an agent's process; its pid."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("POSTROOM_")}
        environment |= {"POSTROOM_HOME": self.home, "POSTROOM_PROJECT": PROJECT}
        command = [
            sys.executable,
            "-m",
            "postroom.demo.agent",
            name,
            str(self._pace),
            *filter(None, [stuck_on]),
        ]
        with open(self._trouble(name), "ab") as trouble:
            self._running[name] = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=trouble
            )
        return self._running[name].pid

    def kill(self, name: str) -> int:
        """End an agent's process without warning (SIGKILL), as a crash would; its pid."""
        process = self._running.pop(name)
        process.kill()
        process.wait()
        _close(process)
        return process.pid

    def check(self) -> None:
        """Raise if an agent's process ended badly."""
        for name, process in self._running.items():
            if process.poll():
                raise PostroomError(f"the demo's {name} failed", hint=self._last_words(name))

    def has_ended(self, patience: float) -> bool:
        """Whether all agents have, by themselves, within so many seconds each."""
        for process in self._running.values():
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                return False
        self.check()
        return True

    def _trouble(self, name: str) -> str:
        return os.path.join(self.home, f"{name}.stderr")

    def _last_words(self, name: str) -> str:
        with open(self._trouble(name), encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        return next((line for line in reversed(lines) if line.strip()), "It said nothing.")

    def __enter__(self) -> "Stage":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
            _close(process)
        self.room.close()
        if not self._keep:
            shutil.rmtree(self.home, ignore_errors=True)
            shutil.rmtree(config.beside(self.home), ignore_errors=True)


def _close(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
