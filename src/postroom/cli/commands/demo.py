"""`postroom demo`."""

from typing import TYPE_CHECKING, Any

from postroom.cli.output import count
from postroom.home import at_home

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.demo.pane import Act
    from postroom.room.local import LocalRoom

HELP = """\
Four small agents, each a process of its own, work together in a scratch room. They write to one another, to
a group (@all), to a topic (topic:builds) and to whichever reviewer claims it first (one:@reviewers), and ask
and answer. One of them is killed with a message in its hands, and starts again. You see every message climb
its ladder, and at the end what became of each. Where tmux is installed, a program in a real pane gets mail,
too, by being typed to. Takes about twelve seconds, and touches nothing of yours. At a terminal it then shows
the page of its room, with all of that conversation, until you press Enter; elsewhere only with --page, until
it is ended or its standard input is."""
EXAMPLES = """\
  postroom demo
  postroom demo --fast --json
  postroom demo --fast --page   # the page, at once
  postroom demo --keep          # then look around: postroom --home DIR log"""


_TUTORIAL = "docs/tutorial/first-room.md"


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--fast", action="store_true", help="without pauses for people")
    parser.add_argument("--keep", action="store_true", help="leave the scratch room in place")
    parser.add_argument("--page", action="store_true", help="show its page at the end, terminal or not")


def run(args: "argparse.Namespace", context: "Context") -> int:
    import sys

    from postroom.cli.person import login
    from postroom.demo.show import run as play

    person = login() or "human:you"

    def after(room: "LocalRoom", report: dict[str, Any], act: "Act | None") -> None:
        if context.json:
            context.put_json(report)
            return
        shows = args.page or (context.out.is_terminal and sys.stdin.isatty())
        look = "" if shows else f"See it on a page, in a terminal: {called()} demo --fast --page"
        context.put(_summary(report, look, context))
        if shows:
            _show_page(room, person, act, context)

    out = Silent() if context.json else context.out
    report = play(out, person, fast=args.fast, keep=args.keep, after=after)
    return 1 if report["lost"] else 0


def _show_page(room: "LocalRoom", person: str, act: "Act | None", context: "Context") -> None:
    """Until somebody has seen enough, or a signal ends it: the room is removed after it, either way."""
    import signal
    import sys
    from contextlib import suppress

    from postroom.demo.page import Page
    from postroom.errors import TimedOut
    from postroom.server.port import NoBridges

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)
    with Page(room, person, act or NoBridges()) as page, suppress(KeyboardInterrupt):
        context.put(f"\nThe same on a page:\n{context.out.paint(page.url, 'cyan')}\n")
        if act is not None:
            with suppress(TimedOut):  # a page without it is a page
                act.ask_again()
            context.note(f"There, {act.name} asks something in its pane. Answer it:")
            context.note(f"  {at_home(f'{called()} attach {act.address}', room.home)}", whole=True)
        context.note("The link works once. Press Enter to end.")
        sys.stdin.readline()


class Silent:
    """Where nothing is to be seen."""

    is_terminal = colour = utf8 = False
    rows = columns = 0

    def paint(self, text: str, *styles: str) -> str:
        return text

    def write(self, text: str) -> None: ...


def _summary(report: dict[str, Any], look: str, context: "Context") -> str:
    paint, lost, again = context.out.paint, report["lost"], report["offered_again"]
    verdict = paint("Nothing was lost.", "green", "bold")
    if lost:
        verdict = paint(f"{lost} of {report['deliveries']} deliveries did not arrive.", "red", "bold")
    facts = f"{count(report['messages'], 'message')}, {report['deliveries']} deliveries"
    lines = [
        "",
        f"{verdict}  {facts}, {count(report['events'], 'event')} on record, {report['seconds']:.1f} s.",
        "You saw:",
    ]
    lines += [f"  {kind:<10}{paint(to.ljust(14), 'bold')}  {what}" for kind, to, what in _kinds(report)]
    for one in again:
        times = "twice" if len(one["attempts"]) == 2 else f"{len(one['attempts'])} times"
        lines.append(f"{paint(one['subject'], 'bold')} ({one['handle']}) was offered {times}:")
        wide = max(len(str(attempt["process"])) for attempt in one["attempts"])
        for attempt in one["attempts"]:
            style = "green" if attempt["outcome"] == "proven" else "red"
            outcome = paint(attempt["outcome"].ljust(8), style)
            process = f"process {attempt['process']:<{wide}}"
            lines.append(f"  attempt {attempt['n']}  {process}  {outcome}  {attempt['why']}")
    others = report["messages"] - len({one["id"] for one in again})
    lines.append(f"None of the other {others} was shown twice.")
    if report["home"]:
        lines.append(f"The room is still there: {at_home(f'{called()} log', report['home'])}")
    return "\n".join([*lines, *filter(None, [look]), _next()]) + "\n"


def _next() -> str:
    """What to do after it; the tutorial, where it is at hand."""
    import os

    step = f"Next: {called()} help"
    return f"{step}, and the tutorial, {_TUTORIAL}" if os.path.exists(_TUTORIAL) else step


def called() -> str:
    """How whoever watches can call this same program."""
    import os
    import shutil
    import sys

    program = os.path.abspath(sys.argv[0])
    if os.path.basename(program) != "postroom":
        return f"{os.path.basename(sys.executable)} -m postroom"
    if shutil.which("postroom") == program:
        return "postroom"
    near = os.path.relpath(program)
    return program if near.startswith(os.pardir) else near


def _kinds(report: dict[str, Any]) -> "Iterator[tuple[str, str, str]]":
    """Each kind of address that was written to, an address, and what became of what was sent there."""
    for kind, entries in (("group", report["groups"]), ("topic", report["topics"])):
        for to in dict.fromkeys(entry["to"] for entry in entries):
            yield kind, to, _spread([entry for entry in entries if entry["to"] == to])
    for entry in report["one_of"]:
        yield "one-of", entry["to"], _claim(entry)
    several = {entry["id"] for entry in report["one_of"]}
    for entry in report["questions"]:
        if entry["id"] not in several:
            answers = " and ".join(f"“{answer['subject']}”" for answer in entry["answers"])
            yield "question", entry["to"], f"“{entry['subject']}” answered: {answers or 'never'}"

    if report["pane"]:
        pane = report["pane"]
        yield "pane", pane["agent"], f"“{pane['subject']}” waited while it asked; typed: {pane['state']}"


def _claim(entry: dict[str, Any]) -> str:
    """Who of many has it, and from whom it was withdrawn therefore."""
    took = [name for name, state in entry["recipients"].items() if state in ("seen", "acked")]
    if not took:
        return f"nobody took “{entry['subject']}”"
    others = ", ".join(name for name, state in entry["recipients"].items() if state == "withdrawn")
    return f"{took[0]} took “{entry['subject']}”" + (f", {others} heard nothing" if others else "")


def _spread(entries: list[dict[str, Any]]) -> str:
    """How many of those to whom it was sent have acknowledged it."""
    names = dict.fromkeys(name for entry in entries for name in entry["recipients"])
    states = [state for entry in entries for state in entry["recipients"].values()]
    acked = f"{states.count('acked')} of {len(states)} acked"
    return f"{count(len(entries), 'message')} to {', '.join(names)}: {acked}"
