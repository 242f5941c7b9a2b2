"""`postroom screen`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.cli.terminal import Named
    from postroom.errors import BridgeError

HELP = """\
What an agent's terminal shows now, or any pane of tmux: by the daemon for agents that a bridge reaches, else
from tmux itself. Looking changes nothing. What could harm your own terminal is left out."""
EXAMPLES = """\
  postroom screen backend
  postroom screen backend -n 100     # and 100 lines that have scrolled away
  postroom screen %3 --colour
  postroom screen work:1.0 --json"""


_RECENT = 500  # events


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME|PANE", help="an agent, or a pane: %%3, work:1.0")
    parser.add_argument("-n", "--lines", metavar="N", help="so many lines that have scrolled away, too")
    parser.add_argument("--colour", action="store_true", help="with its colours, where it is a pane")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.tmux.place import is_pane
    from postroom.cli.terminal import Named, harmless, named

    lines, distant = _lines(args.lines), None if is_pane(args.name) else context.elsewhere
    if distant:
        said = distant.call("screen", address=args.name, lines=lines)
        found, shown, by = Named(said["agent"]), said["text"], "daemon"
    else:
        found = named(args.name, context)
        shown, by = _shown(found, lines, args.colour, context)
    text = harmless(shown).rstrip()
    if context.json:
        pane = str(found.pane) if found.pane else None
        context.put_json({"name": found.name, "pane": pane, "by": by, "text": text})
    else:
        text = _trimmed(text)
        context.put(f"{text}\x1b[0m\n" if args.colour else f"{text}\n")
    return 0


def _trimmed(text: str) -> str:
    """Without the blank lines before and after."""
    from postroom.cli.output import unpainted

    lines = text.splitlines()
    shown = [at for at, line in enumerate(lines) if unpainted(line).strip()]
    return "\n".join(lines[shown[0] : shown[-1] + 1]) if shown else ""


def _lines(text: str | None) -> int:
    from postroom.errors import UsageError

    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        raise UsageError(f"-n takes a number of lines, not {text!r}", hint="See: postroom help screen")
    return int(text)


def _shown(found: "Named", lines: int, colour: bool, context: "Context") -> tuple[str, str]:
    """What is shown, and who told: the daemon, which alone sees its own children, or tmux."""
    from postroom.bridges.tmux.place import captured
    from postroom.errors import BridgeError, TimedOut, UnknownAgent
    from postroom.host import is_gone

    if found.agent is not None and found.manifest is not None and not (colour and found.pane):
        from postroom.cli.kept import pause
        from postroom.daemon.control import ask

        try:
            return ask(context.room().home, "screen", agent=found.agent.id, lines=lines), "daemon"
        except (BridgeError, TimedOut, UnknownAgent) as exc:
            if found.pane is None:
                raise _ended(found, exc, context) if is_gone(found.manifest.process) else exc from None
            if pause(str(exc).partition(": it ")[2]):
                context.note(str(exc))
    elif found.agent is not None and found.pane is None and _has_run(found.agent.id, context):
        raise _ended(found, f"{found.name} is not running", context)
    return captured(found.there, lines, colour=colour), "tmux"


def _has_run(agent: str, context: "Context") -> bool:
    """Whether somebody has started it here, not long ago."""
    recent = context.room().store.look().events_before("", _RECENT, agent)
    return any(event.type in ("agent.started", "agent.output") for event in recent)


def _ended(found: "Named", what: object, context: "Context") -> "BridgeError":
    from postroom.cli.kept import afterwards
    from postroom.errors import BridgeError

    agent = found.agent.id if found.agent else ""
    return BridgeError(str(what), hint=afterwards(context.room(), agent, found.name))
