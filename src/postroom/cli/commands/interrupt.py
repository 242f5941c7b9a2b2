"""`postroom interrupt`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent, Mail
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
    from postroom.cli.person import claim
    from postroom.errors import NoIdentity
    from postroom.room.authority import steering
    from postroom.room.directory import agents_own

    room = context.room()
    agents_own(args.name)
    agent = room.known(args.name)
    claim(context)
    by = steering(room, agent, args.kind)
    way = get(room.home, agent.id)
    if way is None and by.role == "human" and not room.agent:
        raise NoIdentity  # it is told by a message, and a message has a sender
    found: dict[str, Any] = {"agent": agent.address, "kind": args.kind, "by": by.name}
    if args.kind == "pause":  # before the stop, or its next message would come in between
        found |= _pause(agent, by, context)
    found |= _stop(agent, by, args, context)
    if args.kind == "cancel":
        found |= _cancel(agent, by, args.reason, context)
    if context.json:
        context.put_json(found)
    else:
        context.put("".join(f"{context.out.fold(line, 2)}\n" for line in _lines(found, agent)))
    return 0 if found["proven"] or found["message"] else 1


def _pause(agent: "Agent", by: "Operator", context: "Context") -> dict[str, Any]:
    from postroom.room.manners import pause

    was, held = pause(context.room(), agent, by, paused=True)
    return {"paused": True, "was_paused": was, "held": held}


def _stop(agent: "Agent", by: "Operator", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    """By its bridge, where one reaches it and can; else by a message."""
    from postroom.bridges import manifest
    from postroom.errors import BridgeError, TimedOut, UnknownAgent

    home = context.room().home
    done = None
    if manifest.get(home, agent.id) is not None:
        from postroom.cli.daemon import must_run
        from postroom.daemon.control import ask

        try:
            must_run(home)
            done = ask(
                home, "interrupt", agent=agent.id, kind=args.kind, by=by.name, role=by.role,
                reason=args.reason,
            )  # fmt: skip
        except (BridgeError, TimedOut, UnknownAgent) as exc:
            hint = f". {exc.hint}" if exc.hint else ""
            return {"proven": False, "words": f"{exc}{hint}", "message": None}
    if done is not None:
        return {"proven": done["proven"], "words": done["words"], "message": None}
    return _write(agent, by, args, context)


def _write(agent: "Agent", by: "Operator", args: "argparse.Namespace", context: "Context") -> dict[str, Any]:
    from postroom.cli.person import greet

    room = context.room()
    payload = {"kind": args.kind} | ({"reason": args.reason} if args.reason else {})
    sent = room.send(
        agent.address, args.reason or f"{args.kind.capitalize()} what you are doing.", type="interrupt",
        cls="interrupt", priority="urgent", payload=payload,
    )  # fmt: skip
    greet(context)
    with room.write() as tx:
        note = {**payload, "by": by.name, "proven": False, "words": "stored", "message": sent.id}
        tx.append("agent.interrupted", agent.id, payload=note, role=by.role)
    return {"proven": False, "words": _how_told(agent.id, sent.reach[0], context), "message": sent.id}


def _how_told(agent: str, reach: str, context: "Context") -> str:
    """When it will know of the message that tells it to stop."""
    from postroom.room.berth import carrier

    if carrier(context.room().store.look(), agent) is not None:
        return "no bridge can stop it; its hooks show the message at its next tool"
    if reach == "live":
        return "no bridge can stop it; the program that listens gets the message"
    if reach in ("stored", "left"):
        return "nothing of it runs; it is told when it reads its mail"
    return "no bridge can stop it; it is told when it reads its mail"


def _cancel(agent: "Agent", by: "Operator", reason: str, context: "Context") -> dict[str, Any]:
    from postroom.room.cancel import cancel

    dropped = cancel(context.room(), agent, by, reason)
    return {"cancelled": [_document(mail) for mail in dropped]}


def _document(mail: "Mail") -> dict[str, str]:
    return {"id": mail.id, "type": mail.type, "sender": mail.sender}


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
