"""A connection to the daemon that carries lines: a WebSocket, as far as that is needed by the shim.

Standard library only, and little of it: a client waits for it each time it starts.
"""

import json
import os
from binascii import b2a_base64

from postroom.mcp_server.place import LINES

TYPE_CHECKING = False  # what `typing` and `socket` take to load is felt
if TYPE_CHECKING:
    from typing import Protocol

    class Link(Protocol):
        """What is needed of a socket."""

        def fileno(self) -> int: ...
        def recv(self, size: int, /) -> bytes: ...
        def sendall(self, data: bytes, /) -> object: ...
        def settimeout(self, seconds: float | None, /) -> None: ...
        def close(self) -> object: ...


_PIECE = 1 << 18  # bytes of one frame
_CLOSE, _PING, _PONG = 0x8, 0x9, 0xA
_PATIENCE = 60.0  # seconds for the daemon to answer that it will serve


class Refusal(Exception):
    """The daemon answers, but not so."""


class Line:
    """See above. Every call may raise `OSError`: it is over."""

    def __init__(self, link: "Link", query: str, headers: dict[str, str]) -> None:
        self._link = link
        self._data = b""
        self._text = b""
        key = b2a_base64(os.urandom(16), newline=False).decode()
        said = {
            "Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Version": "13", **headers,
        }  # fmt: skip
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        link.settimeout(_PATIENCE)
        link.sendall(f"GET {LINES}?{query} HTTP/1.1\r\n{head}\r\n".encode())
        while b"\r\n\r\n" not in self._data:
            self._fill()
        answer, _, self._data = self._data.partition(b"\r\n\r\n")
        if answer.split(b" ", 2)[1:2] != [b"101"]:
            raise Refusal(_why(answer, self._data))
        link.settimeout(None)

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, line: bytes) -> None:
        for at in range(0, len(line), _PIECE):
            self._frame(0x2, line[at : at + _PIECE])

    def receive(self) -> list[bytes]:
        """The lines that are whole now."""
        self._fill()
        while (frame := self._next()) is not None:
            kind, content = frame
            if kind == _CLOSE:
                raise ConnectionError
            if kind == _PING:
                self._frame(_PONG, content)
            elif kind != _PONG:
                self._text += content
        *lines, self._text = self._text.split(b"\n")
        return [line for line in lines if line]

    def close(self) -> None:
        self._link.close()

    def _fill(self) -> None:
        more = self._link.recv(1 << 16)
        if not more:
            raise ConnectionError("the daemon has ended the connection")
        self._data += more

    def _frame(self, kind: int, content: bytes) -> None:
        """Masked by zeros, which changes nothing: no proxy is between us that could be misled."""
        size = len(content)
        if size < 126:
            head = bytes((0x80 | kind, 0x80 | size))
        else:
            head = bytes((0x80 | kind, 0x80 | 127)) + size.to_bytes(8, "big")
        self._link.sendall(head + bytes(4) + content)

    def _next(self) -> tuple[int, bytes] | None:
        data = self._data
        if len(data) < 2:
            return None
        size, at = data[1] & 0x7F, 2
        if size > 125:
            wide = 2 if size == 126 else 8
            size, at = int.from_bytes(data[2 : 2 + wide], "big"), 2 + wide
        if len(data) < at + size:
            return None
        self._data = data[at + size :]
        return data[0] & 0x0F, data[at : at + size]


def _why(answer: bytes, body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.split(b"\r\n")[0].decode("latin-1")
