"""`postroom top`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.top.line import Row
    from postroom.top.source import Source

HELP = """\
The room at a glance, in your terminal: who works, who is stuck and why, how that is known, what waits for
each; the mail as it comes, with the rung each message has reached; questions to decide and letters to try
again. Needs no daemon, and works for a room elsewhere (POSTROOM_HOME=https://…). The keys are listed at the
bottom; ? explains them. With --once, or where standard output is no terminal, it is printed once and ends."""
EXAMPLES = """\
  postroom top
  postroom top from:backend state:dead
  postroom top --once
  postroom top --json"""

_STYLES = {"link": "cyan", "fine": "green", "waits": "yellow", "trouble": "red"}
_WIDE = 120  # columns, where there is no terminal


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "find", metavar="FIND", nargs="*", help="only such mail: words, from: to: with: type: state: topic:"
    )
    parser.add_argument("--once", action="store_true", help="print it, and end")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.person import claim

    context.room()
    if not context.elsewhere:
        claim(context)
    wanted = " ".join(args.find)
    if context.json or args.once or not context.out.is_terminal:
        return _once(_source(context), wanted, context)
    app = _app()
    source = _source(context)
    from postroom.top.view import look

    look(source, wanted, limit=1)  # what is wrong is said before the screen is taken
    app(source, wanted=wanted).run()
    return 0


def _source(context: "Context") -> "Source":
    from postroom.top.source import Elsewhere, Here

    if distant := context.elsewhere:
        return Elsewhere(distant, distant.url)
    return Here(context.room())


def _app() -> Any:
    try:
        from postroom.top.app import Top
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        from postroom.errors import PostroomError
        from postroom.extra import hint

        look = "Without it: postroom top --once"
        raise PostroomError("postroom top draws with textual", hint=f"{hint('top')}. {look}") from None
    return Top


def _once(source: "Source", wanted: str, context: "Context") -> int:
    from postroom.top.view import look

    view = look(source, wanted, limit=50)
    if context.json:
        context.put_json(view.document())
        return 0
    from postroom.top import line

    wide = context.out.columns if context.out.is_terminal else _WIDE
    lists = {"Needs you": line.needs, "Others decide": line.others, "Agents": line.agents, "Mail": line.mail,
             "Daemon": line.daemon}  # fmt: skip
    laid = [(title, rows) for title, lay in lists.items() if (rows := lay(view, wide))]
    context.put("\n".join(_text(title, rows, context) for title, rows in laid))
    return 0


def _text(title: str, rows: "list[Row]", context: "Context") -> str:
    paint = context.out.paint
    lines = [
        "".join(paint(part.text, _STYLES.get(part.style, part.style)) for part in row.parts).rstrip()
        for row in rows
    ]
    return "".join(f"{line}\n" for line in [paint(title, "bold"), *lines])
