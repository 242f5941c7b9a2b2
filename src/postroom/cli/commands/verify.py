"""`postroom verify`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count, one_line

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.room.verify import Verified

HELP = """\
Check the room: its file, the rules its state must keep, the quiet markers, that the store has all that the
journals have, and that the journals alone rebuild the same state. Exits 1 when something is wrong, and names
the command that helps. Changes nothing. What the journals do not have yet cannot be compared with them; to
write it: `postroom journal`."""
EXAMPLES = """\
  postroom verify
  postroom verify --quick
  postroom verify --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--deep", action="store_true", help="replay the journals however long they are")
    parser.add_argument("--quick", action="store_true", help="do not replay the journals")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.errors import UsageError
    from postroom.room.verify import verify

    if args.deep and args.quick:
        raise UsageError("verify is --deep or --quick, not both", hint="See: postroom help verify")
    found = verify(context.room(), deep=True if args.deep else False if args.quick else None)
    if context.json:
        lost = [one._asdict() for one in found.lost]
        context.put_json({"ok": not found.problems, **found._asdict(), "lost": lost})
    else:
        context.put(_text(found, context))
    return 1 if found.problems else 0


def _text(found: "Verified", context: "Context") -> str:
    paint = context.out.paint
    lines = [f"{paint('wrong', 'red')}    {one_line(problem)}" for problem in found.problems]
    lines += [f"{paint('skipped', 'yellow')}  {one_line(what)}" for what in found.skipped]
    verdict = paint("The room is sound.", "green", "bold")
    if found.problems:
        verdict = paint(f"{count(len(found.problems), 'problem')} found.", "red", "bold")
    lines.append(f"{verdict}  {count(len(found.checked), 'fact')} checked.")
    if found.digest:
        lines.append(paint(f"state {found.digest}", "dim"))
    return "\n".join(lines) + "\n"
