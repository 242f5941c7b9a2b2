"""The way in: picks one command's module, and sees to it that nothing ends in a traceback."""

import gc
import os
import sys

TYPE_CHECKING = False  # what `typing` takes to load is felt by who only passes lines on
if TYPE_CHECKING:
    from typing import NoReturn

    from postroom.cli.context import Context

_VALUED = ("--as", "--project", "--home")
_INTERRUPTED = 130  # as a shell reports it
_FOR_JOURNALS = ("journal", "verify", "replay")
_contexts: "list[Context]" = []  # of the command that this process ran
_OBJECTS = 20_000  # that are made before they are looked through for garbage


def main() -> "NoReturn":
    """Run the command line, and end without the interpreter's own ending.

    Closing the last SQLite connection would checkpoint, which costs two disk syncs.
    """
    gc.set_threshold(
        _OBJECTS
    )  # what a command loads stays until it ends: looking through it is 3 % of a start
    code = _passed_on() if sys.argv[1:] == ["mcp"] else run(sys.argv[1:], closing=False)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # whoever read it is gone, or it was never open
    _follow_up()
    os._exit(code)


def _follow_up() -> None:
    """All that was wanted is done and told by now."""
    try:
        for context in _contexts:
            context.follow_up()
    except BaseException:
        pass  # it is tried again by the next command


def _passed_on() -> int:
    """`postroom mcp`, where a daemon runs: a client waits for it, so nothing else is loaded."""
    from postroom.cli.lines import attempt, pass_on

    try:
        shim = attempt()
        if shim is None:
            return run(["mcp"], closing=False)
        why = pass_on(shim)
        return 0 if why is None else run(["mcp"], closing=False, tried=(shim, why))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return 1  # the client is gone


def run(argv: list[str], *, closing: bool = True, **given: object) -> int:
    """Do what the arguments ask; the exit code. The room is closed after it, unless the process ends.

    `given`: what the command is given beside them.
    """
    try:
        return _run(argv, closing, given)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return 1  # the reader has what it wanted
    except Exception as exc:
        from postroom.cli.fault import tell

        return tell(exc, as_json="--json" in argv)


def _run(argv: list[str], closing: bool, given: dict[str, object]) -> int:
    from postroom.cli import catalog

    name, arguments = split(argv)
    if name is None or name == "help":
        from postroom.cli.help import show

        return show(name, arguments)
    entry = catalog.find(name)
    if entry is None:
        from postroom.cli.help import unknown

        raise unknown(name)
    from postroom.cli.context import Context

    command = catalog.load(entry)
    parser = catalog.build(name, command)
    args = parser.read(arguments)
    vars(args).update(given)
    context = Context(args, name)
    context.leaves_journals = name in _FOR_JOURNALS
    if not closing:
        _contexts.append(context)
    if args.help:
        context.put(parser.format_help())
        return 0
    context.check(args)
    try:
        return command.run(args, context)
    except Exception as exc:
        from postroom.cli.fault import complete

        exc = context.after(exc, name)
        complete(exc, name, args)
        raise exc
    finally:
        context.finish(closing=closing)


def split(argv: list[str]) -> tuple[str | None, list[str]]:
    """The command's name, and all other arguments: options may come before it too."""
    at = 0
    while at < len(argv):
        if not argv[at].startswith("-"):
            return argv[at], argv[:at] + argv[at + 1 :]
        at += 2 if argv[at] in _VALUED else 1
    return None, argv
