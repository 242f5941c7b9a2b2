"""A room that is served: a real server at a port and a Unix socket, and a client that says what it likes."""

import asyncio
import http.client
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from postroom.config import Settings
from postroom.daemon.tools import Agency
from postroom.room.local import LocalRoom
from postroom.room.token import issue
from postroom.server import login
from postroom.server.app import application
from postroom.server.desk import Desk
from postroom.server.guard import Premises
from postroom.server.line import server
from postroom.server.port import Bridges, NoBridges

BOUND = 30.0  # seconds for anything


class Answer(NamedTuple):
    """What the server said."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Served:
    """A server in a thread of this process, and requests to it."""

    def __init__(
        self,
        room: LocalRoom,
        path: str,
        bridges: Bridges | None = None,
        *,
        rate: int = 0,
        cert: str = "",
        make: Any = None,
        around: Any = None,
    ) -> None:
        """`make`: another server of the tools than the usual one; `around`: what stands before all of it."""
        self.room = room
        self._cert = cert
        self.path = path
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._unix.bind(path)
        self._unix.listen()
        self.cookie_name = f"postroom_{self.port}"
        self._rate, self._bridges = rate, bridges or NoBridges()
        self._make, self._around = make, around
        self._begun = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._begun.wait(BOUND)

    async def _serve(self) -> None:
        self.desk = Desk(self.room, self._bridges)
        self._loop = asyncio.get_running_loop()
        tools = Agency(self.desk, self._make).routes
        app: Any = application(self.desk, Premises(self.cookie_name, rate=self._rate), tools)
        app = self._around(app) if self._around else app
        self._servers = [server(app, cert=self._cert), server(app)]
        serving = [
            asyncio.create_task(one.serve([link]))
            for one, link in zip(self._servers, (self._listening, self._unix), strict=True)
        ]
        self._begun.set()
        await asyncio.gather(*serving)
        await self.desk.end()

    def close(self) -> None:
        """As often as one likes."""
        for one in self._servers if self._thread.is_alive() else ():
            self._loop.call_soon_threadsafe(one.end)
        self._thread.join(BOUND)

    @property
    def url(self) -> str:
        return f"{'https' if self._cert else 'http'}://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """Connections that are open."""
        return sum(len(one.server_state.connections) for one in self._servers)

    def token(self, name: str, *scopes: str) -> str:
        return issue(self.room, self.room.known(name), scopes)

    def cookie(self, name: str) -> str:
        """That of a browser in which somebody has logged in."""
        secret = login.begin(self.room.home, self.room.known(name).id)
        return f"{self.cookie_name}={secret}"

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "",
        headers: dict[str, str] | None = None,
        prefix: str = "/api/v1",
    ) -> Answer:
        """One request, as a program makes it."""
        said = {"Authorization": f"Bearer {token}"} if token else {}
        content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        link = self.connection()
        try:
            link.request(method, prefix + path, content, said | (headers or {}))
            answer = link.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            link.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.ask("POST", path, {} if body is None else body, **options)


@contextmanager
def served(room: LocalRoom, **options: Any) -> Iterator[Served]:
    found = Served(room, os.path.join(room.home, "http.sock"), **options)
    try:
        yield found
    finally:
        found.close()


def main(home: str) -> None:
    """A server in a process of its own, which can be killed: it says its port."""
    room = LocalRoom(home, Settings(sender_rate=0), project="p")
    web = Served(room, os.path.join(home, "http.sock"))
    sys.stdout.write(f"{web.port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
