"""Agents that the config says how to bring up: what `[agents.NAME]` has of that, checked."""

import os
import shlex
from typing import Any, NamedTuple

from postroom import config
from postroom.bridges import registry
from postroom.bridges.process.restart import Policy
from postroom.errors import InvalidValue, PostroomError
from postroom.model.message import Json
from postroom.runtimes.screen import given

FILES = "files"  # the bridge to whom a mailbox belongs, and for which nothing need be started
_SAID = ("bridge", "session", "pane", "command", "runtime", "restart", "profile", "directory")


class Entry(NamedTuple):
    """One agent that is to run."""

    name: str  # as the config has it: `backend` or `shop/backend`
    table: Json  # all that is said of how it runs: what a person agrees to
    pane: str = ""  # adopted there
    command: list[str] = []  # noqa: RUF012 - read only: else started with that
    bridge: str = ""
    session: str = ""
    runtime: str = ""
    restart: str = Policy.NEVER.value
    profile: str = ""
    directory: str = ""


def entries(declared: config.Declared) -> list[Entry]:
    """Those with a pane, a command or a mailbox, in the order of the config.

    Every profile is checked, though none of them may have one: nobody else would say what is wrong there.
    """
    for name in declared.profiles:
        profile(declared.profiles, name)
    wanted = {name: table for name, table in declared.agents.items() if _is_to_run(table)}
    return [_entry(name, table, declared.profiles) for name, table in wanted.items()]


def _is_to_run(table: Json) -> bool:
    return "pane" in table or "command" in table or table.get("bridge") == FILES


def _entry(name: str, table: Json, profiles: Json) -> Entry:
    try:
        said = {key: table[key] for key in _SAID if key in table}
        command = _words(said.get("command", []))
        if said.get("restart", Policy.NEVER.value) not in (*Policy,):
            raise InvalidValue(f"restart must be one of {', '.join(Policy)}, not {said['restart']!r}")
        if "bridge" in said:
            registry.load(said["bridge"])
        if said.get("bridge") == FILES and not command and not said.get("directory"):
            raise InvalidValue("a mailbox needs `directory`, the tree in which it lies")
        if "profile" in said:
            profile(profiles, said["profile"])
        return Entry(name, said)._replace(**said | {"command": command})
    except PostroomError as exc:
        raise InvalidValue(f"[agents.{name}] in the config: {exc}", hint=exc.hint or None) from None


def _words(command: Any) -> list[str]:
    try:
        return shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as exc:
        raise InvalidValue(f"command: {exc}") from None


def place(entry: Entry) -> str:
    """The directory in which an agent is to be started: relative to the checkout around the caller."""
    here = config.worktree(os.getcwd())[0]
    return os.path.join(here, os.path.expanduser(entry.directory)) if entry.directory else os.getcwd()


def profile(profiles: Json, name: str) -> Json:
    """The table of a profile that the config has, checked."""
    if name not in profiles:
        from postroom.near import meant, near  # noqa: PLC0415 - only for who is refused

        write = f"Write one in the config, [profiles.{name}], or say --pattern RE."
        there = f"There are {', '.join(profiles)}." if profiles else write
        there = f"{meant(near(name, profiles))} {there}".strip()
        raise InvalidValue(f"there is no profile {name!r}", hint=there)
    given(profiles[name], f"profiles.{name}")
    return profiles[name]


def programs(profiles: Json) -> dict[str, str]:
    """The programs that profiles are for, each with the name of its profile. One that is wrong has none."""
    found: dict[str, str] = {}
    for name, table in profiles.items():
        try:
            found |= dict.fromkeys(given(table, f"profiles.{name}").programs, name)
        except InvalidValue:
            continue  # who uses it is told
    return found
