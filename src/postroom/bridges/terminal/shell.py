"""Shells: whatever is typed into one is run. So nothing ever is, whatever a profile says of it."""

import os
import re

from postroom import host
from postroom.runtimes.screen import SHELLS

_BOXES = ("busybox", "toybox")  # programs that are many, by their first argument
_SCRIPT = re.compile(r"-(?!\w*[is])[a-zA-Z]*c|[^-+].*")  # `-c TEXT`, or a file; an interactive one is none


def is_shell(process: str) -> bool:
    """Whether a process, as `host.identity` names it, is a shell that runs what it is told by its terminal.

    One that runs a script does not. No, where the system does not say.
    """
    pid = host.pid_of(process)
    words, _ = host.started_with(process)
    names = [_name(word) for word in words[:2]]
    at = next((n for n, name in enumerate(names) if name in SHELLS and (not n or _is_carried(names))), None)
    if at is None:
        if not {host.program(pid), _name(host.executable(pid))} & SHELLS:
            return False
        at = 0
    return not (words[at + 1 :] and _SCRIPT.fullmatch(words[at + 1]))


def _is_carried(names: list[str]) -> bool:
    """Whether the second word is what runs: a shell that is itself a script, or a part of a box."""
    return names[0] in _BOXES or names[0].startswith("python")


def _name(word: str) -> str:
    return os.path.basename(word).lstrip("-")
