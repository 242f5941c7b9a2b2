"""`postroom teams`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.bridges.team.roster import Team
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The teams of Claude Code that run here, and who is in them. `adopt` has a member reached by mail, which is put
into its inbox, a file that nothing documents. That is off unless the config says claude_teams = "on", and is
called unverified wherever it shows: that the file was emptied is all that can be known. Let go of it again
with `postroom stop NAME`. Only a person may adopt."""
EXAMPLES = """\
  postroom teams
  postroom teams adopt session-1f0c9a2e/team-lead --as lead"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="list|adopt", nargs="?", default="list", choices=("list", "adopt"))
    parser.add_argument("member", metavar="TEAM/MEMBER", nargs="?", help="whom to have reached")


def run(args: "argparse.Namespace", context: "Context") -> int:
    return _adopt(args, context) if args.action == "adopt" else _list(context)


def _list(context: "Context") -> int:
    from postroom.bridges.team.roster import teams

    found = teams()
    if context.json:
        context.put_json({"teams": [_facts(team) for team in found]})
    elif found:
        rows = [
            (f"{team.name}/{member}", "runs" if team.is_live else "ended", team.cwd)
            for team in found
            for member in team.members
        ]
        context.put_table(rows, ("bold",), ("MEMBER", "LEAD", "DIRECTORY"))
    else:
        context.note("There is no team of Claude Code here.")
    return 0


def _facts(team: "Team") -> dict[str, Any]:
    return {"team": team.name, "members": team.members, "live": team.is_live, "directory": team.cwd or None}


def _adopt(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.team import bridge
    from postroom.config import config_path
    from postroom.errors import Refused
    from postroom.room.authority import person

    name, args.caller = args.caller or "", None  # here, --as says what it is called
    room = context.room(create=True)
    person(room, "adopt a member of a team")
    if not bridge.is_on(room.home):
        where = config_path(room.home)
        raise Refused(bridge.OFF, hint=bridge.HINT.replace("the config", where))
    team, member = _found(args.member or "")
    manifest = _manifest(name or member, team, member, context)
    if context.json:
        context.put_json({"agent": manifest.address, "bridge": manifest.bridge, "verified": False})
    else:
        context.put(f"{context.out.paint(manifest.address, 'bold')} is reached by its inbox (unverified)\n")
    return 0


def _found(word: str) -> "tuple[Team, str]":
    from postroom.bridges.team.roster import teams
    from postroom.errors import NotFound, UsageError

    name, slash, member = word.partition("/")
    if not slash:
        raise UsageError("say whom: TEAM/MEMBER", hint="See them: postroom teams")
    for team in teams():
        if team.name == name and member in team.members and team.is_live:
            return team, member
        if team.name == name and member in team.members:
            raise NotFound(
                f"the lead of {name} has ended, so nobody reads that inbox", hint="See them: postroom teams"
            )
    raise NotFound(f"there is no {word} in a team that runs", hint="See them: postroom teams")


def _manifest(name: str, team: "Team", member: str, context: "Context") -> "Manifest":
    from postroom.bridges import manifest as manifests
    from postroom.bridges.adoption import occupy, running, whereabouts
    from postroom.bridges.manifest import Manifest
    from postroom.bridges.team.bridge import NAME
    from postroom.cli import daemon
    from postroom.daemon.launch import keep
    from postroom.errors import AlreadyRunning

    room = context.room()
    agent = room.join(name)
    other = running(room.store.look(), agent)
    if other is not None and other.runtime != NAME:
        raise AlreadyRunning(
            f"{agent.address} runs already, {whereabouts(other)}", agent=agent.address,
            hint="Give it another name: --as NAME",
        )  # fmt: skip
    details = {
        "home": room.home, "team": team.path, "inbox": team.inbox(member), "place": f"{team.name}/{member}",
        "program": "claude",
    }  # fmt: skip
    manifest = Manifest(
        agent.id, agent.address, NAME, team.process, runtime="claude", details=details, cwd=team.cwd
    )
    daemon.start(context)
    manifests.put(room.home, manifest)
    occupy(room, agent, manifest)
    keep(room.home)
    return manifest
