"""`postroom idle`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Say that you have nothing more to do for now, at the end of a turn. Whoever asked you something that you have
seen, and neither answered nor acknowledged, is told so, once. You may still answer."""
EXAMPLES = """\
  postroom idle
  postroom idle --as builder"""


def add_arguments(_: "Parser") -> None:
    pass


def run(_: "argparse.Namespace", context: "Context") -> int:
    told = context.room().idle()
    if context.json:
        context.put_json({"told": [{"id": m.id, "handle": m.handle, "sender": m.sender} for m in told]})
        return 0
    from postroom.cli.letter import gist

    rows = [(m.handle, m.sender, gist(m)) for m in told]
    if rows:
        context.put_table(rows, ("cyan", "bold"), ("ID", "TOLD", "WAITS FOR AN ANSWER TO"))
        context.note("To answer: postroom reply ID - <<'EOF'")
    else:
        context.note("Nobody had to be told.")
    return 0
