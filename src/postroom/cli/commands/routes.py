"""`postroom routes`."""

from typing import TYPE_CHECKING

from postroom.errors import Refused, UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
Who may write to whom, as the config declares it: [[route]] with from, to, type and allow. The first that fits
decides; where none does, everybody may (routes = "open") or nobody but who answers (routes = "strict"). With
--from and --to it says what would happen, and sends nothing."""
EXAMPLES = """\
  postroom routes
  postroom routes --from builder --to human:ana
  postroom routes --from builder --to @reviewers --type request"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--from", metavar="NAME", dest="sender", help="who would write")
    parser.add_argument("--to", metavar="TO", help="to which address")
    parser.add_argument("--type", metavar="TYPE", help="a message of what type (note)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.sender is None and args.to is None:
        _list(context)
    elif args.sender is None or args.to is None:
        raise UsageError("to try a route, say from whom and to whom", hint="See: postroom help routes")
    else:
        _try(args.sender, args.to, args.type or "note", context)
    return 0


def _list(context: "Context") -> None:
    from postroom.protocol.wire import routes

    room, distant = context.room(), context.elsewhere
    found = distant.call("routes") if distant else routes(room.routes, room.settings.routes)
    if context.json:
        context.put_json(found)
        return
    rows = [[str(one[key]) for key in ("number", "rule", "from", "to", "type")] for one in found["routes"]]
    if rows:
        context.put_table(rows, ("cyan", "bold"), ("N", "RULE", "FROM", "TO", "TYPE"))
    rule = found["otherwise"]
    otherwise = "everybody may write to everybody" if rule == "open" else "only answers may go"
    where = "Where none fits" if rows else "There are no routes"
    context.note(f"{where}: {otherwise} (routes = {rule})")


def _try(sender: str, to: str, type: str, context: "Context") -> None:
    try:
        reached = context.room().may_write(sender, to, type)
    except Refused as exc:
        if not context.json:
            raise
        context.put_json({"allowed": False, "rule": exc.facts.get("rule"), "message": str(exc)})
        raise
    if context.json:
        context.put_json({"allowed": True, "recipients": reached})
    else:
        context.put(f"allowed: {sender} → {', '.join(reached)}\n")
