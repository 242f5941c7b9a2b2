"""What a WebSocket is told, however it comes in: the quick way and the parser's must hear the same."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from postroom.server.line import WebSocket

pytestmark = pytest.mark.promise("web-refuses")

LONG, LONGEST = "x" * 300, "ü" * 40_000


class Outlet(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.unread, self.is_aborted = b"", 0, False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.is_aborted = True

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass


def text(said: str | bytes, *, fin: bool = True, opcode: Opcode = Opcode.TEXT) -> bytes:
    return Frame(opcode, said.encode() if isinstance(said, str) else said, fin).serialize(mask=True)


def told(*pieces: bytes, hear: Callable[[str], bool] | None = None) -> tuple[list[str], bytes, WebSocket]:
    """What one that hears is told of what comes in such pieces, what it writes, and itself."""
    return asyncio.run(_told(pieces, hear))


async def _told(
    pieces: tuple[bytes, ...], hear: Callable[[str], bool] | None
) -> tuple[list[str], bytes, WebSocket]:
    accepted, ends, heard = asyncio.Event(), asyncio.Event(), list[str]()

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        accepted.set()
        await ends.wait()

    line = WebSocket(uvicorn.Config(app, ws_per_message_deflate=False), ServerState(), {})
    outlet = Outlet()
    line.connection_made(outlet)
    client = ClientProtocol(parse_uri("ws://localhost/"))
    client.send_request(client.connect())
    line.data_received(b"".join(client.data_to_send()))
    await accepted.wait()
    outlet.written = b""
    line.hear = hear or (lambda said: not heard.append(said))
    for piece in pieces:
        line.data_received(piece)
    line.stop_keepalive()
    ends.set()
    await asyncio.gather(*line.tasks)
    return heard, outlet.written, line


WHOLE = [text("a"), text(LONG), text("ü"), text("")]


@pytest.mark.parametrize(
    "pieces",
    [
        WHOLE,
        [b"".join(WHOLE)],
        [bytes((byte,)) for frame in WHOLE for byte in frame],
        [WHOLE[0][:2], WHOLE[0][2:], *WHOLE[1:]],
        [WHOLE[0] + WHOLE[1][:1], WHOLE[1][1:], *WHOLE[2:]],
        [text(b"", opcode=Opcode.PING), *WHOLE],
    ],
    ids=["a frame each", "all at once", "byte by byte", "after a head", "in a head", "after a ping"],
)
def test_what_is_heard_does_not_depend_on_how_it_is_cut(pieces: list[bytes]):
    assert told(*pieces)[0] == ["a", LONG, "ü", ""]


def test_what_looks_like_a_frame_within_another_is_not_one():
    inner = text("inner")
    outer = text(b"\0" * 10 + inner, opcode=Opcode.BINARY)
    cut = outer.index(outer[-len(inner) :])
    assert told(outer[:cut], inner)[0] == []


def test_a_text_that_comes_in_fragments_is_no_whole_one():
    pieces = [text("a", fin=False), text("b", opcode=Opcode.CONT)]
    assert told(*pieces)[0] == []  # it goes the usual way
    broken = [text("a", fin=False), text("whole")]  # which no client may say in between
    heard, _, line = told(*broken)
    assert (heard, line.close_sent) == ([], True)


def test_what_is_no_text_or_not_masked_ends_the_connection_as_ever():
    for wrong in (Frame(Opcode.TEXT, b"plain").serialize(mask=False), text(b"\xff")):
        heard, _, line = told(wrong)
        assert (heard, line.close_sent) == ([], True)


def test_what_is_not_taken_goes_the_usual_way():
    _, _, line = told(text("no"), hear=lambda _: False)
    assert line.queue.get_nowait() == {"type": "websocket.receive", "text": "no"}


@pytest.mark.parametrize("said", ["", "a", "x" * 125, "x" * 126, LONG, "x" * 65_535, LONGEST])
def test_what_is_written_is_a_frame_of_that_text(said: str):
    line = told()[2]
    outlet: Any = line.transport
    assert line.write(said) is True
    assert outlet.written == Frame(Opcode.TEXT, said.encode()).serialize(mask=False)


def test_nothing_is_written_after_a_goodbye():
    assert told(text(b"\x03\xe8", opcode=Opcode.CLOSE))[2].write("late") is False


@pytest.mark.parametrize(
    ("is_paused", "is_read", "unread", "is_there", "is_aborted"),
    [
        (True, True, 0, True, False),  # its answer to the ping lies behind what it may not have said yet
        (False, True, 0, False, False),
        (False, False, 9, False, True),
        (True, False, 9, False, True),
    ],
    ids=["read slowly by us", "silent", "gone", "gone, and much is unread"],
)
def test_who_does_not_answer_is_given_up_unless_we_have_not_read_it(
    is_paused: bool, is_read: bool, unread: int, is_there: bool, is_aborted: bool
):
    async def run() -> None:
        line = (await _told((), None))[2]
        outlet: Any = line.transport
        outlet.unread, line.read_paused = unread, is_paused
        if not is_read:
            line.pause_writing()
        line.keepalive_timeout()
        asked_again = line.pong_timer is not None
        line.stop_keepalive()
        assert (asked_again, line.conn.state is State.OPEN) == (is_there, is_there)
        assert outlet.is_aborted is is_aborted

    asyncio.run(run())
