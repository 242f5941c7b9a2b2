"""`postroom tokens`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count
from postroom.errors import NotYourName, UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent

HELP = """\
Secrets that prove who calls, for programs that run in no agent's session: whoever has one in POSTROOM_TOKEN
is that agent, and its mail says `token`. `issue` prints a new one, which is shown only this once; `revoke`
ends all of an agent's. Inside an agent's session only its own are given out."""
EXAMPLES = """\
  POSTROOM_TOKEN=$(postroom tokens issue worker) python3 worker.py
  postroom tokens
  postroom tokens revoke worker"""

_ACTIONS = ("list", "issue", "revoke")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("agent", metavar="NAME", nargs="?", help="an agent, or human:NAME")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.agent is None) != (args.action == "list"):
        wrong = f"too many arguments: {args.agent}" if args.agent else f"tokens {args.action} needs NAME"
        raise UsageError(wrong, hint="See: postroom help tokens")
    match args.action:
        case "issue":
            return _issue(args.agent, context)
        case "revoke":
            return _revoke(args.agent, context)
        case _:
            return _list(context)


def _whose(name: str, context: "Context") -> "Agent":
    """Whom it is for: inside an agent's session, nobody but itself."""
    try:
        return context.room().who(name)
    except NotYourName as problem:
        if problem.facts.get("claimed") == name:
            problem.hint = "An agent can have only its own. For others, call from outside its session."
        raise


def _issue(name: str, context: "Context") -> int:
    from postroom.room.token import issue

    agent = _whose(name, context)
    secret = issue(context.room(), agent)
    if context.json:
        context.put_json({"agent": agent.address, "token": secret})
        return 0
    context.put(f"{secret}\n")
    context.note(f"Whoever has this in POSTROOM_TOKEN is {agent.called}. It is not shown again.")
    return 0


def _revoke(name: str, context: "Context") -> int:
    from postroom.room.token import revoke

    room = context.room()
    agent = _whose(name, context)
    revoked = revoke(room.home, agent)
    if context.json:
        context.put_json({"agent": agent.address, "revoked": revoked})
    elif not context.quiet:
        context.put(f"{count(revoked, 'token')} of {agent.called} revoked\n")
    return 0


def _list(context: "Context") -> int:
    from postroom.clock import iso
    from postroom.room.token import issued

    room = context.room()
    look = room.store.look()
    found = [(agent, token) for token in issued(room.home) if (agent := look.agent(token.agent))]
    if context.json:
        rows = [{"agent": agent.address, "issued_at": iso(token.issued_at)} for agent, token in found]
        context.put_json({"tokens": rows})
    elif found:
        from postroom.cli.moment import ago

        context.put_table(
            [(agent.called, ago(token.issued_at)) for agent, token in found],
            ("bold", "dim"), ("WHO", "ISSUED"),
        )  # fmt: skip
    else:
        context.note("There is no token yet. Make one: postroom tokens issue NAME")
    return 0
