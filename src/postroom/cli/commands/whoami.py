"""`postroom whoami`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.distant import Distant
    from postroom.cli.parser import Parser

HELP = """\
Who you are here: the address in whose name this shell writes and reads, how that is known, and the project in
which you are. In the shell of an agent its session tells. At a terminal you are human:LOGIN by your login
name, unless --as or POSTROOM_AGENT says otherwise. What has no terminal has to say who it is. Nothing is
written."""
EXAMPLES = """\
  postroom whoami
  postroom whoami --as human:ana
  postroom whoami --json"""

_BECAUSE = {
    "terminal": "a person at a terminal, with no agent around",
    "unverified": "that is only said, by --as or POSTROOM_AGENT",
    "token": "POSTROOM_TOKEN is its own",
}


def add_arguments(_: "Parser") -> None:
    pass


def run(_: "argparse.Namespace", context: "Context") -> int:
    if distant := context.elsewhere:
        found = _elsewhere(distant)
    else:
        from postroom.cli.person import claim

        claim(context)
        found = _found(context)
    if context.json:
        context.put_json(found)
        return 0
    paint = context.out.paint
    context.put(f"{paint(found['address'], 'bold')}  {found['verified']}: {found['because']}\n")
    context.put(f"{paint('project', 'dim')}  {found['project']}\n")
    if not found["known"]:
        called = found["address"]
        context.note(f"It has no address here yet, and gets one when it writes, or: postroom join {called}")
    if found["verified"] == "terminal":
        context.note("To be somebody else for one command: --as human:NAME, or --as AGENT")
    return 0


def _elsewhere(room: "Distant") -> dict[str, Any]:
    """As the daemon there has it."""
    from postroom.errors import NoIdentity

    said = room.call("me")
    if not said["agent"]:
        raise NoIdentity
    how = {"address": said["agent"], "known": True, "verified": said["verified"], "session": None}
    because = _BECAUSE.get(said["verified"], f"so says its daemon, {room.url}")
    return {**how, "because": because, "project": said["project"]}


def _found(context: "Context") -> dict[str, Any]:
    from postroom.errors import NoIdentity
    from postroom.room import directory
    from postroom.room.identity import UNVERIFIED, Witness, of_newcomer

    room = context.room()
    look, witness = room.store.look(), room.scope.witness or Witness()
    agent = directory.evident(look, room.agent, room.scope)
    if agent is None and not room.agent:
        raise NoIdentity
    project = room.scope.find(look)
    claimed = directory.personal(room.agent or "")
    agent = agent or directory.find(look, claimed, project)
    verified = witness.origin(look, agent)[0] if agent else of_newcomer(claimed)
    evidence = witness.find(look)
    is_proven = evidence is not None and verified not in ("terminal", UNVERIFIED)
    return {
        "address": agent.address if agent else str(claimed),
        "known": agent is not None,
        "verified": verified,
        "because": evidence.because if evidence and is_proven else _BECAUSE.get(verified, verified),
        "session": (evidence.session or None) if evidence and is_proven else None,
        "project": project,
    }
