"""`postroom search`."""

import time
from typing import TYPE_CHECKING

from postroom.cli.output import count, one_line

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.query import Hit, Snippet

HELP = """\
Find messages by what they say: subject, body and payload, newest first. A query is words, which must all be
there; "a phrase" in quotes; begin* for a beginning; -word for what must not be there; this OR that. Case and
accents do not count. Looking marks nothing."""
EXAMPLES = """\
  postroom search 'parser -test'
  postroom search '"merge conflict" OR rebase*' --from builder --since 2d
  postroom search T-42 --type request --state stored --json"""

_FILTERS = ("from", "to", "type", "thread", "since", "until", "state")
_EVERY = 1.0  # seconds between two words about progress


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("query", metavar="QUERY", help="what to search for, in quotes if it is several words")
    parser.add_argument("--from", dest="sender", metavar="NAME", help="only what somebody wrote")
    parser.add_argument("--to", metavar="NAME", help="only what was for somebody")
    parser.add_argument("--type", metavar="TYPE", help="only messages of a type")
    parser.add_argument("--thread", metavar="ID", help="only the conversation a message belongs to")
    parser.add_argument("--since", metavar="WHEN", help="only what was sent since then: 2d (ago), or a date")
    parser.add_argument("--until", metavar="WHEN", help="only what was sent until then")
    parser.add_argument(
        "--state", metavar="STATE", help="only what stands on this rung for somebody, or ended so"
    )
    parser.add_limit(20)


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import past

    room = context.room()
    if not room.is_indexed:
        context.note("This Python's SQLite has no FTS5: every message is looked through, which takes longer.")
    hits = room.search(
        args.query, limit=args.limit, sender=args.sender, to=args.to, type=args.type, thread=args.thread,
        since=past(args.since) if args.since else None, until=past(args.until) if args.until else None,
        state=args.state, say=Progress(context),
    )  # fmt: skip
    if context.json:
        context.put_json({"query": args.query, "messages": [_document(hit) for hit in hits]})
    elif hits:
        context.put("".join(_lines(hit, context) for hit in hits))
    else:
        context.note(f"Nothing was found.{_hint(args.query)}")
    return 0


def _hint(query: str) -> str:
    """What to write instead of a filter that stands in the query, where it is but words."""
    import shlex

    for word in query.split():
        name, colon, value = word.partition(":")
        if colon and value and name in _FILTERS:
            option = f"--{name} {shlex.quote(one_line(value))}"
            return f" In a query {name}: is only a word; the filter is {option}"
    return ""


class Progress:
    """Tells on standard error how the index grows, once that takes longer than a moment."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._indexed = 0
        self._next = time.monotonic() + _EVERY

    def __call__(self, more: int) -> None:
        self._indexed += more
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            self._context.note(f"indexing: {count(self._indexed, 'message')} so far …")


def _document(hit: "Hit") -> dict[str, object]:
    from postroom.protocol import wire

    message, deliveries, snippet = hit
    return {
        **wire.message(message),
        "deliveries": [wire.delivery(delivery) for delivery in deliveries],
        "snippet": {"field": snippet.field, "text": snippet.text, "marks": snippet.marks},
    }


def _lines(hit: "Hit", context: "Context") -> str:
    from postroom.cli.commands.sent import rungs, whom
    from postroom.cli.moment import age

    message, deliveries, snippet = hit
    paint = context.out.paint
    here = context.project()
    author, reader = one_line(message.writer(here)), one_line(whom(message, deliveries, here))
    facts = " · ".join((one_line(message.type), rungs(deliveries), age(message.said_at)))
    head = f"{paint(message.handle, 'cyan')}  {paint(author, 'bold')} → {reader}  {paint(facts, 'dim')}"
    return f"{head}\n          {paint(snippet.field + ':', 'dim')} {marked(snippet, context)}\n"


def marked(snippet: "Snippet", context: "Context") -> str:
    """The text with what was found in colour, or in brackets where there is none."""
    parts, at = list[str](), 0
    for start, end in snippet.marks:
        word = one_line(snippet.text[start:end])
        parts += [
            one_line(snippet.text[at:start]),
            context.out.paint(word, "bold", "yellow") if context.out.colour else f"[{word}]",
        ]
        at = end
    return "".join([*parts, one_line(snippet.text[at:])])
