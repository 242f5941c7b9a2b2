"""What surrounds a session that begins: who started it, in which pane, and in which terminal it is shown.

As a rule its hooks have the environment of whoever started it. Where a runtime's own server hosts the
sessions of several terminals, that is the environment of the first of them: there, the terminals are looked
for among the processes. Which of several shows the session, `room/own_terminal.py` finds out.
"""

import os
from collections.abc import Mapping

from postroom import host
from postroom.room.seat import Around, Terminal
from postroom.runtimes.contract import Runtime
from postroom.runtimes.process import Daemon

_NAME, _TOKEN = "POSTROOM_AGENT", "POSTROOM_TOKEN"
_PATIENCE = 1.0  # seconds for tmux
_MOST = 16  # terminals of one server that are looked at: tmux is asked about each
# Seconds since a key was read. Linux notes that only every 8 seconds; a hook takes some to start where the
# machine is loaded. A session begins with a prompt, whose last key was read in the terminal that shows it.
_LATELY = 15.0


def around(runtime: Runtime, process: str, cwd: str) -> Around:
    """What surrounds a session in a process and a directory."""
    pid = int(process.partition(".")[0])
    daemon = runtime.daemon() if runtime.daemon else None
    if daemon is None or daemon.word not in host.started_with(process)[0]:
        own = os.environ
        return Around(own.get(_NAME, ""), own.get(_TOKEN, ""), *pane(pid, own))
    clients = _clients(runtime.programs, daemon, pid, cwd)
    if len(clients) != 1:
        found = tuple(map(_terminal, clients[:_MOST]))
        return Around(served=True, clients=tuple(map(host.identity_of, clients)), terminals=found)
    only = _terminal(clients[0])
    return Around(
        only.name, only.token, only.pane, only.label, served=True, clients=(only.process,)
    )  # fmt: skip


def _terminal(client: int) -> Terminal:
    environment = host.environment(client)
    name, token = environment.get(_NAME, ""), environment.get(_TOKEN, "")
    idle = host.key_read_ago(client)
    is_read = idle is None or idle < _LATELY
    return Terminal(host.identity_of(client), name, token, *pane(client, environment), is_read)


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
