"""`postroom down`."""

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
End the daemon of this room. Agents in panes run on, and their mail waits; agents that are the daemon's own
children (the bridges pty, lines, stream, acp, codex and opencode) end with it. What was asked of it is
finished first, and clients are told; after 25 seconds it has ended, whatever hangs."""
EXAMPLES = """\
  postroom down"""

_ANSWERS = 5.0  # seconds
_PAUSE = 0.05


def add_arguments(parser: "Parser") -> None: ...


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom import host
    from postroom.config import home
    from postroom.daemon.place import running
    from postroom.room.authority import person

    where = home(args.home)
    process, children = running(where), _children(where)
    if process:
        person(context.room(anyway=True), "end the daemon")
        _tell(where, process)
        _await(process)
    pid, ended = host.pid_of(process), _ended(children)
    if context.json:
        context.put_json({"ended": bool(process), "process": pid, "children": ended})
    elif process:
        names = f"; with it ended {', '.join(ended)}" if ended else ""
        context.put(context.out.fold(f"the daemon has ended (process {pid}){names}", 2) + "\n")
    else:
        context.note("No daemon is running.")
    if context.refused:
        context.note(f"warning: the config is refused: {context.refused}")
    return 0


def _children(home: str) -> "list[Manifest]":
    """The agents that run as children of the daemon."""
    from postroom import host
    from postroom.bridges.manifest import every
    from postroom.bridges.registry import capabilities

    return [one for one in every(home) if capabilities(one.bridge).owned and not host.is_gone(one.process)]


def _ended(children: "list[Manifest]") -> list[str]:
    from postroom import host

    return [one.address for one in children if host.is_gone(one.process)]


def _tell(home: str, process: str) -> None:
    """Ask it to end; by a signal, where it does not answer, or cannot tell who asks: an older one does not
    read a room that a newer version has opened.
    """
    import os
    import signal

    from postroom import host
    from postroom.daemon.control import ask
    from postroom.errors import BridgeError, StoreError

    try:
        ask(home, "down", patience=_ANSWERS)
    except (BridgeError, StoreError) as exc:
        if not isinstance(exc, StoreError) and not exc.facts.get("silent"):
            raise
        if not host.is_gone(process):
            os.kill(int(process.partition(".")[0]), signal.SIGTERM)


def _await(process: str) -> None:
    from postroom import host
    from postroom.daemon.control import ENDS
    from postroom.errors import TimedOut

    until = time.monotonic() + ENDS
    while not host.is_gone(process):
        if time.monotonic() > until:
            raise TimedOut(
                f"process {host.pid_of(process)} did not end within {ENDS:g} s",
                hint=f"Look at its log (postroom status), or end it at once: kill {host.pid_of(process)}",
            )
        time.sleep(_PAUSE)
