"""`postroom demo`."""

from typing import TYPE_CHECKING, Any

from postroom.cli.output import count

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Three small agents, each a process of its own, work together in a scratch room. One of them is killed with
a message in its hands, and starts again. You see every message climb its ladder, and at the end what
became of each. Takes about ten seconds, and touches nothing of yours."""
EXAMPLES = """\
  postroom demo
  postroom demo --fast --json
  postroom demo --keep          # then look around: postroom log --home DIR"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--fast", action="store_true", help="without pauses for people")
    parser.add_argument("--keep", action="store_true", help="leave the scratch room in place")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.demo.show import run as play

    report = play(Silent() if context.json else context.out, fast=args.fast, keep=args.keep)
    if context.json:
        context.put_json(report)
    else:
        context.put(_summary(report, context))
    return 1 if report["lost"] else 0


class Silent:
    """Where nothing is to be seen."""

    is_terminal = colour = utf8 = False
    rows = columns = 0

    def paint(self, text: str, *styles: str) -> str:
        return text

    def write(self, text: str) -> None: ...


def _summary(report: dict[str, Any], context: "Context") -> str:
    paint, lost, again = context.out.paint, report["lost"], report["offered_again"]
    verdict = paint("Nothing was lost.", "green", "bold")
    if lost:
        verdict = paint(f"{count(lost, 'message')} not delivered.", "red", "bold")
    facts = f"{count(report['messages'], 'message')}, {report['acked']} acknowledged"
    lines = [
        "",
        f"{verdict}  {facts}, {count(report['events'], 'event')} on record, {report['seconds']:.1f} s.",
    ]
    for one in again:
        times = "twice" if len(one["attempts"]) == 2 else f"{len(one['attempts'])} times"
        lines.append(f"{paint(one['subject'], 'bold')} ({one['handle']}) was offered {times}:")
        for attempt in one["attempts"]:
            style = "green" if attempt["outcome"] == "proven" else "red"
            outcome = paint(attempt["outcome"].ljust(8), style)
            lines.append(
                f"  attempt {attempt['n']}  process {attempt['process']}  {outcome}  {attempt['why']}"
            )
    lines.append(f"None of the other {report['messages'] - len(again)} was shown twice.")
    if report["home"]:
        lines.append(f"The room is still there: postroom log --home {report['home']}")
    return "\n".join(lines) + "\n"
