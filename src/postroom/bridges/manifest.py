"""Where each agent runs that a bridge reaches, and how it was started: one file each, beside the room.

Not in the room, where a sandboxed agent may write: what stands here is typed into and run.
"""

import json
import os
import shlex
from typing import NamedTuple

from postroom import config, host
from postroom.bridges.contract import Berth, Launch
from postroom.model.message import Json

_FOLDER = "berths"


class Manifest(NamedTuple):
    """One agent, its bridge and its berth."""

    agent: str  # its id
    address: str
    bridge: str
    process: str = ""
    pane: str = ""
    runtime: str = ""
    details: Json = {}  # noqa: RUF012 - read only
    command: list[str] = []  # noqa: RUF012 - read only; empty: it was adopted
    cwd: str = ""
    restart: str = "never"
    routes: list[str] = []  # noqa: RUF012 - read only; better than its bridge, the best first
    exit_code: int | None = None  # of one that ended, and was not started again; None: it is not known

    @property
    def berth(self) -> Berth:
        return Berth(self.agent, self.address, self.process, self.pane, self.runtime, self.details)

    @property
    def is_ours(self) -> bool:
        """Whether we have started it."""
        return bool(self.command)

    @property
    def program(self) -> str:
        """The name of what we have started."""
        return os.path.basename(self.command[0]) if self.command else ""

    def launch(self, env: dict[str, str]) -> Launch:
        """How it is started, with that environment."""
        return Launch(self.agent, self.address, self.command, self.cwd, env, self.runtime, self.details)

    @property
    def again(self) -> str:
        """The command that starts it again."""
        way = "" if self.pane else f" --bridge {self.bridge}"
        return f"postroom spawn {self.address}{way} -- {shlex.join(self.command)}"

    def at(self, berth: Berth) -> "Manifest":
        """It runs there from now on."""
        return self._replace(process=berth.process, pane=berth.pane, details=berth.details, exit_code=None)


def put(home: str, manifest: Manifest) -> None:
    host.private_directory(config.beside(home, _FOLDER))
    host.replace(_path(home, manifest.agent), json.dumps(manifest._asdict()).encode())


def get(home: str, agent: str) -> Manifest | None:
    """None where there is none, or what is there is none."""
    try:
        with open(_path(home, agent), encoding="utf-8") as file:
            return Manifest(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def every(home: str) -> list[Manifest]:
    try:
        names = sorted(os.listdir(config.beside(home, _FOLDER)))
    except OSError:
        return []
    return [found for name in names if name[0] != "." and (found := get(home, name))]


def changed_at(home: str) -> int:
    """When one of them was last put or removed, in nanoseconds; 0: there has never been one."""
    try:
        return os.stat(config.beside(home, _FOLDER)).st_mtime_ns
    except OSError:
        return 0


def remove(home: str, agent: str) -> None:
    try:
        os.unlink(_path(home, agent))
    except FileNotFoundError:
        pass


def _path(home: str, agent: str) -> str:
    return config.beside(home, _FOLDER, host.plain(agent))
