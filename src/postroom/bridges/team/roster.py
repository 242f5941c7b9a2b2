"""The teams of Claude Code on this machine, as its own files tell: who is in each, and what it is to do.

All of it is read, and nothing written. What cannot be read is not there.
"""

import json
import os
import stat
from typing import Any, NamedTuple, cast

from postroom import host
from postroom.model.message import Json

_LARGEST = 1 << 20
_MOST = 1000  # files of a directory


class Team(NamedTuple):
    """One team: a session of Claude Code that leads it, and those it has started."""

    name: str
    path: str  # its directory
    members: list[str]
    process: str  # of who leads it, as `postroom.host.identity` names it; empty: it does not say
    cwd: str

    @property
    def is_live(self) -> bool:
        return bool(self.process) and not host.is_gone(self.process)

    def inbox(self, member: str) -> str:
        return os.path.join(self.path, "inboxes", f"{host.plain(member)}.json")


class Task(NamedTuple):
    """One of the tasks of a team."""

    id: str
    subject: str
    status: str
    owner: str
    blocked_by: list[str]


def base() -> str:
    """Where Claude Code keeps what is its own."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def teams() -> list[Team]:
    above = os.path.join(base(), "teams")
    return [found for name in _names(above) if (found := team(os.path.join(above, name)))]


def team(path: str) -> Team | None:
    """The team whose directory that is; None where there is none any more."""
    found = document(os.path.join(path, "config.json"))
    if not isinstance(found, dict):
        return None
    about = cast("Json", found)
    members: Any = about.get("members")
    several = cast("list[Any]", members) if isinstance(members, list) else []
    listed = [cast("Json", one) for one in several if isinstance(one, dict)]
    names = [name for one in listed if isinstance(name := one.get("name"), str) and _is_plain(name)]
    cwd = str(listed[0].get("cwd") or "") if listed else ""
    return Team(os.path.basename(path), path, names, _process(about.get("leadProcess")), cwd)


def _process(leads: Any) -> str:
    pid: Any = cast("Json", leads).get("pid") if isinstance(leads, dict) else None
    return host.identity_of(pid) if isinstance(pid, int) and pid > 0 and host.program(pid) else ""


def tasks(name: str) -> list[Task]:
    """The tasks of a team, in their order."""
    above = os.path.join(base(), "tasks", host.plain(name))
    listed = [document(os.path.join(above, file)) for file in _names(above) if file.endswith(".json")]
    found = [_task(cast("Json", one)) for one in listed if isinstance(one, dict)]
    return sorted(
        found, key=lambda one: (not one.id.isdecimal(), int(one.id) if one.id.isdecimal() else 0, one.id)
    )


def _task(about: Json) -> Task:
    blocked: Any = about.get("blockedBy")
    return Task(
        str(about.get("id") or ""), str(about.get("subject") or about.get("title") or ""),
        str(about.get("status") or ""), str(about.get("owner") or ""),
        [str(one) for one in cast("list[Any]", blocked)] if isinstance(blocked, list) else [],
    )  # fmt: skip


def document(path: str) -> Any:
    """What a file of JSON holds; None where there is none that could be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = file.read(_LARGEST + 1)
        return json.loads(data) if len(data) <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None


def _names(path: str) -> list[str]:
    try:
        return [name for name in sorted(os.listdir(path)) if not name.startswith(".")][:_MOST]
    except OSError:
        return []


def _is_plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\0" not in name and name not in (".", "..")
