"""What becomes of an HTTP connection when its server ends: what was answered arrives, who waits is let go."""

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from postroom.server.line import Http, lasting, lasts
from tests.process import BOUND

pytestmark = pytest.mark.promise("ends")

ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
MUCH = b"x" * 2_000_000  # more than the buffers of a socket


class App:
    """Answers with much; `way` says how it gets there."""

    def __init__(self, way: str) -> None:
        self._way = way
        self.begun, self.ended, self.done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._way == "waits":
            with lasting(scope):
                self.begun.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
            self.done.set()
            return
        if self._way == "has waited":
            with lasting(scope):
                pass
            self.begun.set()
            await self.ended.wait()
        else:
            lasts(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": MUCH, "more_body": self._way == "streams"})
        self.begun.set()
        if self._way == "streams":
            while (await receive())["type"] != "http.disconnect":
                pass
        self.done.set()


async def arrived(way: str) -> bytes:
    """All that comes to one who begins to read when the server has ended."""
    app, loop = App(way), asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    line = Http(uvicorn.Config(app, http=Http, lifespan="off"), ServerState(), {})
    await loop.connect_accepted_socket(lambda: line, ours)
    with theirs:
        theirs.setblocking(False)
        async with asyncio.timeout(BOUND):
            await loop.sock_sendall(theirs, ASKED)
            await app.begun.wait()
            line.shutdown()
            app.ended.set()
            found = b""
            try:
                while piece := await loop.sock_recv(theirs, 1 << 16):
                    found += piece
            except ConnectionResetError:
                pass
            await app.done.wait()
    return found


@pytest.mark.parametrize("way", ["answers", "has waited"])
def test_an_answer_that_is_read_slowly_arrives(way: str):
    """Whoever waited for it has what it waited for, and nobody else will get that."""
    assert asyncio.run(arrived(way)).count(b"x") == len(MUCH)


def test_who_waits_is_let_go():
    assert asyncio.run(arrived("waits")) == b""


def test_who_reads_no_stream_does_not_hold_it_up():
    assert asyncio.run(arrived("streams")).count(b"x") < len(MUCH)
