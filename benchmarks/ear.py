"""A WebSocket client that costs little, for `cases/relay.py`: a thousand must not be what is measured."""

import asyncio
import json
import time
from typing import Any, cast

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri


class Ear(asyncio.Protocol):
    """Notes when each text with a `cursor` came, says that it was seen, and forgets it."""

    def __init__(self, url: str, headers: dict[str, str], crowd: "Crowd") -> None:
        self._wire = ClientProtocol(parse_uri(url), max_size=None)
        self._headers, self._crowd = headers, crowd

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        request = self._wire.connect()
        request.headers.update(self._headers)
        self._wire.send_request(request)
        self._flush()

    def data_received(self, data: bytes) -> None:
        at = time.monotonic_ns()
        self._wire.receive_data(data)
        for event in self._wire.events_received():
            if isinstance(event, Frame):
                if event.opcode is Opcode.TEXT:
                    self._hear(json.loads(bytes(event.data)), at)
            else:
                self._crowd.come()
        self._flush()

    def _hear(self, said: dict[str, Any], at: int) -> None:
        if cursor := said.get("cursor"):
            self._wire.send_text(json.dumps({"op": "seen", "cursor": cursor}).encode())
            self._crowd.hear(at)

    def _flush(self) -> None:
        if output := self._wire.data_to_send():
            self._transport.write(b"".join(output))

    def close(self) -> None:
        self._transport.close()


class Crowd:
    """All of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._here = 0
        self._times: list[int] = []
        self._is_whole = asyncio.Event()

    def come(self) -> None:
        self._here += 1
        if self._here == self._size:
            self._is_whole.set()

    async def gathered(self) -> None:
        await self._is_whole.wait()

    def hear(self, at: int) -> None:
        self._times.append(at)
        if len(self._times) == self._size:
            self._is_whole.set()

    async def heard(self) -> list[int]:
        """When each has heard what was said last."""
        await self._is_whole.wait()
        return self._times

    def listen(self) -> None:
        """Once more."""
        self._is_whole.clear()
        self._times = []
