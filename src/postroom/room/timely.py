"""An answer over HTTP that must get on: by drops, or without an end, it is not listened to for ever."""

import http.client
import io
import socket
import time
from typing import Any

LARGEST = 1 << 28  # bytes of one answer: hundreds of the largest messages, and any attachment of usual size
SLOWEST = 1 << 14  # bytes in a second beyond which a large answer may take longer than it was given
_PART = 1 << 16


class Overlong(http.client.HTTPException):
    """More than any room says at once."""

    def __init__(self) -> None:
        super().__init__(f"it says more than {LARGEST >> 20} MB at once")


class _Hurried(io.RawIOBase):
    """What a socket brings, up to a moment that what has come puts off."""

    def __init__(self, line: socket.socket, raw: io.RawIOBase) -> None:
        self._line, self._raw = line, raw
        self.expect(line.gettimeout() or 0.0)

    def expect(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._line.settimeout(left)
        size = self._raw.readinto(buffer)
        self._until += (size or 0) / SLOWEST
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class Timely(http.client.HTTPResponse):
    """All of it, head and body, within the time that its socket had for one read when it was asked for."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._hurried = _Hurried(sock, self.fp.detach())
        self.fp = io.BufferedReader(self._hurried)

    def expect(self, seconds: float) -> None:
        """What is read next must come within so long, from now."""
        self._hurried.expect(seconds)

    def whole(self) -> bytes:
        """Its body."""
        if (self.length or 0) > LARGEST:
            raise Overlong
        parts, size = list[bytes](), 0
        while part := self.read(_PART):
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                raise Overlong
        if self.length:
            raise http.client.IncompleteRead(b"", self.length)
        return b"".join(parts)
