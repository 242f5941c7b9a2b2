"""`postroom redact`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Take subject, body, payload, metadata and attachments out of one message: out of the store, its free pages,
its WAL and the journals. Hashes stay in their place, and its receipts. This cannot be undone."""
EXAMPLES = """\
  postroom redact 5f0c9a1e --yes"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("--yes", action="store_true", help="really redact")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.errors import UsageError
    from postroom.room.keep import redact

    message = context.room().receipts(args.id).message
    if not args.yes:
        raise UsageError(
            f"redacting {message.handle} takes out for good what {message.sender} wrote to {message.to}",
            hint=f"If so: postroom redact {message.handle} --yes",
        )
    done = redact(context.room(), args.id)
    if context.json:
        context.put_json(done._asdict())
        return 0
    if not context.quiet:
        context.put(f"{context.out.paint(done.message[-8:], 'cyan')}  redacted\n")
    if done.elsewhere:
        context.note("The same words are still in the room: another message says them too.")
    for copy in done.copies:
        context.note(f"{copy} is older, and still has the content.")
    context.note("Backups made before still have the content.")
    return 0
