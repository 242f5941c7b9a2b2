"""Asking a person whether what a config in the room says may be run and typed into."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.model.message import Json


def confirm(items: "dict[str, Json]", args: "argparse.Namespace", context: "Context") -> None:
    """Raises `Refused` unless a person agrees, or has agreed, to these as they are."""
    from postroom.bridges.consent import missing, remember
    from postroom.config import config_path

    home = context.room().home
    if not (new := missing(home, items)):
        return
    path = config_path(home)
    _ask([f"[{name}] {_said(item)}" for name, item in new.items()], path, args, context)
    remember(home, new)


def _said(item: "Json") -> str:
    import json

    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in item.items())


def _ask(lines: list[str], path: str, args: "argparse.Namespace", context: "Context") -> None:
    import sys

    from postroom.cli.output import clean
    from postroom.errors import Refused

    context.note(f"{path} lies in the room, where agents may write. It says:")
    for text in lines:
        context.note(f"  {clean(text)}", whole=True)
    if args.yes:
        return
    if context.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        hint = "If that is what you want, add: --yes"
        raise Refused(f"nobody has agreed to what {os.path.basename(path)} says", hint=hint, items=lines)
    sys.stderr.write("Shall that be used? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("not agreed, so nothing was done", hint="")
