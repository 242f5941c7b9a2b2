"""`postroom threads`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "The conversations you have a part in, the latest first: who takes part, and what is unread in each."
EXAMPLES = """\
  postroom threads
  postroom threads --as planner --limit 5"""


def add_arguments(parser: "Parser") -> None:
    parser.add_limit(20)


def run(args: "argparse.Namespace", context: "Context") -> int:
    found = context.room().threads(limit=args.limit)
    if context.json:
        from postroom.protocol import wire

        context.put_json({"threads": [wire.thread(thread) for thread in found]})
    elif found:
        from postroom.cli.moment import age
        from postroom.cli.output import one_line

        rows = [
            (t.id[-8:], ", ".join(name.rpartition("/")[2] for name in t.participants), str(t.messages),
             str(t.unread), age(t.latest.said_at), one_line(t.summary))
            for t in found
        ]  # fmt: skip
        head = ("ID", "WHO", "MESSAGES", "UNREAD", "LATEST", "ABOUT")
        context.put_table(rows, ("cyan", "bold", "", "yellow", "dim"), head)
    else:
        context.note("You have had no part in any conversation lately.")
    return 0
