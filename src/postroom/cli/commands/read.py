"""`postroom read`."""

from typing import TYPE_CHECKING, Any

from postroom.cli import framed, held
from postroom.errors import NotFound, PostroomError, UsageError
from postroom.model.ladder import State

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail

HELP = """\
Take the next message, or the one named, and print it. It counts as seen only after all of it was
written; if that fails, it waits for you again. With --frame it is printed as a model should get it: who
wrote it and what is expected, in a frame that no body can forge; with --all, as many as fit into one. Of a
very large body (see the setting spill_bytes) what is no terminal gets the beginning, and the path of a file
that has it all.

In JSON, the state is the one it has for whoever has read that: seen, if it was not
acknowledged before. Where there is no mail, read ends with exit code 3, and
read --all with 0."""
EXAMPLES = """\
  postroom read
  postroom read 5f0c9a1e
  postroom read --all --frame
  postroom read --all --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a message's id or its last 8 digits")
    parser.add_argument("--all", action="store_true", help="everything that waits, one after another")
    framed.add_arguments(parser)
    parser.add_argument("--whole", action="store_true", help="print a large body, too, from end to end")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.all and args.id:
        raise UsageError("read takes an ID or --all, not both", hint="See: postroom help read")
    framed.check(args)
    found = _take_framed(args, context) if args.frame else _take(args.id, args, context)
    if not found and not args.all:
        held.note(context)
        raise NotFound("no mail", hint="Sleep until some comes: postroom wait")
    if not found:
        context.note("No mail.")
    elif args.all and not args.frame:
        while _take(None, args, context, before="" if context.json else "\n"):
            pass
        context.note("No more mail.")
        held.note(context)
    return 0


def _take(ref: str | None, args: "argparse.Namespace", context: "Context", before: str = "") -> "list[Mail]":
    """One message: claimed, written out, and only then seen."""
    mail = context.room().take(id=ref, route="cli", handed=False)
    if mail is None:
        return []
    text = _text(mail, context, whole=args.whole or context.out.is_terminal)
    _hand_over([mail], before + text, context, [len(text)])
    return [mail]


def _take_framed(args: "argparse.Namespace", context: "Context") -> "list[Mail]":
    """One message, or as many as one frame holds, claimed and written out together."""
    room = context.room()
    if args.all:
        bundle = room.take_bundle(budget=framed.budget(args), route="cli")
        if bundle is None:
            return []
        _hand_over(bundle.mails, framed.text(bundle.frame, context), context, bundle.frame.lengths)
        return bundle.mails
    mail = room.take(id=args.id, route="cli", handed=False)
    if mail is None:
        return []
    try:
        frame = framed.made([mail], args, context)
    except PostroomError:
        room.give_up(mail)  # nobody has seen it
        raise
    _hand_over([mail], framed.text(frame, context), context, frame.lengths)
    return [mail]


def _hand_over(mails: "list[Mail]", text: str, context: "Context", lengths: list[int]) -> None:
    """Write out what was claimed, and settle it. What was taken before is not claimed, and so not settled."""
    room = context.room()
    shown = {mail.id: length for mail, length in zip(mails, lengths, strict=True)}
    claimed = [mail for mail in mails if mail.delivery.state is State.OFFERED]
    try:
        context.put(text)
    except (OSError, PostroomError):
        # Else a part may have been seen: when this process is gone, it returns with a label.
        for mail in claimed if not context.out.taken else ():
            room.give_up(mail)
        raise
    if claimed:
        room.settle_all(claimed, shown=[shown[mail.id] for mail in claimed])


def _text(mail: "Mail", context: "Context", *, whole: bool) -> str:
    if context.json:
        from postroom.protocol import wire

        return context.to_json(wire.mail(_as_read(mail)) | _paths(mail, context)) + "\n"
    from postroom.cli import letter

    path = None if whole else context.room().spill(mail)
    return letter.whole(mail.message, context, delivery=mail.delivery, spilled=path)


def _as_read(mail: "Mail") -> "Mail":
    """As it stands for whoever has all of the text: what was claimed is seen then."""
    claimed = mail.delivery.state is State.OFFERED
    return mail._replace(delivery=mail.delivery._replace(state=State.SEEN)) if claimed else mail


def _paths(mail: "Mail", context: "Context") -> "dict[str, list[dict[str, Any]]]":
    """Where the attachments are, for who takes the message."""
    if not mail.message.attachments:
        return {}
    return {"attachments": [found._asdict() for found in context.room().attachments(mail.id)]}
