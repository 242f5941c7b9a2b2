"""`postroom send`."""

import os
from typing import TYPE_CHECKING

from postroom.errors import StoreReadOnly
from postroom.model.ladder import State

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Delivery, Sent
    from postroom.room.options import SendOptions

HELP = """\
Send a message. It is stored, durably, when this returns; the answer says who will get it and whether
anything of theirs is listening now. With --wait it says how far it got, on evidence."""
EXAMPLES = """\
  postroom send builder "Please build the parser."
  postroom send builder - --subject "Parser" <<'EOF'
  Several lines, and nothing in them is for the shell.
  EOF
  postroom send builder --type dispatch --payload '{"task_id": "T-1"}'
  postroom send builder "Are you there?" --wait seen --timeout 2m
  postroom send human:ana "Tests are red." --priority urgent --expires 1h
  postroom send @builders "The API is frozen."
  postroom send shop/@all "The API of the shop is frozen."
  postroom send one:@reviewers "Please review PR 12."
  postroom send --type broadcast "The API is frozen until Friday."
  postroom send --type escalation "I cannot reach the database."
  postroom send reviewer "See the plot." --attach plot.png --attach fit.py
  postroom send builder "How far is T-1?" --type request --correlation t-1
  postroom send builder "Stand-up." --at 2031-05-04T10:00"""

WAIT_SECONDS = 30.0


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "to",
        metavar="TO",
        nargs="?",
        help="an agent (builder, project/builder), a person (human:ana), a group (@builders, @all, @up,"
        " shop/@all of another project),"
        " whoever of one is first (one:@reviewers), a topic (topic:frontend);"
        " an escalation or a broadcast needs none",
    )
    parser.add_argument("body", metavar="BODY", nargs="?", help="the text; - reads it from standard input")
    add_content(parser, "note")
    parser.add_argument("--thread", metavar="ID", help="continue the conversation of that message")
    parser.add_argument("--reply-to", metavar="ID", help="the message this one answers")
    parser.add_argument(
        "--correlation", metavar="ID", help="an ID of your choice; replies carry it too; see: postroom wait"
    )
    parser.add_argument(
        "--wait", metavar="RUNG", help="wait until it is stored, offered, seen or acked by all"
    )
    parser.add_argument("--timeout", metavar="TIME", help="how long to --wait (30s)")
    parser.add_argument("--yes", action="store_true", help="send it though it reaches very many")


def add_content(parser: "Parser", type: str) -> None:
    """The options that say what a message is; `send`, `ask` and `reply` share them."""
    parser.add_argument(
        "--type", metavar="TYPE", help=f"what kind of message it is ({type}); see: postroom types"
    )
    parser.add_argument("--payload", metavar="JSON", help="a JSON object that goes with it")
    parser.add_argument("--subject", metavar="TEXT", help="what it is about, in one line")
    parser.add_argument("--priority", metavar="LEVEL", help="urgent, high, normal or low")
    parser.add_argument("--requires-ack", action="store_true", help="ask for an acknowledgement")
    parser.add_argument(
        "--after", metavar="WHEN", help="deliver it not before: 90s, 10m, 2h, 1d or a date and time"
    )
    parser.add_argument(
        "--at", metavar="TIME", help="the same by the clock: 2031-05-04T10:00, or 10:00 today"
    )
    parser.add_argument("--expires", metavar="WHEN", help="do not deliver it after that")
    parser.add_argument(
        "--attach", metavar="FILE", action="append", help="send a file with it; may be repeated"
    )
    parser.add_argument("--format", metavar="FORMAT", help="how the body is to be read: plain or markdown")
    parser.add_argument("--key", metavar="KEY", help="sending again with the same key stores nothing new")
    parser.add_argument("--metadata", metavar="JSON", help="a JSON object for your own use")
    parser.add_argument("--class", metavar="CLASS", dest="cls", help="turn, tool or interrupt")


def content_options(args: "argparse.Namespace") -> "SendOptions":
    """What the arguments say, as the room takes it: only what was given."""
    options: SendOptions = {}
    for name in ("type", "subject", "priority", "key", "cls", "format"):
        if getattr(args, name) is not None:
            options[name] = getattr(args, name)
    if args.payload is not None or args.metadata is not None:
        from postroom.cli.content import json_object

        options["payload"] = json_object("payload", args.payload)
        options["metadata"] = json_object("metadata", args.metadata)
    if "TRACEPARENT" in os.environ:
        from postroom.model.trace import carry

        found = os.environ.get
        options["metadata"] = carry(options.get("metadata"), found("TRACEPARENT"), found("TRACESTATE"))
    if args.requires_ack:
        options["requires_ack"] = True
    if args.attach is not None:
        options["attachments"] = args.attach
    if args.after is not None or args.expires is not None or args.at is not None:
        _add_times(options, args)
    return options


def _add_times(options: "SendOptions", args: "argparse.Namespace") -> None:
    from postroom.cli.moment import moment, when

    if args.at is not None and args.after is not None:
        from postroom.errors import UsageError

        raise UsageError("--at and --after say the same", hint="Give one of them.")
    if args.at is not None:
        options["after"] = moment(args.at)
    if args.after is not None:
        options["after"] = when(args.after)
    if args.expires is not None:
        options["expires"] = when(args.expires)


def run(args: "argparse.Namespace", context: "Context") -> int:
    timeout = _timeout(args)
    options = content_options(args)
    to, words = _whom(args, context)
    if args.thread is not None:
        options["thread"] = args.thread
    if args.reply_to is not None:
        options["reply_to"] = args.reply_to
    if args.correlation is not None:
        options["correlation"] = args.correlation
    body = words or ""
    if body == "-":
        from postroom.cli.content import standard_input

        body = standard_input(context)
    room = context.room()
    try:
        sent = room.send(to, body, confirm=args.yes, **options)
    except StoreReadOnly as problem:
        from postroom.cli.spooled import spool

        words = {"to": to, "body": body, "confirm": args.yes, "options": dict(options)}
        return spool(problem, args, context, "send", words)
    if room.scope.newcomer:
        from postroom.cli.person import greet

        greet(context)
    if args.wait is None:
        show(sent, context)
        return 0
    from postroom.cli.rung import wait

    context.put(_head(sent, context))  # who waits long, or is interrupted, knows what was sent
    sent, problem = wait(sent, args.wait, timeout, context)
    context.put(_state(sent, context))
    if problem is not None:
        raise problem
    return 0


def _whom(args: "argparse.Namespace", context: "Context") -> tuple[str, str | None]:
    """Return the address and the text. An escalation or a broadcast needs no address."""
    if args.to is None or args.body is not None or args.type not in ("escalation", "broadcast"):
        if args.to is None and args.type not in ("escalation", "broadcast"):
            from postroom.errors import UsageError

            hint = (
                'Say to whom: postroom send builder "Hello". Only an escalation and a broadcast need no TO.'
            )
            raise UsageError("send needs TO", hint=hint)
        return args.to or "", args.body
    from postroom.model.address import is_of_several
    from postroom.protocol.admission import is_everybody

    word: str = args.to
    if is_everybody(word) or (" " not in word and (is_of_several(word) or word.startswith("human:"))):
        return word, None  # written as only an address is
    if args.payload is not None and word.isidentifier():
        goes = "up (@up)" if args.type == "escalation" else "to @all"
        context.note(f"{word!r} is the text, and it goes {goes}. To write to {word}, give a text too.")
    return "", word


def _timeout(args: "argparse.Namespace") -> float:
    """Checked before anything is sent."""
    if args.wait is not None:
        from postroom.room.send import check_rung

        check_rung(args.wait)
    elif args.timeout is not None:
        from postroom.errors import UsageError

        raise UsageError("--timeout says how long to --wait, and there is no --wait", hint="Add: --wait seen")
    if args.timeout is None:
        return WAIT_SECONDS
    from postroom.cli.moment import span

    return span(args.timeout)


def show(sent: "Sent", context: "Context") -> None:
    """The id, and for each recipient its rung and how it can be reached."""
    context.put(_head(sent, context) + _state(sent, context))


def _why(delivery: "Delivery") -> str:
    """What keeps it on its rung."""
    reason = str(delivery.reason).replace("_", " ")
    if delivery.held and delivery.due_at is not None:
        from postroom.cli.moment import minute

        why = "" if delivery.reason == "scheduled" else f" ({reason})"
        return f", held until {minute(delivery.due_at)}{why}"
    return f" ({reason})" if delivery.reason else ""


def _head(sent: "Sent", context: "Context") -> str:
    """What was sent; in JSON that is told with all the rest."""
    if context.json:
        return ""
    if context.quiet:
        return f"{sent.id}\n"
    paint = context.out.paint
    verb = "already sent with that key" if sent.duplicate else "held back" if sent.is_held_back else "sent"
    return f"{paint(sent.message.handle, 'cyan')}  {verb}  {paint(sent.id, 'dim')}\n"


def _told(reach: str, to: str, sent: "Sent", context: "Context") -> str:
    """How somebody can be reached. It is stored, so who cannot be asked about is no reason to send again."""
    from postroom.cli.reach import told
    from postroom.errors import PostroomError

    try:
        return f", {told(reach, to, (sent.ways or {}).get(to), context)}"
    except PostroomError:
        return ""


def _state(sent: "Sent", context: "Context") -> str:
    """For each recipient its rung, and how it can be reached if it has yet to be."""
    if context.json:
        from postroom.protocol import wire

        return context.to_json(wire.sent(sent)) + "\n"
    if context.quiet:
        return ""
    paint, lines = context.out.paint, list[str]()
    for delivery, reach in zip(sent.deliveries, sent.reach, strict=True):
        text = f"{delivery.state}{_why(delivery)}"
        if delivery.state in (State.STORED, State.OFFERED):
            to = delivery.recipient_id
            text += _told(reach, to, sent, context)
        name = delivery.recipient
        told_of = context.out.fold(f"{name}: {text}", 4).removeprefix(name)
        lines.append(f"  {paint(name, 'bold')}{told_of}\n")
    if sent.note:
        from postroom.room.direction import BEGINNING

        for note in sent.note.splitlines():
            if note.startswith(BEGINNING):
                context.note(note)
            else:
                lines.append(f"  {paint(note, 'yellow')}\n")
    return "".join(lines)
