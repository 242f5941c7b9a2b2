"""Agents that run in panes already, told by the programs that have the panes' terminals."""

import os
from typing import NamedTuple

from postroom import host
from postroom.bridges.tmux.server import Server, Target, server_of
from postroom.runtimes import NAMES, load

_FACTS: tuple[str, ...] = (
    "pane_id", "pane_pid", "pane_dead", "pid", "session_name", "window_index", "pane_index",
    "@postroom_agent", "pane_current_path", "pane_title",
)  # fmt: skip
_FORMAT = "\t".join(f"#{{{fact}}}" for fact in _FACTS)
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
    found: list[Candidate] = []
    for line in server.run("list-panes", "-a", "-F", _FORMAT).splitlines():
        facts = dict(zip(_FACTS, line.split("\t"), strict=False))
        if facts["pane_dead"] == "0":
            found.append(_candidate(server, facts, known or {}))
    return found


def places(server: Server) -> dict[str, str]:
    """Where each pane of a server is, as people name it, by its id."""
    said = server.run("list-panes", "-a", "-F", "#{pane_id} #{session_name}:#{window_index}.#{pane_index}")
    return dict(line.split(" ", 1) for line in said.splitlines())


def _candidate(server: Server, facts: dict[str, str], known: dict[str, str]) -> Candidate:
    root = int(facts["pane_pid"])
    pid, runtime = in_front(root, known)
    place = f"{facts['session_name']}:{facts['window_index']}.{facts['pane_index']}"
    target = Target(facts["pane_id"], server.socket, server_of(int(facts["pid"])))
    return Candidate(
        target, place, facts["@postroom_agent"], root, host.identity_of(pid), host.program(pid), runtime,
        facts.get("pane_current_path", ""), facts.get("pane_title", ""),
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
