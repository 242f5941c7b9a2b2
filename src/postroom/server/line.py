"""uvicorn's connections, which also tell who is at the other end of a Unix socket.

Those of WebSockets can be spoken to directly: on the way through ASGI each frame, in and out, waits for the
turn of a task, which takes as long as all that is done with it.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import Callable, Generator
from typing import Any

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State
from websockets.streams import StreamReader

try:
    from websockets.speedups import apply_mask
except ImportError:  # where it was installed without its C part
    from websockets.utils import apply_mask

from postroom import host
from postroom.server.haste import Hasty

_LASTS, _LINE = "postroom.lasts", "postroom.line"
_TEXT, _MASKED, _LONGER = 0x81, 0x80, 126  # how a frame begins, by RFC 6455: a whole text; its length
_SMALL, _LARGE = struct.Struct("!BBH").pack, struct.Struct("!BBQ").pack
_MOST_READ = 1 << 16  # bytes in one go: for twice as many the C library has the kernel map pages each time
_PING, _PONG = 20.0, 20.0  # seconds: a WebSocket is asked so often whether it is there, and may take so long
_AT_EOF = getattr(getattr(StreamReader, "at_eof", None), "__code__", "")
_SOL_LOCAL, _LOCAL_PEERPID = 0, 0x002  # as macOS numbers them; Python names neither


def peer(link: Any) -> tuple[str, int] | None:
    """`("uid:1000", pid)` at a Unix socket; no address of a network looks like that. None for all others."""
    if link is None or link.family != getattr(socket, "AF_UNIX", None):
        return None
    if hasattr(socket, "SO_PEERCRED"):
        found = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, uid, _ = struct.unpack("3i", found)
        return f"uid:{uid}", pid
    if sys.platform == "darwin":
        [pid] = struct.unpack("i", link.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i")))
        return f"uid:{host.user()}", pid  # the socket's mode lets nobody else connect
    return f"uid:{host.user()}", 0


def hasten(link: Any) -> None:
    """Send what is small at once. asyncio does so only for sockets that were made as TCP in so many words."""
    if link is not None and link.family in (socket.AF_INET, socket.AF_INET6):
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Http(Hasty):
    """An HTTP connection, which may become a WebSocket."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        link = transport.get_extra_info("socket")
        hasten(link)
        self.client = peer(link) or self.client

    def shutdown(self) -> None:
        """The server ends: whoever waits for something to happen does not hold that up."""
        super().shutdown()
        if not (self.scope or {}).get(_LASTS) or self.cycle.response_complete:
            return
        if self.transport.get_write_buffer_size():  # it does not read what there was
            self.transport.abort()
        else:
            self.transport.close()


def lasts(scope: Scope) -> None:
    """Note of a request that it is answered when something happens, or for as long as somebody is there."""
    scope[_LASTS] = True


@contextlib.contextmanager
def lasting(scope: Scope) -> Generator[None]:
    """The same while it waits: what it waited for may be claimed by then, and must arrive."""
    lasts(scope)
    try:
        yield
    finally:
        scope[_LASTS] = False


def line(scope: Scope) -> "WebSocket | None":
    """By which a WebSocket came, if it is one of ours."""
    return scope["extensions"].get(_LINE)


class WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket. What `hear` does not take, and what `write` does not, goes the usual way."""

    hear: Callable[[str], bool] | None = None  # told each text that comes; False: it is left to `receive`
    _is_left = False  # whether the one that is being read is
    _pong = b""  # that nobody has read yet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.client = peer(transport.get_extra_info("socket")) or self.client
        if hasattr(transport, "max_size"):  # of asyncio's own
            transport.max_size = _MOST_READ  # pyright: ignore[reportAttributeAccessIssue] - not in its contract

    async def run_asgi(self) -> None:
        scope: Any = self.scope  # uvicorn has a list of what may be in there
        scope["extensions"][_LINE] = self
        await super().run_asgi()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # it is answered; uvicorn would log that it was not

    def data_received(self, data: bytes) -> None:
        """Most of what comes is one text in one frame, and needs no parser that can stop in the middle."""
        is_free = self.hear is not None and not self.close_sent and self.queue.empty()
        text = self._whole(data) if is_free else None
        if text is not None and self.hear is not None:
            if self.hear(text):
                return
            self._is_left = True
        super().data_received(data)
        self._is_left = False

    def _whole(self, data: bytes) -> str | None:
        """The text that this is, if it is one frame and nothing else has begun; the parser has all else."""
        conn = self.conn
        if data[0] != _TEXT or conn.state is not State.OPEN or getattr(conn, "current_size", 0) is not None:
            return None
        size, at = data[1] - _MASKED if len(data) > 1 else -1, 2
        if size == _LONGER and len(data) > _LONGER:
            size, at = int.from_bytes(data[2:4], "big"), 4
        is_whole = 0 <= size == len(data) - at - 4 and (size < _LONGER) == (at == 2)
        if not is_whole or not _is_between_frames(conn.parser):
            return None
        try:
            return apply_mask(data[at + 4 :], data[at : at + 4]).decode()
        except UnicodeDecodeError:
            return None

    def handle_ping(self) -> None:
        """Who does not read is answered only the latest, once it does."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self._pong = b"".join(self.conn.data_to_send())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._pong:
            self.transport.write(self._pong)
            self._pong = b""

    def keepalive_timeout(self) -> None:
        """Ends a connection that did not answer, also one that takes nothing any more, not even a goodbye."""
        if self.read_paused and self.writable.is_set():  # the answer may lie unread, for we read it slowly
            self.pong_timer = self.loop.call_later(_PONG, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def handle_text(self, event: Frame) -> None:
        is_free = event.fin and not self.close_sent and self.queue.empty()
        if self.hear is None or self._is_left or not is_free:
            super().handle_text(event)
            return
        try:
            is_taken = self.hear(bytes(event.data).decode())
        except UnicodeDecodeError:
            is_taken = False
        if not is_taken:
            super().handle_text(event)

    def write(self, text: str) -> bool:
        """Send a text now, if the other end reads what it is sent; whether that was done."""
        if not self.writable.is_set() or self.close_sent or self.disconnected or self.transport.is_closing():
            return False
        if self.conn.state is not State.OPEN:  # the other end has said goodbye
            return False
        content = text.encode()
        size = len(content)
        if size < _LONGER:
            head = bytes((_TEXT, size))
        else:
            head = _SMALL(_TEXT, _LONGER, size) if size < 1 << 16 else _LARGE(_TEXT, _LONGER + 1, size)
        self.transport.write(head + content)
        return True


def _is_between_frames(parser: Any) -> bool:
    """Whether the parser of `websockets` has read all that came, and waits for a frame to begin.

    That is not in its contract: of one that is made otherwise nobody can tell, and it reads everything.
    """
    while (inner := getattr(parser, "gi_yieldfrom", None)) is not None:
        parser = inner
    return getattr(parser, "gi_code", None) is _AT_EOF


class Quiet(uvicorn.Server):
    """A server that sleeps until it is told to end: the usual one looks ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ends.wait()

    def end(self) -> None:
        """From its own loop."""
        self.should_exit = True
        self._ends.set()


def server(app: Any, *, cert: str = "", key: str = "") -> Quiet:
    """One that serves an application on sockets that it is given."""
    return Quiet(
        uvicorn.Config(
            app, http=Http, ws=WebSocket, loop="asyncio", lifespan="off", log_config=None, access_log=False,
            proxy_headers=False, server_header=False, date_header=False, timeout_graceful_shutdown=2,
            timeout_keep_alive=60,
            ws_max_size=1 << 20, ws_per_message_deflate=False, ws_ping_interval=_PING, ws_ping_timeout=_PONG,
            ssl_certfile=cert or None,
            ssl_keyfile=key or None, limit_concurrency=2048,
        )
    )  # fmt: skip
