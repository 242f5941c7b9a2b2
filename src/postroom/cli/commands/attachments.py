"""`postroom attachments`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.conversation import Attachment

HELP = """\
What came with a message. Lists it; with WHICH prints one; with --out saves one, or all, and overwrites
nothing unless told to. Looking marks nothing."""
EXAMPLES = """\
  postroom attachments 5f0c9a1e
  postroom attachments 5f0c9a1e 1 > plot.png
  postroom attachments 5f0c9a1e fit.py --out src/fit.py
  postroom attachments 5f0c9a1e --out downloads/"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", help="a message's id or its last 8 digits")
    parser.add_argument("which", metavar="WHICH", nargs="?", help="the number of one, or its name")
    parser.add_argument("--out", metavar="PATH", help="save to this file, or into this directory")
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.content import pick

    room = context.room()
    message = room.message(args.id)
    found = room.attachments(message.id)
    if args.which is not None:
        found = [pick(message, found, args.which)]
    if args.out is not None:
        _save(found, args.out, context, force=args.force)
    elif args.which is not None and not context.json:
        _print(found[0], context)
    else:
        _list(found, context)
    return 0


def _list(found: "list[Attachment]", context: "Context") -> None:
    if context.json:
        context.put_json({"attachments": [attachment._asdict() for attachment in found]})
    elif found and context.quiet:
        context.put("".join(f"{attachment.path}\n" for attachment in found))
    elif found:
        from postroom.cli.enclosed import described

        context.put("".join(f"{line}\n" for line in described(found, context)))
    else:
        context.note("Nothing came with it.")


def _print(attachment: "Attachment", context: "Context") -> None:
    from postroom.protocol import media
    from postroom.room.content import read

    if not context.out.is_terminal:
        context.put_bytes(read(attachment))
        return
    if not media.is_text(attachment.media_type):
        from postroom.errors import UsageError

        what = f"{attachment.name} is {attachment.media_type}, which is nothing for a terminal"
        raise UsageError(what, hint="Save it: --out FILE")
    from postroom.cli.output import clean

    context.put(clean(read(attachment).decode(errors="replace")).rstrip("\n") + "\n")


def _save(found: "list[Attachment]", out: str, context: "Context", *, force: bool) -> None:
    import os

    from postroom.room.content import save, save_all

    if out.endswith(os.sep):
        os.makedirs(out, exist_ok=True)
    if len(found) == 1:
        saved = [save(found[0], out, force=force)]
    elif os.path.isdir(out):
        saved = save_all(found, out, force=force)
    else:
        from postroom.errors import UsageError

        hint = "Say which one, or give a directory: one that exists, or a name that ends in /."
        raise UsageError(f"{len(found)} attachments do not go into one file", hint=hint)
    if context.json:
        context.put_json({"saved": saved})
    else:
        context.put("".join(f"{path}\n" for path in saved))
