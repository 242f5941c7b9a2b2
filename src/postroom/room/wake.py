"""Starting a waker: a small process of its own that calls a runtime which cannot watch a file.

Whoever sends does not wait for it, and is not told: a wake is a hint. Its mail stays stored until a hook
offers it.
"""

import os

from postroom import config

_SHELL = "/bin/sh"
# In the background of a shell that ends at once, so that nobody has a child to wait for.
_SCRIPT = '"$0" wake "$1" </dev/null >/dev/null 2>&1 &'


def start(home: str, parties: list[str]) -> None:
    """One waker for each; nothing is raised."""
    program = config.beside(home, "hook")
    for party in parties:
        try:
            pid = os.posix_spawn(_SHELL, ["sh", "-c", _SCRIPT, program, party], os.environ, setsid=True)
            os.waitpid(pid, 0)
        except (OSError, AttributeError):
            pass
