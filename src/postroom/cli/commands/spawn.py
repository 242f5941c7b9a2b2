"""`postroom spawn`."""

import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.daemon.launch import Plan
    from postroom.model.message import Json
    from postroom.room.local import LocalRoom

HELP = """\
Start an agent under a bridge, so that its mail gets in: by default in a pane of tmux, in a session of its own
(--session), or where there is no tmux in a terminal that no window shows (--bridge pty). Waits until its
screen is one that is known. A prompt is typed when it is idle, as it is. What it asks before it starts
(whether to trust a folder) is reported, and never answered."""
EXAMPLES = """\
  postroom spawn backend -- claude
  postroom spawn reviewer --prompt review.md --cwd ../shop -- codex --full-auto
  postroom spawn tutor --pattern 'ask> ' -- ./tutor
  postroom spawn worker --bridge lines --restart on-failure -- ./worker.py
  postroom spawn planner --bridge acp -- gemini --acp
  postroom spawn fixer --bridge codex -- codex
  postroom spawn helper --prompt-text "Fix the failing test." --open -- aider"""

_WAIT = 60.0  # seconds
_PAUSE = 0.25
_INSTEAD = {  # of bridges by which nothing is started
    "files": "Give it a mailbox, and start it yourself: postroom mailbox add DIR NAME",
    "claude-team": "Have one that runs reached: postroom teams adopt NAME",
}
_PASSING = ("busy", "typing", "unknown_screen")  # what may be gone in a moment


def add_arguments(parser: "Parser") -> None:
    from postroom.cli import profile

    parser.add_argument("name", metavar="NAME", help="the agent; given an address if it has none")
    parser.add_argument("command", metavar="-- CMD", nargs="+", help="what to run")
    parser.add_argument("--prompt", metavar="FILE", help="a file to type as its first prompt")
    parser.add_argument("--prompt-text", metavar="TEXT", help="a text to type as its first prompt")
    parser.add_argument(
        "--bridge", metavar="BRIDGE", help="tmux, pty, lines, stream, acp, codex, opencode (tmux)"
    )
    profile.add_arguments(parser)
    parser.add_argument("--session", metavar="SESSION", help="the session of tmux in which it gets a window")
    parser.add_argument("--socket", metavar="PATH", help="of the tmux server (yours)")
    parser.add_argument("--cwd", metavar="DIR", help="where it works (here)")
    parser.add_argument(
        "--restart", choices=("never", "on-failure", "always"), default="never", metavar="WHEN",
        help="never, on-failure or always: when it is started again (never)",
    )  # fmt: skip
    parser.add_argument("--timeout", metavar="TIME", help="how long to wait for its first screen (60s)")
    parser.add_argument("--open", action="store_true", help="go there afterwards")
    parser.add_argument("--yes", action="store_true", help="use a profile of a config that lies in the room")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli import profile

    prompt = _prompt(args)
    _check_open(args, context)
    context.room(create=True)
    profile.check(args, context, "spawn")
    manifest = start(args.name, _plan(args, context), context)
    facts, code = _first_look(manifest, prompt, args, context)
    if context.json:
        context.put_json(facts)
    else:
        from postroom.cli.kept import line

        context.put(line(facts, context) + _about_prompt(facts, context))
        if facts["doing"] == "gone":
            context.note(_last_words(manifest, context), whole=True)
    if args.open and code == 0:
        from postroom.cli.commands.attach import go

        return go(manifest, context)
    return code


def _check_open(args: "argparse.Namespace", context: "Context") -> None:
    """Nobody goes where there is no terminal to go with."""
    import sys

    from postroom.errors import UsageError

    if args.open and (context.json or not (sys.stdin.isatty() and sys.stdout.isatty())):
        why = "--json" if context.json else "no terminal here"
        raise UsageError(
            f"--open goes to the agent, and there is {why}", hint=f"Go later: postroom attach {args.name}"
        )


def _prompt(args: "argparse.Namespace") -> str:
    from postroom.errors import UsageError

    if args.prompt and args.prompt_text:
        raise UsageError("say one of --prompt and --prompt-text", hint="See: postroom help spawn")
    if not args.prompt:
        return args.prompt_text or ""
    try:
        with open(args.prompt, encoding="utf-8") as file:
            return file.read().strip("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"--prompt: {args.prompt} cannot be read: {exc}", hint="Name a text file.") from None


def _plan(args: "argparse.Namespace", context: "Context") -> "Plan":
    from postroom.bridges.registry import usual
    from postroom.bridges.roster import programs
    from postroom.bridges.tmux.candidate import meant
    from postroom.cli.moment import span
    from postroom.cli.profile import said
    from postroom.daemon.launch import Plan

    found = meant(args.command, programs(context.room().declared.profiles))
    runtime, table = said(args, found, context)
    details: Json = {key: value for key in ("session", "socket") if (value := getattr(args, key))}
    if table:
        details["profile"] = table
    if args.timeout:
        details["opens_in"] = span(args.timeout)
    bridge = args.bridge or usual()
    where = os.path.abspath(os.path.expanduser(args.cwd or os.getcwd()))
    return Plan(bridge, args.command, where, dict(os.environ), runtime or found, details, args.restart)


def start(name: str, plan: "Plan", context: "Context") -> "Manifest":
    """Start an agent; raises `AlreadyRunning` where it runs. What its mail lacks is said."""
    from postroom.cli import daemon
    from postroom.room.authority import person

    room = context.room()
    person(room, "start an agent")
    _check_name(name, context)
    _check(plan)
    daemon.start(context)
    manifest, warning = _launched(name, plan, room)
    for text in (warning, _unknown(manifest), _unwired(plan, room.home)):
        if text:
            context.note(f"warning: {text}")
    return manifest


def _launched(name: str, plan: "Plan", room: "LocalRoom") -> "tuple[Manifest, str]":
    """Who was not here before is not here either if it cannot be started."""
    from postroom.daemon.launch import launch
    from postroom.errors import PostroomError
    from postroom.room.directory import agents_own, find

    look = room.store.look()
    before = find(look, agents_own(name), room.scope.find(look))
    agent = room.join(name)
    try:
        return launch(room, agent, plan)
    except PostroomError as exc:
        if (before is None or before.left_at is not None) and not exc.facts.get("silent"):
            room.leave(agent.address)
        raise


def _unknown(manifest: "Manifest") -> str:
    """That nobody knows what its terminal looks like, so that its mail waits."""
    from postroom.bridges.registry import capabilities
    from postroom.bridges.terminal.profile import check
    from postroom.errors import BridgeError

    if not capabilities(manifest.bridge).screen:
        return ""
    try:
        check(manifest.berth)
    except BridgeError as exc:
        return f"{exc}, so its mail waits. {exc.hint}"
    return ""


def _check(plan: "Plan") -> None:
    """Raises what is known to be missing before anything is started."""
    import shutil

    from postroom.bridges import registry
    from postroom.errors import BridgeError, InvalidValue, UsageError

    try:
        registry.load(plan.bridge)
    except BridgeError as exc:
        if "bridge" in exc.facts:  # there is none of that name
            raise InvalidValue(str(exc), hint=exc.hint) from None
        raise
    if plan.bridge in _INSTEAD:
        raise UsageError(f"nothing is started by the bridge {plan.bridge}", hint=_INSTEAD[plan.bridge])
    if not os.path.isdir(plan.cwd):
        raise UsageError(f"there is no directory {plan.cwd}", hint="Name one that is there: --cwd DIR")
    if shutil.which(plan.command[0], path=plan.env.get("PATH")) is None:
        raise BridgeError(f"there is no program {plan.command[0]!r}", hint="Is it on your PATH?")


def _check_name(name: str, context: "Context") -> None:
    """Raises `AlreadyRunning` where an agent of that name runs, and what is wrong with the name."""
    from postroom.bridges.adoption import running, whereabouts
    from postroom.errors import AlreadyRunning
    from postroom.room.directory import agents_own, find

    room, look = context.room(), context.room().store.look()
    agent = find(look, agents_own(name), room.scope.find(look))
    if agent is not None and (other := running(look, agent)):
        raise AlreadyRunning(
            f"{agent.address} runs already, {whereabouts(other)}", agent=agent.address,
            hint=f"Go to it: postroom attach {agent.called}",
        )  # fmt: skip


def _unwired(plan: "Plan", home: str) -> str:
    """That its runtime has hooks which could carry mail, and they are not set up."""
    from postroom.bridges.registry import capabilities
    from postroom.runtimes import NAMES, load
    from postroom.runtimes.wiring import of as wiring
    from postroom.setup.standing import is_left

    if plan.runtime not in NAMES or not capabilities(plan.bridge).screen:
        return ""
    runtime = load(plan.runtime)
    if not any(point.proven_by for point in runtime.points) or wiring(plan.runtime).instead:
        return ""
    if is_left(home, plan.runtime):
        return ""
    return (
        f"no hooks of {runtime.title} carry mail, so it is typed; set them up: postroom setup {plan.runtime}"
    )


# its first screen


def _first_look(
    manifest: "Manifest", prompt: str, args: "argparse.Namespace", context: "Context"
) -> tuple[dict[str, Any], int]:
    from postroom.cli.moment import span

    name = manifest.address
    is_known = not _unknown(manifest)
    until = time.monotonic() + (span(args.timeout) if args.timeout else _WAIT) * is_known
    try:
        facts = look_until(manifest, until, context, busy=not prompt)
        facts["prompt"] = _give(manifest, prompt, facts, until, context) if prompt else None
    except KeyboardInterrupt:
        context.note(f"{name} runs on. Go to it: postroom attach {name}; end it: postroom stop {name}")
        raise
    return facts, _code(facts, is_known=is_known)


def _code(facts: dict[str, Any], *, is_known: bool) -> int:
    if facts["doing"] == "gone":
        return 1
    is_blocked = facts["doing"] == "asking" or str(facts["reason"]).startswith("launch_blocked:")
    if facts["prompt"] is not None and not is_blocked and not facts["prompt"]["proven"]:
        return 1
    return 4 if facts["doing"] == "starting" and is_known else 0


def look_until(
    manifest: "Manifest", until: float, context: "Context", *, busy: bool = True
) -> dict[str, Any]:
    """What an agent does, as soon as that is known, or when the time is over."""
    from postroom.cli.kept import document, observed

    home, told = context.room().home, False
    while True:
        seen = observed(home, [manifest.agent], 5.0).get(manifest.agent)
        facts = document(context.room(), manifest, seen)
        if _is_over(manifest) or (seen is not None and _is_known(facts, busy)) or time.monotonic() > until:
            return facts | ({"doing": "gone", "next": None} if _is_over(manifest) else {})
        if not told:
            context.note(f"waiting for the first screen of {manifest.address} …")
            told = True
        time.sleep(_PAUSE)


def _is_over(manifest: "Manifest") -> bool:
    from postroom import host

    return host.is_gone(manifest.process)


def _is_known(facts: dict[str, Any], busy: bool) -> bool:
    if facts["mail"] == "handed":
        return True
    return facts["doing"] in ("idle", "asking", "gone") or (
        busy and facts["doing"] in ("processing", "stuck")
    )


def _give(
    manifest: "Manifest", prompt: str, facts: dict[str, Any], until: float, context: "Context"
) -> "Json":
    """Type the prompt, once it may be; what was proven."""
    from postroom.daemon.control import ask

    if facts["doing"] in ("gone", "asking"):
        return {"given": False, "proven": False, "words": ""}
    while True:
        home = context.room().home
        done: Json = ask(home, "command", agent=manifest.agent, text=prompt, by=_who(context))
        if done["result"] != "refused" or done["reason"] not in _PASSING or time.monotonic() > until:
            given = done["result"] != "refused"
            return {"given": given, "proven": done["result"] in ("proven", "handed"), "words": done["words"]}
        time.sleep(_PAUSE)


def _who(context: "Context") -> str:
    from postroom.room.authority import person

    return person(context.room(), "give a prompt").name


def _last_words(manifest: "Manifest", context: "Context") -> str:
    """What its pane shows after its end."""
    from postroom.bridges.tmux.server import at, target
    from postroom.cli.output import clean
    from postroom.errors import BridgeError

    if not manifest.pane:
        from postroom.cli.kept import afterwards

        return afterwards(context.room(), manifest.agent, manifest.address, manifest.bridge)
    look = f"See all of it: postroom screen {manifest.address}"
    where = target(manifest.pane)
    try:
        shown = at(where, ["capture-pane", "-p", "-S", "-20", "-t", where.id])
    except BridgeError as exc:
        return str(exc)
    last = [one for one in shown.splitlines() if one.strip()][-5:]
    return "\n".join([*(f"  {clean(text)}" for text in last), look])


def _about_prompt(facts: dict[str, Any], context: "Context") -> str:
    given = facts["prompt"]
    if given is None:
        return ""
    if given["given"]:
        text = f"the prompt: {given['words']}"
    else:
        why = f" ({given['words']})" if given["words"] else ""
        text = f"the prompt was not given{why}; give it: postroom command {facts['agent']} -"
    return f"  {context.out.fold(text, 4)}\n"
