"""Agents that run in panes already, told by the programs that have the panes' terminals."""

import os
from typing import NamedTuple

from postroom import host
from postroom.bridges.tmux.place import asked, where
from postroom.bridges.tmux.server import Server, Target
from postroom.runtimes import NAMES, load

_PLACE = ("pane_id", "pid", "session_name", "window_index", "pane_index")
_FACTS = (*_PLACE, "pane_pid", "pane_dead", "@postroom_agent", "pane_current_path", "pane_title")
_INTERPRETERS = ("node", "bun", "deno", "python", "python3", "uv", "npx")
_SHARED = ("node",)  # names that programs of several runtimes have


class Candidate(NamedTuple):
    """A pane with a program in front."""

    target: Target
    place: str  # `work:1.0`, as people name it
    label: str  # the name that it bears
    root: int  # the process that tmux started there
    process: str  # the program that has the terminal
    program: str
    runtime: str  # empty: none that we know
    cwd: str
    title: str = ""  # what its program calls the screen


def candidates(server: Server, known: dict[str, str] | None = None) -> list[Candidate]:
    """Every live pane of a server. `known`: programs that a user has given a profile, by its name."""
    living = [facts for facts in asked(server, _FACTS) if facts["pane_dead"] == "0"]
    return [_candidate(server, facts, known or {}) for facts in living]


def places(server: Server) -> dict[Target, str]:
    """Where each pane of a server is, as people name it."""
    return {where(server, facts): _place(facts) for facts in asked(server, _PLACE)}


def _place(facts: dict[str, str]) -> str:
    return "{session_name}:{window_index}.{pane_index}".format_map(facts)


def _candidate(server: Server, facts: dict[str, str], known: dict[str, str]) -> Candidate:
    root = int(facts["pane_pid"])
    pid, runtime = in_front(root, known)
    return Candidate(
        where(server, facts), _place(facts), facts["@postroom_agent"], root, host.identity_of(pid),
        host.program(pid), runtime, facts["pane_current_path"], facts["pane_title"],
    )  # fmt: skip


def in_front(root: int, known: dict[str, str]) -> tuple[int, str]:
    """The process to which a terminal sends what is typed, and its runtime, if that is known."""
    leader = host.foreground(root) or root
    for pid in (leader, *host.group(leader)):
        if runtime := recognised(pid, known):
            return pid, runtime
    return leader, ""


def recognised(pid: int, known: dict[str, str]) -> str:
    """The runtime whose program a process is, by its name, or by the file that an interpreter runs."""
    words, _ = host.started_with(str(pid))
    return named({host.program(pid), *_names(words)}, known)


def meant(command: list[str], known: dict[str, str]) -> str:
    """The runtime that a command would start; empty: none that we know."""
    return named(set(_names(command)), known)


def named(names: set[str], known: dict[str, str]) -> str:
    """The runtime whose program has one of these names; those that a user has given a profile come first."""
    for program, profile in known.items():
        if program in names:
            return profile
    for runtime in NAMES:
        own = {name for name in load(runtime).programs if name not in _SHARED} | {runtime}
        if any(name in own or name.partition("-")[0] in own for name in names):
            return runtime
    return ""


def _names(words: list[str]) -> list[str]:
    if not words:
        return []
    first = os.path.basename(words[0])
    if not first.startswith(_INTERPRETERS):
        return [first]
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    base, folders = os.path.basename(script), script.split(os.sep)
    package = folders[folders.index("node_modules") + 1 :][:2] if "node_modules" in folders else []
    return [first, os.path.splitext(base)[0], *(name for name in package if name[:1] not in (".", "@"))]
