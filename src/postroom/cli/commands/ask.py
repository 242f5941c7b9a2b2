"""`postroom ask`."""

from typing import TYPE_CHECKING, cast

from postroom.cli import content
from postroom.cli.commands.send import add_content, content_options
from postroom.clock import wall

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Json, Mail

HELP = """\
Send a request and wait for its answer, which is printed. When no answer comes in time the request stays
on its way, and a late answer comes to your inbox, or a letter that says why none is to be expected. Only who
was asked can answer. Files may go with the request (--attach) and come with the answer; see: postroom
attachments."""
EXAMPLES = """\
  postroom ask builder "Which parser do you use?"
  answer=$(postroom ask reviewer "May I merge T-1?" --timeout 5m)
  postroom ask reviewer "What is wrong here?" --attach plot.png --timeout 10m
  postroom ask builder --payload '{"task_id": "T-1"}' "How far is it?" --json"""


_DENIED = 5  # refused by policy


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "to", metavar="TO", help="an agent, a person (human:ana), or several (@builders, one:@builders)"
    )
    parser.add_argument(
        "body", metavar="BODY", nargs="?", help="the question; - reads it from standard input"
    )
    add_content(parser, "request")
    parser.add_argument("--thread", metavar="ID", help="continue the conversation of that message")
    parser.add_argument("--correlation", metavar="ID", help="an ID of your choice; replies carry it too")
    parser.add_argument("--timeout", metavar="TIME", default="30s", help="how long to wait (30s)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import span

    timeout = span(args.timeout)
    options = content_options(args)
    if args.thread is not None:
        options["thread"] = args.thread
    if args.correlation is not None:
        options["correlation"] = args.correlation
    body = content.body(args.body, context)
    room, began = context.room(), wall()
    try:
        answer = room.ask(args.to, body, timeout=timeout, **options)
    except KeyboardInterrupt:
        _tell_what_stays(body, began, context)
        raise
    asked = (answer.message.reply_to or "")[-8:]
    context.stored(f"message {asked} is answered with {answer.handle}", answer.id)
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.mail(answer))
    else:
        context.put(_text(answer, context))
        context.note(f"{answer.sender} answered with {answer.handle}{_enclosed(answer) or '.'}")
    return _DENIED if _is_denial(answer) else 0


def _is_denial(answer: "Mail") -> bool:
    """Whether a gate was decided with `deny`: then nothing that waits for a yes may go on."""
    decision = (answer.payload or {}).get("decision")
    return isinstance(decision, dict) and str(cast("Json", decision).get("option")).casefold() == "deny"


def _enclosed(answer: "Mail") -> str:
    """What came with it, and how to get at it."""
    if not answer.message.attachments:
        return ""
    from postroom.cli.output import count

    files = count(len(answer.message.attachments), "attachment")
    return f" and {files}: postroom attachments {answer.handle}"


def _tell_what_stays(body: str, began: int, context: "Context") -> None:
    """Who gives up waiting has still sent the request."""
    from postroom.errors import PostroomError

    try:
        latest = context.room().sent(limit=1)
    except PostroomError:
        return
    for request, _ in latest:
        if request.created_at >= began and request.body == body:
            context.note(
                f"The request stays, and an answer comes to your inbox: postroom receipts {request.handle}"
            )


def _text(answer: "Mail", context: "Context") -> str:
    """The answer alone, so that a script can use it."""
    from postroom.cli.output import clean

    if answer.body:
        return clean(answer.body) + "\n"
    return (clean(answer.subject) or context.to_json(answer.payload)) + "\n"
