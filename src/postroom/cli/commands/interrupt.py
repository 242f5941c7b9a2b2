"""`postroom interrupt`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent
    from postroom.room.authority import Operator

HELP = """\
Stop what an agent does, by its runtime's own keys, and say what was proven. With `pause` its mail also waits,
urgent or not, until `postroom resume`; with `cancel` what it was asked and has not answered goes back to who
asked, and what it has not seen yet stays. A person may, and the agent's supervisor. Where no bridge reaches
the agent it gets an urgent message: that is stored, not stopped. Exits 0 only if it was proven to have
stopped, or that message was stored."""
EXAMPLES = """\
  postroom interrupt backend
  postroom interrupt backend --kind pause --reason "the plan changes today"
  postroom resume backend
  postroom interrupt backend --kind cancel --as human:ana --json"""

_KINDS = ("stop", "pause", "cancel")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="an agent")
    parser.add_argument(
        "--kind", metavar="KIND", default="stop", choices=_KINDS, help="stop, pause or cancel (stop)"
    )
    parser.add_argument("--reason", metavar="TEXT", default="", help="why; told to whom it concerns")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.manifest import get
    from postroom.cli.person import claim, greet
    from postroom.errors import NoIdentity
    from postroom.room.authority import steering
    from postroom.room.directory import agents_own
    from postroom.room.interruption import interrupt

    room = context.room()
    agents_own(args.name)
    agent = room.known(args.name)
    if distant := context.elsewhere:
        found = distant.call("interrupt", address=agent.address, kind=args.kind, reason=args.reason)
        return _put(found, agent, context)
    claim(context)
    by = steering(room, agent, args.kind)
    if get(room.home, agent.id) is None and by.role == "human" and not room.agent:
        raise NoIdentity  # it is told by a message, and a message has a sender
    found = interrupt(
        room, agent, by, lambda: _stop(agent, by, args, context), kind=args.kind, reason=args.reason
    )
    greet(context)
    return _put(found, agent, context)


def _put(found: dict[str, Any], agent: "Agent", context: "Context") -> int:
    if context.json:
        context.put_json(found)
    else:
        context.put("".join(f"{context.out.fold(line, 2)}\n" for line in _lines(found, agent)))
    return 0 if found["proven"] or found["message"] else 1


def _stop(
    agent: "Agent", by: "Operator", args: "argparse.Namespace", context: "Context"
) -> dict[str, Any] | None:
    """By its bridge, where one reaches it and can."""
    from postroom.bridges import manifest

    home = context.room().home
    if manifest.get(home, agent.id) is None:
        return None
    from postroom.cli.daemon import must_run
    from postroom.daemon.control import ask

    must_run(home)
    return ask(
        home, "interrupt", agent=agent.id, kind=args.kind, by=by.name, role=by.role, reason=args.reason
    )


def _lines(found: dict[str, Any], agent: "Agent") -> list[str]:
    from postroom.cli.output import count, one_line

    if found["message"]:
        lines = [f"stored, not stopped: {found['words']} ({found['message'][-8:]})"]
    else:
        lines = [one_line(f"{'proven' if found['proven'] else 'not proven'}: {found['words']}")]
    if "paused" in found:
        already = "it was paused already" if found["was_paused"] else f"{agent.called} is paused"
        lines.append(
            f"{already}: its mail waits ({count(found['held'], 'message')} now), until: "
            f"postroom resume {agent.called}"
        )
    if "cancelled" in found:
        lines.append(f"cancelled: {count(len(found['cancelled']), 'message')} went back to who asked")
    return lines
