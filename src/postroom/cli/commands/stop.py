"""`postroom stop`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
End an agent that `spawn` or `up` has started: it is asked to, and ended if it does not within a few seconds.
One that was adopted is only let go of, and runs on (--kill ends it, too). Its address and its mail stay."""
EXAMPLES = """\
  postroom stop backend
  postroom stop reviewer --kill"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="the agent")
    parser.add_argument("--kill", action="store_true", help="end it even if it was adopted")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges import manifest as manifests
    from postroom.errors import NotFound
    from postroom.room.authority import person

    room = context.room()
    agent = room.known(args.name)
    person(room, f"stop {agent.called}")
    manifest = manifests.get(room.home, agent.id)
    if manifest is None:
        hint = "See who is reached how: postroom agents"
        raise NotFound(f"no bridge reaches {agent.address}", hint=hint, agent=agent.address)
    facts = _stopped(manifest, args, context)
    if context.json:
        context.put_json(facts)
    else:
        name = context.out.paint(agent.address, "bold")
        context.put(f"{name}: {'ended' if facts['ended'] else 'let go'}; {facts['words']}\n")
    return 1 if not facts["ended"] and (manifest.is_ours or args.kill) else 0


def _stopped(manifest: "Manifest", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom import host
    from postroom.bridges.registry import capabilities
    from postroom.daemon.launch import end, end_child, let_go

    was_gone, ends = (
        host.is_gone(manifest.process),
        bool(manifest.process) and (manifest.is_ours or args.kill),
    )
    let_go(context.room(), manifest)
    words = "it had ended before" if was_gone else "it runs on"
    if ends and not was_gone:
        words = end_child(manifest) if capabilities(manifest.bridge).owned else end(manifest)
    is_gone = host.is_gone(manifest.process)
    if ends and not is_gone:
        words = f"process {host.pid_of(manifest.process)} was told to end, and still runs"
    return {"agent": manifest.address, "bridge": manifest.bridge, "ended": is_gone, "words": words}
