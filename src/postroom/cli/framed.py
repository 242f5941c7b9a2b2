"""`--frame`: mail as a model reads it, on the command line."""

from typing import TYPE_CHECKING

from postroom.errors import InvalidValue, UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail
    from postroom.protocol.frame import Frame


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--frame", action="store_true", help="one text for a model, that no body can forge")
    parser.add_argument("--budget", metavar="N", help="characters a --frame may have (9000)")


def check(args: "argparse.Namespace") -> None:
    """Refuse a budget that makes no sense, before anything is taken."""
    if args.budget is None:
        return
    if not args.frame:
        raise UsageError("--budget says how long a --frame may be, and there is none", hint="Add: --frame")
    from postroom.protocol.frame import SMALLEST

    if not (args.budget.isascii() and args.budget.isdigit() and int(args.budget[:9]) >= SMALLEST):
        raise InvalidValue(
            f"--budget must be a number of characters, at least {SMALLEST:,}, not {args.budget!r}",
            hint=f"Try: --budget {SMALLEST}",
        )


def budget(args: "argparse.Namespace") -> int:
    """How many characters the frame may have."""
    from postroom.protocol.frame import BUDGET

    return BUDGET if args.budget is None else int(args.budget[:9])


def made(mails: "list[Mail]", args: "argparse.Namespace", context: "Context") -> "Frame":
    return context.room().frame(mails, budget=budget(args))


def text(frame: "Frame", context: "Context", *, more: bool = False) -> str:
    if not context.json:
        return frame.text
    shown, left_out = ([mail.id for mail in mails] for mails in (frame.shown, frame.left_out))
    document = {"frame": frame.text, "shown": shown, "left_out": left_out}
    return context.to_json({**document, "more": True} if more else document) + "\n"


def look(mails: "list[Mail]", args: "argparse.Namespace", context: "Context", *, more: bool) -> None:
    """Print what waits, as a frame; it stays waiting."""
    if mails or context.json:
        context.put(text(made(mails, args, context), context, more=more))
    if mails:
        context.note("Looking marks nothing. To take them: postroom read --all --frame")
    else:
        context.note("No mail.")
