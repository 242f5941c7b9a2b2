"""The commands in what a caller is told, so that they find the same room and act in the same name."""

import re
from typing import TYPE_CHECKING

from postroom.home import ELSEWHERE, at_home

if TYPE_CHECKING:
    import argparse

_COMMAND = re.compile(r"\bpostroom (?=([a-z]+)\b)")

# Those whose answer is another one for another caller.
_OWN = frozenset((
    "ack", "decide", "forward", "gates", "idle", "inbox", "leave", "mute", "nack", "read", "reply", "sent",
    "threads", "topics", "wait", "whoami", "withdraw",
))  # fmt: skip


def as_called(text: str, args: "argparse.Namespace") -> str:
    """With the `--home` and the `--as` that were given; what says another name stays."""
    from postroom.cli.catalog import find

    home = args.home if args.home and not args.home.startswith(ELSEWHERE) else ""
    caller = args.caller if args.caller and "--as" not in text else ""

    def completed(found: re.Match[str]) -> str:
        if find(found[1]) is None:
            return found[0]
        return at_home(found[0], home) + (_named(caller) if caller and found[1] in _OWN else "")

    return _COMMAND.sub(completed, text) if home or caller else text


def _named(caller: str) -> str:
    import shlex

    return f"--as {shlex.quote(caller)} "
