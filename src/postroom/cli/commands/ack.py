"""`postroom ack`."""

from typing import TYPE_CHECKING

from postroom.errors import StoreReadOnly

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Delivery

HELP = "Say that you have a message. Its sender sees `acked`; saying it twice is harmless."
EXAMPLES = """\
  postroom ack 5f0c9a1e"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    try:
        delivery = context.room().ack(args.id)
    except StoreReadOnly as problem:
        from postroom.cli.spooled import spool

        return spool(problem, args, context, "ack", {"ref": args.id})
    show(delivery, context, note := _note(delivery, context))
    if note:
        context.note(f"Acknowledged, but {note}")
    return 0


def _note(delivery: "Delivery", context: "Context") -> str:
    """What whoever acknowledges a question should know."""
    room = context.room()
    message = room.message(delivery.message)
    if message.type == "request":
        return f"this answers nothing; to answer: postroom reply {message.handle} - <<'EOF'"
    if message.type != "decision_gate":
        return ""
    from postroom.room.denial import undecided

    return undecided(room.store.look(), message, room.now())


def show(delivery: "Delivery", context: "Context", note: str = "") -> None:
    """Where a delivery stands now."""
    if context.json:
        from postroom.protocol import wire

        document = wire.delivery(delivery)
        context.put_json({**document, "note": note} if note else document)
    elif not context.quiet:
        context.put(f"{context.out.paint(delivery.message[-8:], 'cyan')}  {delivery.state}\n")
