"""`postroom guide`."""

from typing import TYPE_CHECKING

from postroom.protocol.guide import GUIDE

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "The few lines an agent needs to know: how to read, answer and write, and manners. No room is needed."
EXAMPLES = """\
  postroom guide
  postroom guide >> AGENTS.md"""


def add_arguments(parser: "Parser") -> None:
    pass


def run(args: "argparse.Namespace", context: "Context") -> int:  # noqa: ARG001 - every command is given them
    if context.json:
        context.put_json({"guide": GUIDE})
    else:
        context.put(GUIDE)
    return 0
