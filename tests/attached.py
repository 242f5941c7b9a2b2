"""Files to attach, and what the room keeps of them."""

import hashlib
import os
from collections.abc import Callable

from postroom.model.conversation import Attachment
from postroom.room.local import LocalRoom

MakeFile = Callable[..., str]


def files(home: str) -> list[str]:
    """Every file under `blobs`, by the hash its path says."""
    found = []
    for where, _, names in os.walk(os.path.join(home, "blobs")):
        found += [os.path.basename(where) + name if name[0] != "." else name for name in names]
    return sorted(found)


def sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def some(room: LocalRoom, *sources: tuple[str, bytes]) -> list[Attachment]:
    return room.attachments(room.send("builder", "see", attachments=list(sources)).id)
