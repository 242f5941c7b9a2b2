"""Which agent CLIs are installed on this machine, and whether their shells find `postroom`."""

import os
import re
import shlex
import shutil
import subprocess
import sys

from postroom import host
from postroom.room.call import program_of
from postroom.runtimes import NAMES, load

_PATIENCE = 20.0  # seconds: some of them load for a while
_SYSTEM = "/usr/local/bin:/usr/bin:/bin"  # what a login shell begins with
_INSTALL = "Install it so that its command is on your PATH, for example with pipx or uv tool."
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.]+)?")


def names() -> list[str]:
    """Those whose program is on the path."""
    return [name for name in NAMES if program_of(load(name))]


def version(path: str) -> str:
    """What it says of itself; empty when it does not."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE,
            check=False, env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return found[0] if found else ""


def own() -> str | None:
    """Where an agent's shell would find `postroom`; None: it would not."""
    return shutil.which("postroom")


def program() -> str:
    """Where `postroom` lies, for who starts it without a shell; its name where that is not known."""
    return own() or os.path.join(_directory(), "postroom")


def remedy() -> str:
    """What puts it there."""
    where = _directory()
    return f'Add to your shell\'s profile: export PATH="{where}:$PATH"' if where else _INSTALL


def shell() -> str:
    """The shell that a runtime runs commands in: the user's."""
    return os.environ.get("SHELL") or host.own_shell() or "/bin/sh"


def is_found_at_login() -> bool | None:
    """Whether a login shell that no terminal started finds `postroom`; None: it did not say so in time."""
    user = {name: os.environ[name] for name in ("HOME", "USER", "LOGNAME", "TERM") if name in os.environ}
    try:
        done = subprocess.run(
            [shell(), "-lc", "command -v postroom"], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_PATIENCE, check=False, env={**user, "SHELL": shell(), "PATH": _SYSTEM},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.returncode == 0


def remedy_at_login() -> str:
    """A command that makes login shells find it; empty: it must be installed first."""
    if not (where := _directory()):
        return ""
    line = f'export PATH="{where}:$PATH"'
    return f"echo {shlex.quote(line)} >>~/{_profile()}"


def _profile() -> str:
    """The file in the user's home that its login shell reads: of several, the first that is there."""
    kind = os.path.basename(shell())
    if kind == "zsh":
        return ".zprofile"
    names = (".bash_profile", ".bash_login") if kind == "bash" else ()
    there = (name for name in names if os.path.exists(os.path.expanduser(f"~/{name}")))
    return next(there, ".profile")


def _directory() -> str:
    """Where `postroom` lies; empty: nowhere that we know of."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "postroom")
    for path in (own(), beside, os.path.join(os.path.dirname(sys.executable), "postroom")):
        if path and os.access(path, os.X_OK):
            return os.path.dirname(path)
    return ""
