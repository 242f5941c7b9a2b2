"""`postroom attach`."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Json

HELP = """\
Go to an agent. In tmux, its pane is shown: in your own client if that is of the same server, else in a new
one, which C-b d leaves (or your own prefix, then d). The terminal of an agent that the daemon runs (--bridge
pty) is shown here; C-] leaves it. So is the conversation with one that speaks ACP: a line and Enter is a
prompt, a number answers what it asks, C-c stops its turn. Of any other, what it prints is shown as it comes;
C-c leaves. While you type in a terminal, no mail goes in."""
EXAMPLES = """\
  postroom attach backend
  postroom attach backend --print"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="the agent")
    parser.add_argument(
        "--print", action="store_true", help="print the command of tmux instead of running it"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges import manifest as manifests
    from postroom.errors import NotFound

    room = context.room()
    agent = room.known(args.name)
    manifest = manifests.get(room.home, agent.id)
    if manifest is not None and not manifest.pane:
        if args.print:
            raise NotFound(
                f"{agent.address} is in no pane of tmux", agent=agent.address,
                hint=f"Go to it: postroom attach {agent.called}",
            )  # fmt: skip
        return go(manifest, context)
    pane = manifest.pane if manifest else _pane(agent.id, context)
    if not pane:
        hint = "See who is reached how: postroom agents"
        raise NotFound(f"{agent.address} is in no terminal that is known", hint=hint, agent=agent.address)
    if args.print:
        return _print(words(pane), context)
    return _to(pane)


def _pane(agent: str, context: "Context") -> str:
    """The pane of a session that only its hooks have told of."""
    from postroom.room.seat import is_live

    found = [one.pane for one in context.room().store.look().sessions(agent) if one.pane and is_live(one)]
    return found[0] or "" if found else ""


def _print(command: list[str], context: "Context") -> int:
    import shlex

    if context.json:
        context.put_json({"command": command})
    else:
        context.put(shlex.join(command) + "\n")
    return 0


def words(pane: str) -> list[str]:
    """The command that shows a pane, which is there."""
    from postroom.bridges.tmux.place import standing
    from postroom.bridges.tmux.server import own_socket, target

    where = standing(target(pane)).target
    at, is_inside = ("-t", where.id), "TMUX" in os.environ and own_socket() == where.socket
    shown = ["switch-client", *at] if is_inside else ["attach-session", *at]
    return ["tmux", "-S", where.socket, "select-window", *at, ";", "select-pane", *at, ";", *shown]


def go(manifest: "Manifest", context: "Context") -> int:
    """Show an agent to whoever sits here, until they leave it."""
    import sys

    from postroom.bridges.registry import capabilities

    if manifest.pane:
        return _to(manifest.pane)
    can = capabilities(manifest.bridge)
    if not can.screen and not (can.console and sys.stdin.isatty() and sys.stdout.isatty()):
        return _follow(manifest, context)
    from postroom.cli.mirror import show

    return show(context.room().home, manifest, context)


def _to(pane: str) -> int:
    """In this process's place; an attached client of another server does not count as nested."""
    import sys

    from postroom import host
    from postroom.errors import BridgeError

    command, program = words(pane), host.on_path("tmux")
    if not program:
        raise BridgeError("tmux is not installed", hint="Debian: apt install tmux")
    env = dict(os.environ)
    if "attach-session" in command:
        env.pop("TMUX", None)
    sys.stdout.flush()
    os.execve(program, command, env)


def _words(manifest: "Manifest", said: "Json") -> str:
    """What people are shown of a line that an agent printed."""
    if said.get("stream") != "event":
        return str(said.get("text", ""))
    import json

    from postroom.runtimes.stream import of

    spec = of(manifest.runtime)
    try:
        return spec.read(json.loads(str(said.get("text")))).words if spec else ""
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _follow(manifest: "Manifest", context: "Context") -> int:
    """What an agent without a terminal has printed, and what it prints from now on."""
    from postroom.cli.output import clean
    from postroom.daemon.control import ask

    room = context.room()
    cursor = room.store.look().last_cursor()
    context.note(f"What {manifest.address} prints, as it comes; C-c leaves, and it runs on.")
    context.put(clean(ask(room.home, "screen", agent=manifest.agent)) + "\n")
    for event in room.events(follow=True, agent=manifest.address, after=cursor):
        if event.type == "agent.output" and (words := _words(manifest, event.payload)):
            context.put(clean(words) + "\n")
        elif event.type == "agent.ended":
            context.note(f"{manifest.address} has ended")
            return 0
    return 0
