"""The programs that other tools' configs name, and the runtimes that we know them as."""

import os
import shlex
from typing import Any, cast

from postroom.errors import InvalidValue
from postroom.runtimes import NAMES

_CALLED = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini", "qwen-code": "qwen"}


def runtime_of(program: str) -> str:
    """Which runtime a program is, or an agent by another tool's name for it; empty: none that is known."""
    name = os.path.basename(program).lower()
    name = _CALLED.get(name, name)
    return name if name in NAMES else ""


def words(command: Any, more: Any = None) -> list[str]:
    """A command as a list, however it is written."""
    try:
        first = shlex.split(command) if isinstance(command, str) else _texts(command)
        return first + (shlex.split(more) if isinstance(more, str) else _texts(more)) if first else []
    except ValueError as exc:
        raise InvalidValue(f"the command {command!r} cannot be read: {exc}", hint="Mend it there.") from None


def _texts(values: Any) -> list[str]:
    if values is None:
        return []
    several = cast("list[Any]", values)
    if not isinstance(values, list) or not all(isinstance(one, str) for one in several):
        raise InvalidValue(f"a command is a list of words, not {str(several)[:60]!r}", hint="Mend it there.")
    return cast("list[str]", values)
