"""Files of a room elsewhere, on this machine, for as long as it is open: attachments and large bodies.

Their names come from a server, which may say anything. So a name is one only if it can be no path, and what
is under it is shown to nobody before it was found to be what the name says.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable

from postroom.errors import InvalidAttachment, Unreachable
from postroom.model import ids
from postroom.room import file

_HEX = frozenset("0123456789abcdef")
_DIGITS = 64  # of a SHA-256


class Fetched:
    """A directory of its own, made when the first file is."""

    def __init__(self) -> None:
        self._made: tempfile.TemporaryDirectory[str] | None = None

    @file.tells_of_files
    def attachment(self, name: str, digest: str, fetch: Callable[[], bytes]) -> str:
        """Where the content with a digest can be read; `fetch` gives it, if it is not there yet."""
        if len(digest) != _DIGITS or not _HEX.issuperset(digest):
            raise Unreachable(f"the server names an attachment by what is no SHA-256: {digest[:80]!r}")
        path = os.path.join(self._directory(), digest)
        if _digest(_content(path)) != digest:
            content = fetch()
            if _digest(content) != digest:
                what = f"{name!r} is not what was sent: its content is another one than its SHA-256 says"
                raise InvalidAttachment(what, hint="Check it where the room is: postroom verify", name=name)
            _put(path, content)
        return path

    @file.tells_of_files
    def body(self, message_id: str, body: str) -> str:
        """Where the body of a message can be read."""
        if not ids.is_uuid(message_id):
            raise Unreachable(f"the server names a message by what is no id: {message_id[:80]!r}")
        path, content = os.path.join(self._directory(), f"{message_id}.txt"), body.encode(errors="replace")
        if _content(path) != content:
            _put(path, content)
        return path

    def _directory(self) -> str:
        if self._made is None:
            self._made = tempfile.TemporaryDirectory(prefix="postroom-")
        return self._made.name

    def close(self) -> None:
        if self._made is not None:
            self._made.cleanup()
            self._made = None


def _content(path: str) -> bytes | None:
    """What is there, if it is a file and no link to one."""
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    with open(path, "rb") as found:
        return found.read()


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _put(path: str, content: bytes) -> None:
    made = file.temporary(path)
    with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        target.write(content)
    os.replace(made, path)
