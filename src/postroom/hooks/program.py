"""The program that all hooks of a room run: `hook`, in the directory beside the room (`-hooks`).

It is not in the room, because a sandboxed agent may write there, and hooks run outside its sandbox. Its
path never changes, so the command lines in users' configurations do not either, whatever version of
Postroom or of Python is installed; runtimes that trust a command by its hash go on trusting it.
"""

import os
import sys

from postroom import config, host

_LONGEST = 120  # characters of the first line that the kernel reads, with room for the rest of it

_PYTHON = """\
import sys
sys.path.insert(0, {source!r})
try:
    from postroom.hooks.main import main
except Exception as exc:  # Postroom is not installed any more, or it is being upgraded
    try:
        from postroom.hooks.journal import note
        note({home!r}, sys.argv[1:], exc)
    except Exception:
        pass
    sys.exit(0)
main({home!r}, sys.argv[1:])
"""


def path(home: str) -> str:
    return config.beside(home, "hook")


def home_of(where: str) -> str:
    """The room whose program that is; empty: it is none."""
    end = path("")
    return where.removesuffix(end) if where.endswith(end) else ""


def install(home: str) -> str:
    """Write it, or write it anew after an upgrade; its path."""
    where, content = path(home), _content(home, sys.executable)
    if _read(where) != content:
        host.private_directory(os.path.dirname(where))
        host.replace(where, content.encode(), 0o700)
    return where


def is_current(home: str) -> bool:
    """Whether it runs this installation."""
    return _read(path(home)) == _content(home, sys.executable)


def source() -> str:
    """Where a Python that knows of no installation finds this one."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _content(home: str, python: str) -> str:
    body = _PYTHON.format(source=source(), home=home)
    if len(python) <= _LONGEST and " " not in python:
        return f"#!{python} -IS\n{body}"
    import shlex  # noqa: PLC0415 - rarely

    path = shlex.quote(python)
    return f'#!/bin/sh\n[ -x {path} ] || exit 0\nexec {path} -I -S -c {shlex.quote(body)} "$@"\n'


def _read(where: str) -> str:
    try:
        with open(where, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
