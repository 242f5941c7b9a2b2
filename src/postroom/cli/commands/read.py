"""`postroom read`."""

from typing import TYPE_CHECKING, Any

from postroom.errors import NotFound, PostroomError, StoreError, UsageError
from postroom.model.ladder import State

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail

HELP = """\
Take the next message, or the one named, and print it. It counts as seen only after all of it was
written; if that fails, it waits for you again. Of a very large body (see the setting spill_bytes) what is no
terminal gets the beginning, and the path of a file that has it all."""
EXAMPLES = """\
  postroom read
  postroom read 5f0c9a1e
  postroom read --all --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a message's id or its last 8 digits")
    parser.add_argument("--all", action="store_true", help="everything that waits, one after another")
    parser.add_argument("--whole", action="store_true", help="print a large body, too, from end to end")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.all and args.id:
        raise UsageError("read takes an ID or --all, not both", hint="See: postroom help read")
    found = _take(args.id, args, context)
    if not found and not args.all:
        raise NotFound("no mail", hint="Sleep until some comes: postroom wait")
    while found and args.all:
        found = _take(None, args, context, before="" if context.json else "\n")
    if args.all and found is None:
        context.note("No more mail.")
    return 0


def _take(ref: str | None, args: "argparse.Namespace", context: "Context", before: str = "") -> "Mail | None":
    """One message: claimed, written out, and only then seen."""
    room = context.room()
    mail = room.take(id=ref, route="cli", handed=False)
    if mail is None:
        return None
    text = before + _text(mail, context, whole=args.whole or context.out.is_terminal)
    if mail.delivery.state is not State.OFFERED:
        context.put(text)  # taken before: nothing is claimed, so nothing is settled
        return mail
    try:
        context.put(text)
    except (OSError, PostroomError):
        if not context.out.taken:
            room.give_up(
                mail
            )  # else a part may have been seen: when this process is gone, it returns with a label
        raise
    room.settle(mail)
    return mail


def _text(mail: "Mail", context: "Context", *, whole: bool) -> str:
    if context.json:
        from postroom.protocol import wire

        return context.to_json(wire.mail(mail) | _paths(mail, context)) + "\n"
    from postroom.cli import letter

    path = None if whole else _spilled(mail, context)
    return letter.whole(mail.message, context, shown_before=mail.shown_before, spilled=path)


def _spilled(mail: "Mail", context: "Context") -> str | None:
    """Where a large body is; where no file can be written, it is shown whole."""
    try:
        return context.room().spill(mail)
    except StoreError:
        return None


def _paths(mail: "Mail", context: "Context") -> "dict[str, list[dict[str, Any]]]":
    """Where the attachments are, for who takes the message."""
    if not mail.message.attachments:
        return {}
    return {"attachments": [found._asdict() for found in context.room().attachments(mail.id)]}
