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
ends all of an agent's, and of a person's the links to the page that were not opened yet. Inside an agent's
session only its own are given out.

Over HTTP it reaches as far as its scopes: `mail` (its own mailbox), `observe` (see the whole room), `operate`
(interrupt agents, see to dead letters). An agent's has `mail`, a person's all three, unless it is said."""
EXAMPLES = """\
  POSTROOM_TOKEN=$(postroom tokens issue worker) python3 worker.py
  postroom tokens issue human:ana --scope observe
  postroom tokens
  postroom tokens revoke worker"""

_ACTIONS = ("list", "issue", "revoke")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("agent", metavar="NAME", nargs="?", help="an agent, or human:NAME")
    parser.add_argument(
        "--scope", metavar="SCOPE", action="append", help="mail, observe or operate; may be given again"
    )


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.agent is None) != (args.action == "list"):
        wrong = f"too many arguments: {args.agent}" if args.agent else f"tokens {args.action} needs NAME"
        raise UsageError(wrong, hint="See: postroom help tokens")
    match args.action:
        case "issue":
            return _issue(args.agent, args.scope or [], context)
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


def _issue(name: str, scopes: list[str], context: "Context") -> int:
    from postroom.room.token import issue

    agent = _whose(name, context)
    _check(scopes, agent, context)
    secret = issue(context.room(), agent, scopes)
    context.stored(f"a token of {agent.called} is issued")
    if context.json:
        context.put_json({"agent": agent.address, "token": secret})
        return 0
    context.put(f"{secret}\n")
    context.note(f"Whoever has this in POSTROOM_TOKEN is {agent.called}. It is not shown again.")
    return 0


def _check(scopes: list[str], agent: "Agent", context: "Context") -> None:
    """What reaches beyond a mailbox is for a person to give."""
    from postroom.protocol.operation import MAIL, OPERATE, SCOPES
    from postroom.room.authority import person

    for scope in scopes:
        if scope not in SCOPES:
            raise UsageError(f"there is no scope {scope!r}", hint=f"There are: {', '.join(SCOPES)}.")
    if OPERATE in scopes and not agent.is_human:
        raise UsageError(f"{agent.called} is an agent, and only people operate", hint="Leave out operate.")
    if set(scopes) - {MAIL}:
        person(context.room(), "give out a token that reaches beyond a mailbox")


def _revoke(name: str, context: "Context") -> int:
    from postroom.room.token import revoke

    room = context.room()
    agent = _whose(name, context)
    revoked = revoke(room.home, agent)
    if revoked:
        context.stored(f"{count(revoked, 'token')} of {agent.called} revoked")
    if context.json:
        context.put_json({"agent": agent.address, "revoked": revoked})
    elif not context.quiet:
        context.put(f"{count(revoked, 'token')} of {agent.called} revoked\n")
        _tell_of_browsers(agent, context)
    return 0


def _tell_of_browsers(agent: "Agent", context: "Context") -> None:
    """Whoever had the token may have logged one in with it."""
    from postroom.server.login import lasting

    if agent.is_human and (browsers := lasting(context.room().home, agent.id)):
        stay = "stays" if browsers == 1 else "stay"
        context.note(
            f"{count(browsers, 'browser')} of {agent.called} {stay} logged in."
            " Log every browser out: postroom dashboard --forget"
        )


def _list(context: "Context") -> int:
    from postroom.clock import iso
    from postroom.room.token import issued

    room = context.room()
    look = room.store.look()
    found = [(agent, token) for token in issued(room.home) if (agent := look.agent(token.agent))]
    if context.json:
        rows = [
            {"agent": agent.address, "issued_at": iso(token.issued_at), "scopes": list(token.scopes)}
            for agent, token in found
        ]
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
