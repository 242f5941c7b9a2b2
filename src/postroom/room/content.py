"""What came with a message: found, read, and saved under a name that can do no harm."""

import hashlib
import os
from typing import TYPE_CHECKING

from postroom import label
from postroom.errors import Refused, StoreCorrupt, UnknownAttachment
from postroom.model.conversation import Attachment
from postroom.model.message import Message
from postroom.room import blob, file

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


def attachments(room: "LocalRoom", message: Message) -> list[Attachment]:
    """What a message has, in the order in which it was attached."""
    return [
        Attachment(a["name"], a["media_type"], a["size"], a["sha256"], blob.path(room.home, a["sha256"]))
        for a in message.attachments or ()
    ]


def pick(message: Message, found: list[Attachment], which: str) -> Attachment:
    """The one with that number (from 1) or that name."""
    named = [attachment for attachment in found if attachment.name == which]
    if len(named) == 1:
        return named[0]
    if not named and which.isascii() and which.isdigit() and 1 <= int(which) <= len(found):
        return found[int(which) - 1]
    what = f"{len(named)} attachments named" if named else "no attachment"
    raise UnknownAttachment(f"message {message.handle} has {what} {which!r}", message_ref=message.id)


def read(attachment: Attachment) -> bytes:
    """The content, which is what was sent, or `StoreCorrupt`."""
    try:
        with open(attachment.path, "rb") as source:
            content = source.read()
    except OSError as exc:
        raise _damaged(attachment, f"cannot be read: {exc.strerror}") from exc
    if hashlib.sha256(content).hexdigest() != attachment.sha256:
        raise _damaged(attachment, "is not what was sent")
    return content


def _damaged(attachment: Attachment, why: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"the content of {attachment.name} {why}", path=attachment.path,
        hint="See what else is wrong: postroom verify. A backup has its attachments: postroom restore",
    )  # fmt: skip


def safe_name(attachment: Attachment) -> str:
    """Its name as that of a file in whatever directory: no path, nothing that does not show, not hidden."""
    name = "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in attachment.name)
    name = name.encode()[:255].decode(errors="ignore")
    return "_" + name[1:] if name[:1] in ("", ".", "-") else name


def save(attachment: Attachment, path: str, *, force: bool = False) -> str:
    """Write the content to a file, or into a directory under its own name; where it is then.

    What is there already is overwritten only by `force`, and whole; a link there is replaced, not followed.
    """
    if os.path.isdir(path):
        path = os.path.join(path, safe_name(attachment))
    return _write(read(attachment), os.path.abspath(path), force=force)


@file.tells_of_files
def _write(content: bytes, path: str, *, force: bool) -> str:
    made = file.temporary(os.path.join(os.path.dirname(path), "attachment"))
    try:
        file.write_whole(made, (content,), compressed=False)
        label.here("attachment-written")
        if force:
            os.replace(made, path)
        else:
            _put_if_free(made, path)
    finally:
        file.remove(made)
    return path


def _put_if_free(made: str, path: str) -> None:
    try:
        if os.name == "posix":
            os.link(made, path)  # fails where a rename would overwrite
        else:
            os.rename(made, path)
    except FileExistsError:
        hint = "Choose another name, or overwrite it: --force"
        raise Refused(f"{path} exists", path=path, hint=hint) from None


def save_all(found: list[Attachment], directory: str, *, force: bool = False) -> list[str]:
    """All of them into a directory; of two with one name the second is numbered."""
    taken: set[str] = set()
    saved: list[str] = []
    for attachment in found:
        name = _free(safe_name(attachment), taken)
        taken.add(name)
        saved.append(save(attachment, os.path.join(directory, name), force=force))
    return saved


def _free(name: str, taken: set[str]) -> str:
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (name, "")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{stem}-{number}{ending}"
    return free
