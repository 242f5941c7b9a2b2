"""What a listener has in hand, noted outside the store so that taking stays a read.

Sixteen bytes per mailbox: the lease's fence and the message's sequence number. They survive the
listener's death, not a power cut; without them, everything that waits is labelled instead.
"""

import os
import struct

from postroom import host
from postroom.errors import StoreReadOnly

_NOTE = struct.Struct("<QQ")


class Hand:
    """The note of one mailbox."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def open(self) -> None:
        try:
            host.private_directory(os.path.dirname(self._path))
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as exc:
            raise StoreReadOnly(f"cannot note what is in hand: {exc}", path=self._path) from exc

    def hold(self, fence: int, seq: int) -> None:
        """Note what is about to be shown; 0 for nothing."""
        if hasattr(os, "pwrite"):
            os.pwrite(self._descriptor, _NOTE.pack(fence, seq), 0)
        else:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, _NOTE.pack(fence, seq))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def read(self, fence: int) -> int | None:
        """What was in hand under a fence (0 for nothing), or None when that is not known."""
        try:
            with open(self._path, "rb") as file:
                noted, seq = _NOTE.unpack(file.read())
        except (OSError, struct.error):
            return None
        return seq if noted == fence else None
