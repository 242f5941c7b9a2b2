"""A token is revoked while what it has opened is open: it gets nothing that comes from then on."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from postroom.model.ladder import State
from postroom.room import aio
from postroom.room.local import LocalRoom
from postroom.room.token import revoke
from postroom.server import doorway
from tests.process import BOUND
from tests.relayed import headers_of, linked
from tests.served import Served, served

pytestmark = pytest.mark.promise("web-identity")

ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ABOUT}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room) as found:
        yield found


def end(web: Served) -> None:
    revoke(web.room.home, web.room.known("builder"))


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once somebody who waits has looked in vain."""
    found, readable = threading.Event(), aio._readable

    async def noted(*args: Any) -> None:
        found.set()
        await readable(*args)

    monkeypatch.setattr(aio, "_readable", noted)
    return found


# Each waits for mail, as long as it may; what it was told in the end.


def taking(web: Served, token: str) -> str:
    return web.post("/inbox/take", {"timeout": 300}, token=token).content.decode()


def waiting(web: Served, token: str) -> str:
    return web.get("/inbox/wait?timeout=300", token=token).content.decode()


def asking(web: Served, token: str) -> str:
    body = {"to": "planner", "body": "x", "timeout": 300}
    return web.post("/ask", body, token=token).content.decode()


def relaying(web: Served, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    with linked(web, "builder", headers=headers, window=0) as builder:
        return json.dumps(builder.ask("take", timeout=300))


def called(web: Served, token: str, name: str, args: dict[str, Any]) -> str:
    begun = web.ask("POST", "/mcp", OPENING, prefix="", token=token, headers=ACCEPT)
    mine = ACCEPT | {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    said = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": args}}
    return web.ask("POST", "/mcp", said, prefix="", token=token, headers=mine).content.decode()


def by_tool(web: Served, token: str) -> str:
    return called(web, token, "inbox", {"wait": 300})


def asking_by_tool(web: Served, token: str) -> str:
    return called(web, token, "ask", {"to": "planner", "body": "x", "wait": 300})


WAITING: list[Callable[[Served, str], str]] = [taking, waiting, asking, relaying, by_tool, asking_by_tool]


@pytest.mark.parametrize("wait", WAITING)
def test_who_waits_gets_nothing_that_was_sent_after_its_token_was_revoked(
    web: Served, wait: Callable[[Served, str], str], asleep: threading.Event
):
    token, told = web.token("builder"), list[str]()
    thread = threading.Thread(target=lambda: told.append(wait(web, token)), daemon=True)
    thread.start()
    assert asleep.wait(BOUND)
    end(web)
    if "asking" in wait.__name__:
        [question] = web.room.peek("planner")
        ref = web.room.reply(question, "a secret", agent="planner").id
    else:
        ref = web.room.send("builder", "a secret", subject="a secret").id
    thread.join(BOUND)
    assert told
    assert "secret" not in told[0]
    assert web.room.receipts(ref).deliveries[0].state is State.STORED


@pytest.mark.parametrize("wait", [taking, relaying, by_tool])
def test_who_waits_is_sent_away_when_its_token_is_revoked(
    web: Served,
    wait: Callable[[Served, str], str],
    asleep: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(doorway, "_LOOK", 0.05)
    token, told = web.token("builder"), list[str]()

    def run() -> None:
        try:
            told.append(wait(web, token))
        except ConnectionClosed as exc:
            told.append(repr(exc))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert asleep.wait(BOUND)
    end(web)
    thread.join(BOUND)
    assert told


def test_the_stream_is_not_told_of_what_comes_after_however_busy_the_room_is(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    link = web.connection()
    link.request("GET", "/api/v1/stream", headers=headers_of(web, "builder"))
    stream = link.getresponse()
    web.room.send("builder", "while it is one")
    while b"while it is one" not in stream.readline():
        pass
    end(web)
    monkeypatch.setattr(doorway, "_LOOK", 0.0)
    web.room.send("builder", "a secret")
    assert b"secret" not in stream.read()
    link.close()


def test_a_session_of_the_tools_is_closed(web: Served, monkeypatch: pytest.MonkeyPatch):
    """What it has subscribed to is told on it."""
    monkeypatch.setattr(doorway, "_LOOK", 0.05)
    headers = headers_of(web, "builder")
    begun = web.ask("POST", "/mcp", OPENING, prefix="", headers=headers | ACCEPT)
    mine = headers | ACCEPT | {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    link = web.connection()
    link.request("GET", "/mcp", headers=mine)
    stream = link.getresponse()
    assert stream.status == 200
    end(web)
    stream.read()
    link.close()


def test_a_stream_of_lines_is_closed(web: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doorway, "_LOOK", 0.05)
    with linked(web, "", path="/mcp/lines?", headers=headers_of(web, "builder")) as link:
        link.socket.send(json.dumps(OPENING) + "\n")
        link.raw()
        subscribe: dict[str, Any] = {"uri": "postroom://inbox"}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": subscribe}
        link.socket.send(json.dumps(asked) + "\n")
        link.raw()
        end(web)
        with pytest.raises(ConnectionClosed) as closed:
            link.raw()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == doorway.NOBODY
