"""`postroom groups`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The groups of this project: everyone with a role or a capability, as @role. Singular and plural are one,
and @role:live means only those who run now. @all is everyone, @up your supervisor; one:@role is whoever of
them claims it first."""
EXAMPLES = """\
  postroom groups
  postroom send @builders "The API froze today."
  postroom send one:@reviewers "Please review PR 12." --wait seen"""


def add_arguments(parser: "Parser") -> None:
    pass


def run(_: "argparse.Namespace", context: "Context") -> int:
    found = context.room().groups()
    if context.json:
        groups = [{"group": f"@{name}", "agents": [a.address for a in who]} for name, who in found.items()]
        context.put_json({"groups": groups})
    elif found:
        rows = [(f"@{name}", str(len(who)), ", ".join(a.name for a in who)) for name, who in found.items()]
        context.put_table(rows, ("bold", "cyan", ""), ("GROUP", "AGENTS", "WHO"))
    else:
        context.note("Nobody has a role or a capability yet. Give one: postroom join NAME --role builder")
    return 0
