"""How attachments look in a terminal: name, type, size and path, and short texts as what they are."""

from typing import TYPE_CHECKING

from postroom.cli.output import clean, count, one_line
from postroom.protocol import media

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.conversation import Attachment
    from postroom.model.message import Message

LARGEST = 4096  # bytes of a text that is shown
_LINES = 30


def lines(message: "Message", context: "Context") -> list[str]:
    """What came with a message, below it; indented, as bodies are."""
    found = context.room().attachments(message.id)
    head = context.out.paint(f"{count(len(found), 'attachment')}:", "dim")
    return [head, *(f"  {line}" for line in described(found, context, excerpts=True))]


def described(found: "list[Attachment]", context: "Context", *, excerpts: bool = False) -> list[str]:
    """Each with its number, and where it is."""
    told: list[str] = []
    for number, attachment in enumerate(found, 1):
        told += [f"{number}. {_about(attachment, context)}", f"   {one_line(attachment.path)}"]
        if excerpts:
            told += [f"   {line}".rstrip() for line in _excerpt(attachment)]
    return told


def _about(attachment: "Attachment", context: "Context") -> str:
    kind = "image" if media.is_image(attachment.media_type) else ""
    facts = [kind, attachment.media_type, size(attachment.size)]
    name = context.out.paint(one_line(attachment.name), "bold")
    return f"{name} ({one_line(', '.join(fact for fact in facts if fact))})"


def _excerpt(attachment: "Attachment") -> list[str]:
    """A short text in a fence that names its language; nothing for anything else."""
    if attachment.size > LARGEST or not media.is_text(attachment.media_type):
        return []
    from postroom.errors import PostroomError
    from postroom.room.content import read

    try:
        text = clean(read(attachment).decode())
    except UnicodeDecodeError:
        return []
    except PostroomError as problem:
        return [f"({one_line(str(problem))})"]
    shown = text.rstrip("\n").split("\n")
    told = media.fenced("\n".join(shown[:_LINES]), media.language(attachment.name)).split("\n")
    return told if len(shown) <= _LINES else [*told, f"… {count(len(shown) - _LINES, 'more line')}"]


def size(number: int) -> str:
    """`12 bytes`, `3.4 kB`, `1.2 MB`."""
    if number < 1000:
        return count(number, "byte")
    for limit, unit in ((10**9, "GB"), (10**6, "MB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number / 1000:.1f} kB"
