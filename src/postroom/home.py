"""Where a room is. It costs nothing to load, so that a program can find the daemon and do no more."""

import os
import sys

ELSEWHERE = ("http://", "https://", "unix://")


def named(explicit: str | None = None) -> str:
    """The directory or the address that somebody has named, or the platform's place for data."""
    found = explicit or os.environ.get("POSTROOM_HOME")
    if found and found.startswith(ELSEWHERE):
        return found
    return os.path.abspath(found or default())


def default() -> str:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "postroom")


def at_home(command: str, home: str) -> str:
    """A command of ours as it finds that room in any terminal; without a `home` it does so by itself.

    `--home` stands before all else: what comes after `--` is for another program.
    """
    lead, program, rest = command.partition("postroom ")
    if not home or not program:
        return command
    import shlex  # noqa: PLC0415 - seldom

    return f"{lead}{program}--home {shlex.quote(home)} {rest}"


def daemon(home: str) -> str:
    """The process that is the room's daemon, as `host.identity` names it; empty: there is none."""
    from postroom import host  # noqa: PLC0415 - who only looks for a room does without

    try:
        with open(beside(home, "daemon.lock"), encoding="ascii") as file:
            found = file.read().strip()
    except (OSError, ValueError):
        return ""
    return "" if not found or host.is_gone(found) else found


def beside(home: str, *names: str) -> str:
    """What hooks run, write and trust. Beside the room and not in it, where a sandboxed agent may write."""
    return os.path.join(home.rstrip("/") + "-hooks", *names)
