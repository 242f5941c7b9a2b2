"""The page of the demo's room: served by this process, at a port that is free, and gone with it."""

import asyncio
import socket
import threading
from types import TracebackType
from typing import Self

from postroom.room.local import LocalRoom
from postroom.server.app import application
from postroom.server.desk import Desk
from postroom.server.guard import Premises
from postroom.server.line import Quiet, server
from postroom.server.port import Bridges

_PATIENCE = 10.0  # seconds for it to end
_LASTS = 3600.0  # seconds in which its link can be opened: nobody hurries a newcomer


class Page:
    """`with Page(room, person, bridges) as page`: `page.url` logs a browser in, once."""

    def __init__(self, room: LocalRoom, person: str, bridges: Bridges) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self._desk = Desk(room, bridges, passing=True)
        self._premises = Premises(f"postroom_{port}")
        self._begun = threading.Event()
        self._server: Quiet | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        once = self._desk.links.make(room.join(person).id, lasts=_LASTS)
        self.url = f"http://127.0.0.1:{port}/login?once={once}"

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = server(application(self._desk, self._premises))
        self._begun.set()
        await self._server.serve([self._listening])
        await self._desk.end()

    def __enter__(self) -> Self:
        self._thread.start()
        self._begun.wait(_PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._loop is not None and self._server is not None:
            self._loop.call_soon_threadsafe(self._server.end)
            self._thread.join(_PATIENCE)
