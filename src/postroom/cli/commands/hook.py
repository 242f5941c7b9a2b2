"""`postroom hook`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.errors import NotHere

HELP = """\
What an agent's hook runs: it is told of an event on standard input, as JSON, and prints what that runtime
passes on to its model. `postroom setup` installs it, and only an agent can run it. `postroom hook plain` is
for any other runtime that shows its model what a command prints: it prints what waits for you, or nothing,
and reads nothing; with --json, one document with that text, which may be empty. Run it only where all that it
prints is shown to the model: the next run calls it seen. What other runtimes are
given has their own form whatever is asked for. The exit code is 0 whatever happens: what went wrong is in
the log (`postroom doctor`)."""
EXAMPLES = """\
  postroom hook plain --as backend
  postroom hook plain --as backend --json"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("runtime", metavar="RUNTIME", help="whose event it is; plain: of none we know")
    parser.add_argument("event", metavar="EVENT", nargs="?", help="as the runtime calls it")
    parser.add_argument("key", metavar="KEY", nargs="?", help="what the shell knows the session by")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.config import home
    from postroom.errors import NotHere
    from postroom.hooks import journal, main, plain

    try:
        where = home(args.home)
    except NotHere as exc:
        return _elsewhere(exc, context)
    words = [args.runtime, args.event or "", args.key or ""]
    try:
        if args.runtime != plain.RUNTIME:
            return main.run(where, words)
        _show(context)
    except Exception as exc:
        journal.note(where, words, exc)
        _tell(exc, context)
    return 0


def _elsewhere(exc: "NotHere", context: "Context") -> int:
    """No runtime may take it for a refusal, but whoever reads what hooks say learns why there is no mail."""
    from postroom.cli.fault import tell

    exc.hint = "Have a room on this machine for its agents, or take the mail yourself: postroom read --frame"
    tell(exc, as_json=context.json)
    return 0


def _show(context: "Context") -> None:
    """What waits, for a runtime that we do not know."""
    from postroom.hooks import plain

    def write(text: str) -> None:
        context.out.write(context.to_json({"text": text}) + "\n" if context.json else text)

    if not plain.show(context.room(), write) and context.json:
        write("")


def _tell(exc: Exception, context: "Context") -> None:
    """Whoever tries it by hand wants to know; no agent's hook has a terminal."""
    import sys

    if sys.stderr.isatty() and not context.quiet:
        from postroom.cli.fault import tell

        tell(exc, as_json=context.json)
