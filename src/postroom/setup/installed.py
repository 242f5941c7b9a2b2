"""Which agent CLIs are installed on this machine."""

import os
import re
import shutil
import subprocess
import sys

from postroom.room.call import program_of
from postroom.runtimes import NAMES, load

_PATIENCE = 20.0  # seconds: some of them load for a while
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


def remedy() -> str:
    """What puts it there."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "postroom")
    for path in (beside, os.path.join(os.path.dirname(sys.executable), "postroom")):
        if os.access(path, os.X_OK):
            return f'Add to your shell\'s profile: export PATH="{os.path.dirname(path)}:$PATH"'
    return "Install it so that its command is on your PATH, for example with pipx or uv tool."
