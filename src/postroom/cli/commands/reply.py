"""`postroom reply`."""

from typing import TYPE_CHECKING, cast

from postroom.cli import content
from postroom.cli.commands.send import add_content, content_options, show
from postroom.errors import StoreReadOnly

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Sent
    from postroom.room.options import ReplyOptions

HELP = "Answer a message, to its sender and in its thread. That also acknowledges it, in the same step."
EXAMPLES = """\
  postroom reply 5f0c9a1e "Done."
  postroom reply 5f0c9a1e - <<'EOF'
  The parser is built. `make test` passes.
  EOF
  postroom reply 5f0c9a1e Done --type worker_done --payload '{"task_id":"T-1"}'"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("body", metavar="BODY", nargs="?", help="the answer; - reads it from standard input")
    add_content(parser, "response")


def run(args: "argparse.Namespace", context: "Context") -> int:
    options = cast("ReplyOptions", content_options(args))
    body = content.body(args.body, context)
    try:
        sent = context.room().reply(args.id, body, **options)
    except StoreReadOnly as problem:
        from postroom.cli.spooled import spool

        words = {"ref": args.id, "body": body, "options": dict(options)}
        return spool(problem, args, context, "reply", words)
    undecided = sent.note if _decides_nothing(sent) else ""
    show(sent if context.json or not undecided else sent._replace(note=""), context)
    if undecided:
        context.note(f"Sent, but {undecided}")
    return 0


def _decides_nothing(sent: "Sent") -> bool:
    if not sent.note:
        return False
    from postroom.room.denial import UNDECIDED

    return sent.note.startswith(UNDECIDED)
