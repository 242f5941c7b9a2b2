"""Where hooks say what went wrong: the agent must not be disturbed by it. `postroom doctor` shows it."""

import os
import time

from postroom import config, host

_LARGEST = 1 << 18
_RECENT = 86_400  # seconds: what is older was as a rule mended since
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def path(home: str) -> str:
    return config.beside(home, "hook.log")


def note(home: str, argv: list[str], what: BaseException | str) -> None:
    """One line: when, at which event, what. The log starts anew when it is large. Never raises."""
    try:
        text = " ".join((what if isinstance(what, str) else f"{type(what).__name__}: {what}").split())[:500]
        at = time.strftime(_FORM, time.gmtime())
        line = f"{at} {' '.join(' '.join(argv).split())[:200]} {text}\n".encode(errors="replace")
        where = path(home)
        host.private_directory(os.path.dirname(where))
        try:
            if os.stat(where).st_size > _LARGEST:
                os.replace(where, where + ".1")
        except OSError:
            pass
        log = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
        os.write(log, line)
        os.close(log)
    except Exception:  # not even what an upgrade has just taken away may harm an agent
        pass
    if isinstance(what, BaseException) and os.environ.get("POSTROOM_DEBUG"):
        import traceback  # noqa: PLC0415 - who looks for the reason

        traceback.print_exception(what)


def last(home: str, most: int = 5, runtime: str = "") -> list[str]:
    """The latest of them, of one runtime or all: those of the last day."""
    since = time.strftime(_FORM, time.gmtime(time.time() - _RECENT))
    try:
        with open(path(home), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    of_it = (line for line in lines if not runtime or line.split(" ", 2)[1:2] == [runtime])
    return [line for line in of_it if line >= since][-most:]
