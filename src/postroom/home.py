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


def beside(home: str, *names: str) -> str:
    """What hooks run, write and trust. Beside the room and not in it, where a sandboxed agent may write."""
    return os.path.join(home.rstrip("/") + "-hooks", *names)
