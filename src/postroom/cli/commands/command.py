"""`postroom command`."""

from typing import TYPE_CHECKING, Any

from postroom.errors import Refused, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent

HELP = """\
Type one command of an operator into an agent's terminal, as it is, and submit it: /compact, /clear, a
sentence. It goes through the same gate as mail, so never into a dialog, over a draft, or into a screen that
is not understood; then it exits 1 and says why. It is a person's act, is noted in the log, and never comes
from mail. Once something was typed, it is not typed again."""
EXAMPLES = """\
  postroom command backend /compact
  postroom command backend /compact --wait 30s   # while it works, say
  postroom command backend - --lines <plan.txt
  postroom command backend "/model opus" --as human:ana --json"""

# What is in the way for a while, and not for good.
_PASSING = ("busy", "typing", "draft", "approval", "copy_mode", "background", "unknown_screen", "waking")
_FOR_PEOPLE = ("draft", "approval", "copy_mode", "background", "synchronised", "launch_blocked")  # to settle
_PAUSE = 0.5  # seconds between two tries


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="an agent that a bridge reaches")
    parser.add_argument("body", metavar="TEXT", help="what to type; - for standard input")
    parser.add_argument("--lines", action="store_true", help="it may have several lines")
    parser.add_argument("--wait", metavar="TIME", help="try again for so long while something is in the way")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from functools import partial

    room = context.room()
    text, seconds = _text(args, context), _seconds(args.wait)
    agent = room.known(args.name)
    if distant := context.elsewhere:
        try_once = partial(distant.call, "command", address=agent.address, text=text)
    else:
        try_once = _here(agent, text, context)
    done = _typed(try_once, seconds)
    if context.json:
        context.put_json({**done, "agent": agent.address, "text": text})
    else:
        context.put(f"{context.out.fold(_line(done), 2)}\n")
        if done["reason"].partition(":")[0] in _FOR_PEOPLE:
            context.note(f"  Look, and settle it there: postroom attach {agent.called}")
    return 0 if done["result"] in ("proven", "handed") else 1


def _text(args: "argparse.Namespace", context: "Context") -> str:
    from postroom.cli.content import body
    from postroom.protocol.plain import clean

    text = body(args.body, context).strip("\n")
    if not text.strip():
        raise UsageError("there is nothing to type", hint="See: postroom help command")
    if "\n" in text and not args.lines:
        raise Refused("a command is one line", hint="If it is meant to have several: --lines")
    if clean(text) != text:
        raise UsageError("it has characters that are no text, and are not typed", hint="Give plain text.")
    return text


def _seconds(wait: str | None) -> float:
    from postroom.cli.moment import span

    return span(wait) if wait else 0.0


def _check_bridge(home: str, agent: str, name: str) -> None:
    from postroom.bridges import manifest
    from postroom.errors import BridgeError

    if manifest.get(home, agent) is None:
        raise BridgeError(f"no bridge reaches {name}", hint="Take over the pane it runs in: postroom adopt")


def _here(agent: "Agent", text: str, context: "Context") -> "Callable[[], dict[str, Any]]":
    """By the daemon of this machine, which starts if none runs."""
    from postroom.cli.daemon import must_run
    from postroom.cli.person import claim
    from postroom.daemon.control import ask
    from postroom.room.authority import person

    room = context.room()
    claim(context)
    by = person(room, "type a command into an agent's terminal")
    _check_bridge(room.home, agent.id, agent.called)
    must_run(room.home)
    return lambda: ask(room.home, "command", agent=agent.id, text=text, by=by.name)


def _typed(try_once: "Callable[[], dict[str, Any]]", seconds: float) -> dict[str, Any]:
    """What came of it; tried again only where not a byte was written."""
    import time

    until = time.monotonic() + seconds
    while True:
        done = try_once()
        left = until - time.monotonic()
        if done["result"] != "refused" or done["reason"] not in _PASSING or left <= 0:
            return done
        time.sleep(min(_PAUSE, left))


def _line(done: dict[str, Any]) -> str:
    from postroom.cli.output import one_line

    head = "submitted" if done["result"] == "handed" else str(done["result"])
    why = f" ({done['reason']})" if done["reason"] else ""
    return one_line(f"{head}: {done['words']}{why}")
