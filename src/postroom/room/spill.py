"""Large bodies: kept whole in the store, and put before an agent as a beginning and the path of a file.

The files are under the run directory. They can be made again at any time, and nothing depends on them.
"""

import os
from typing import TYPE_CHECKING

from postroom import host, label
from postroom.model import ids
from postroom.protocol.plain import clean
from postroom.room import file

if TYPE_CHECKING:
    from postroom.model.message import Message
    from postroom.room.local import LocalRoom

BEGINNING = 1000  # characters
_LONGEST_STAY = 7 * 86_400  # seconds since it was last shown


def directory(home: str) -> str:
    return os.path.join(home, "run", "spill")


def is_large(room: "LocalRoom", message: "Message") -> bool:
    limit = room.settings.spill_bytes
    return len(message.body) > limit or (len(message.body) * 4 > limit and len(message.body.encode()) > limit)


@file.tells_of_files
def spill(room: "LocalRoom", message: "Message") -> str | None:
    """Where a large body can be read; None for one that is not large. Calling it again changes nothing."""
    if not is_large(room, message):
        return None
    path = os.path.join(directory(room.home), f"{message.id}.md")
    content = clean(message.body).encode()
    if _holds(path, len(content)):
        os.utime(path)
    else:
        host.private_directory(directory(room.home))
        made = file.temporary(path)
        file.write_whole(made, (content,), compressed=False)
        os.replace(made, path)
    label.here("spill-written")
    # Who redacts removes this file after the commit: whichever of us comes second removes it.
    now = room.store.look().message(message.id)
    if now is None or now.redacted is not None:
        file.remove(path)
        return None
    return path


def beginning(body: str, longest: int = BEGINNING) -> str:
    """How a large body begins: whole lines if that is not much less, else cut."""
    head = body[:longest]
    whole, newline, _ = head.rpartition("\n")
    return whole if newline and len(whole) > longest // 2 else head


def _holds(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def remove(room: "LocalRoom", message: "Message") -> None:
    """A message's content must go: so must its file."""
    file.remove(os.path.join(directory(room.home), f"{message.id}.md"))


@file.tells_of_files
def sweep(room: "LocalRoom") -> int:
    """Remove the files of messages that are gone, and those nobody was shown for a week; how many."""
    top, look, removed = directory(room.home), room.store.look(), 0
    if not os.path.isdir(top):
        return 0
    file.sweep_litter(top)
    oldest = room.store.clock() / 1000 - _LONGEST_STAY
    for name in os.listdir(top):
        message_id, path = name.removesuffix(".md"), os.path.join(top, name)
        message = look.message(message_id) if ids.is_uuid(message_id) else None
        if name[0] == "." or (message and not message.redacted and os.stat(path).st_mtime > oldest):
            continue
        file.remove(path)
        removed += 1
    return removed
