"""uvicorn's connections, which also tell who is at the other end of a Unix socket."""

import asyncio
import socket
import struct
import sys
from typing import Any

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from postroom import host
from postroom.server.haste import Hasty

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


class WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.client = peer(transport.get_extra_info("socket")) or self.client


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
            ws_max_size=1 << 20, ws_per_message_deflate=False, ssl_certfile=cert or None,
            ssl_keyfile=key or None, limit_concurrency=2048,
        )
    )  # fmt: skip
