"""How a failure is told: a line that says what is wrong, one that says what to run next, an exit code."""

import os
import sys
from typing import TYPE_CHECKING, Any

from postroom import errors
from postroom.cli.output import Output, one_line

if TYPE_CHECKING:
    import argparse

DONE, FAILED, USAGE, NOT_FOUND, TIMED_OUT, REFUSED, STORED_BUT = range(7)

_CODES: tuple[tuple[type[errors.PostroomError], int], ...] = (
    (errors.UsageError, USAGE),
    (errors.NotFound, NOT_FOUND),
    (errors.TimedOut, TIMED_OUT),
    (errors.Refused, REFUSED),
    (errors.StoredBut, STORED_BUT),
)


def complete(exc: Exception, command: str, args: "argparse.Namespace") -> None:
    """Put into an error's hint what only the call knows: the message, the home, the command to look up."""
    if isinstance(exc, errors.PostroomError):
        from postroom.cli.again import as_called

        hint = _hint(exc, command, args)
        exc.hint = hint if isinstance(exc, errors.NotHere | errors.NotLoggedIn) else as_called(hint, args)


def _hint(problem: errors.PostroomError, command: str, args: "argparse.Namespace") -> str:
    ref = problem.facts.get("message_ref") or getattr(args, "id", None)
    if ref and problem.hint.endswith(" ID"):
        return f"{problem.hint[:-2]}{ref[-8:]}"
    if isinstance(problem, errors.UnknownAgent) and not problem.facts.get("near"):
        named = (getattr(args, "name", None), getattr(args, "to", None))  # somebody else than who calls
        return errors.UnknownAgent.hint if problem.facts.get("agent") in named else problem.hint
    if isinstance(problem, errors.NotLoggedIn):  # a browser is told otherwise, by the room itself
        return "Set POSTROOM_TOKEN to one that is made on the room's machine: postroom tokens issue NAME"
    if isinstance(problem, errors.NotHere):
        return _there(problem, command)
    return problem.hint or _hint_for_none(problem, command, ref)


def _there(problem: errors.NotHere, command: str) -> str:
    """The same command, where the room is: by ssh, if its address names another machine."""
    from urllib.parse import urlsplit

    name = urlsplit(str(problem.facts.get("url") or "")).hostname or ""
    away = name not in ("", "localhost", "::1") and not name.startswith("127.")
    return f"Run it there: ssh {name} postroom {command}" if away else (
        f"Run it on the machine whose room it is: postroom {command}"
    )  # fmt: skip


def _hint_for_none(problem: errors.PostroomError, command: str, ref: str | None) -> str:
    if isinstance(problem, errors.UsageError):
        return f"See: postroom help {'settings' if 'key' in problem.facts else command}"
    if isinstance(problem, errors.Refused) and ref:
        return f"See how far it got: postroom receipts {ref[-8:]}"
    return ""


def tell(exc: Exception, *, as_json: bool) -> int:
    """Report a failure on standard error; the exit code it has."""
    if os.environ.get("POSTROOM_DEBUG"):
        import traceback

        traceback.print_exception(exc)
    problem = exc if isinstance(exc, errors.PostroomError) else _unexpected(exc)
    try:
        sys.stderr.write(_as_json(problem) if as_json else _as_lines(problem))
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # standard error is closed: the exit code has to do
    return exit_code(problem)


def exit_code(problem: errors.PostroomError) -> int:
    return next((code for kind, code in _CODES if isinstance(problem, kind)), FAILED)


def _as_json(problem: errors.PostroomError) -> str:
    import json

    return json.dumps({**problem.as_json(), "message": _clause(problem)}, default=str) + "\n"


def _clause(problem: errors.PostroomError) -> str:
    """What is wrong, after `postroom: `; where a class's own sentence has to do, without its full stop."""
    text = str(problem)
    if text != type(problem).__doc__:
        return text
    is_name = text[1:2].isupper()  # POSTROOM_TOKEN
    return (text[:1] if is_name else text[:1].lower()) + text[1:].removesuffix(".")


def _as_lines(problem: errors.PostroomError) -> str:
    out = Output(sys.stderr)
    head = "postroom:"
    what = out.fold(f"{head} {one_line(_clause(problem))}", 2).removeprefix(head)
    lines = out.paint(head, "red", "bold") + what + "\n"
    if problem.hint:
        lines += out.paint(f"  {out.fold(one_line(problem.hint), 4)}", "dim") + "\n"
    return lines


def _unexpected(exc: Exception) -> errors.PostroomError:
    """Something nobody foresaw, still told in one line."""
    kind = type(exc)
    if kind.__module__ == "sqlite3":
        from postroom.store.sqlite.connection import explain

        error: Any = exc
        return explain(error, "the room")
    if isinstance(exc, OSError):
        what = f"{exc.filename}: {exc.strerror}" if exc.filename and exc.strerror else str(exc)
        return errors.PostroomError(
            what, hint="Check that path, or set POSTROOM_HOME to a directory you can write."
        )
    hint = "This is a fault in Postroom; POSTROOM_DEBUG=1 shows where."
    return errors.PostroomError(f"unexpected {kind.__name__}: {exc}", hint=hint)
