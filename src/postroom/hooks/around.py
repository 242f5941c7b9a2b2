"""What surrounds a session that begins: who started it, in which pane, and in which terminal it is shown.

As a rule its hooks have the environment of whoever started it. Where a runtime's own server hosts the
sessions of several terminals, that is the environment of the first of them: there, the terminals are looked
for among the processes, and what they all say is so.
"""

import os
from collections.abc import Mapping

from postroom import host
from postroom.room.seat import Around
from postroom.runtimes.contract import Runtime
from postroom.runtimes.process import Daemon

_NAME, _TOKEN = "POSTROOM_AGENT", "POSTROOM_TOKEN"
_PATIENCE = 1.0  # seconds for tmux


def around(runtime: Runtime, process: str, cwd: str) -> Around:
    """What surrounds a session in a process and a directory."""
    pid = int(process.partition(".")[0])
    daemon = runtime.daemon() if runtime.daemon else None
    if daemon is None or daemon.word not in host.started_with(process)[0]:
        own = os.environ
        return Around(own.get(_NAME, ""), own.get(_TOKEN, ""), *pane(pid, own))
    clients = _clients(runtime.programs, daemon, pid, cwd)
    given = [host.environment(client) for client in clients]
    names = {(environment.get(_NAME, ""), environment.get(_TOKEN, "")) for environment in given}
    place = pane(clients[0], given[0]) if len(clients) == 1 else ("", "")
    identities = tuple(map(host.identity_of, clients))
    name = names.pop() if len(names) == 1 else ("", "")
    return Around(*name, *place, served=True, clients=identities)


def _clients(programs: tuple[str, ...], daemon: Daemon, server: int, cwd: str) -> list[int]:
    """The terminals of a server: those that work in a directory, or all, if none of them seems to."""
    home, found = _home(daemon, server), list[tuple[int, str]]()
    for pid in host.processes():
        if host.program(pid) in programs and pid != server and host.terminal(pid):
            command, at = host.started_with(str(pid))
            if command and (where := daemon.shows(command, at)) and _home(daemon, pid) == home:
                found.append((pid, os.path.realpath(where)))
    here = os.path.realpath(cwd)
    return [pid for pid, where in found if where == here] or [pid for pid, _ in found]


def _home(daemon: Daemon, pid: int) -> tuple[str, str]:
    """What tells one server's terminals from another's."""
    environment = host.environment(pid)
    return environment.get("HOME", ""), environment.get(daemon.home_env, "")


def pane(pid: int, environment: Mapping[str, str]) -> tuple[str, str]:
    """The tmux pane that a process runs in, and the name it bears, both empty if there is none.

    Any process inherits the variables. The pane is its own only if it has the pane's terminal.
    """
    server, own = environment.get("TMUX", ""), environment.get("TMUX_PANE", "")
    socket = server.rpartition(",")[0].rpartition(",")[0]
    if not socket.startswith("/") or not own.startswith("%") or not (terminal := host.terminal(pid)):
        return "", ""
    if not (tmux := host.on_path("tmux")):
        return "", ""
    import subprocess  # noqa: PLC0415 - once in a session that has a pane

    asked = ["display-message", "-p", "-t", own, "#{pid} #{pane_dead} #{pane_tty}", ";"]
    asked += ["show-options", "-pqv", "-t", own, "@postroom_agent"]
    try:
        done = subprocess.run(
            [tmux, "-S", socket, *asked], capture_output=True, timeout=_PATIENCE, check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        first, _, label = done.stdout.decode(errors="replace").partition("\n")
        holder, is_dead, device = first.split(" ", 2)
        if is_dead == "1" or host.device(device) != terminal:  # a dead pane's terminal may be another's now
            return "", ""
    except (OSError, ValueError, subprocess.SubprocessError):
        return "", ""
    return f"{own}@{socket},{'.'.join(host.identity_of(int(holder)).split('.')[:2])}", label.strip()
