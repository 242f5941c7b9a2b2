"""`postroom completion`."""

import argparse
from typing import TYPE_CHECKING

from postroom.errors import PostroomError, UsageError

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = "Print a script that completes commands, options, addresses and message ids in your shell."
EXAMPLES = """\
  eval "$(postroom completion bash)"          # in ~/.bashrc
  source <(postroom completion zsh)           # in ~/.zshrc, after compinit
  postroom completion fish | source           # in ~/.config/fish/config.fish"""

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: "Parser") -> None:
    shell = parser.add_argument("shell", metavar="SHELL", nargs="?", choices=SHELLS, help="bash, zsh or fish")
    shell.required = True  # for all but the scripts
    parser.add_argument("--list", choices=tuple(_LISTS), help=argparse.SUPPRESS)  # what the scripts ask


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.list:
        try:
            found = _LISTS[args.list](args, context)
        except PostroomError:
            return 0  # a key press must not print errors
        context.put("".join(f"{one}\n" for one in found))
        return 0
    if args.shell is None:
        raise UsageError(
            "completion needs SHELL", hint="One of bash, zsh, fish; see: postroom help completion"
        )
    from postroom.cli.completion import script

    text = script(args.shell)
    if context.json:
        context.put_json({"shell": args.shell, "script": text})
    else:
        context.put(text)
    return 0


def _addresses(_: "argparse.Namespace", context: "Context") -> list[str]:
    """Those of this project by their bare names."""
    room = context.room()
    here = room.project()
    return [a.name if a.project == here and not a.is_human else a.address for a in room.store.look().agents()]


def _ids(_: "argparse.Namespace", context: "Context") -> list[str]:
    return [mail.handle for mail in context.room().peek()]


def _types(args: "argparse.Namespace", _: "Context") -> list[str]:
    from postroom.config import home
    from postroom.protocol import registry

    return [one["name"] for one in registry.every(home(args.home))]


_LISTS = {"addresses": _addresses, "ids": _ids, "types": _types}
