"""The end of a daemon: in order, whatever hangs, and nothing that it has answered for is lost."""

import http.client
import json
import os
import pty
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.manifest import Manifest
from postroom.daemon import closing as closings
from postroom.daemon import control, instance, loop
from postroom.daemon.closing import Stage
from postroom.errors import BridgeError
from postroom.room.local import LocalRoom
from tests.process import BOUND, ROOT, environment, eventually, free_port
from tests.tended import Tended

UPGRADE = (
    "GET /ws/projects/p?agent=planner HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Authorization: Bearer {token}\r\n\r\n"
)
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
SERVES = "http_port = PORT\nhttp_rate = 0\nsender_rate = 0\n"


@pytest.fixture
def hung(room: LocalRoom) -> Iterator[Tended]:
    """Of which a bridge never comes back."""
    agent = room.known("builder")
    with subprocess.Popen(["sleep", "1000"]) as program, Tended(room, "tests.hung") as house:
        process = host.identity_of(program.pid)
        manifests.put(room.home, Manifest(agent.id, agent.address, "lines", process))
        yield house
        program.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clients_are_told_and_nothing_of_it_is_left(house: Tended, number: int):
    house.configure(SERVES)
    house.start(serves=True)
    sockets = [config.beside(house.home, name) for name in ("daemon.sock", "http.sock")]
    assert all(map(os.path.exists, sockets))
    with house.linked("planner") as link:
        house.signal(number)
        with pytest.raises(ConnectionClosed) as closed:
            link.hear("the last")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    assert house.process.wait(BOUND) == 0
    assert not any(map(os.path.exists, sockets))
    assert instance.running(house.home) == ""
    assert [one["event"] for one in house.lines()][-2:] == ["ends", "ended"]


WAITS = {
    "inbox": {"wait": 30},
    "ask": {"to": "builder", "body": "now?", "wait": 30},
    "ask_human": {"question": "may I?", "to": "human:ana", "wait": 30},
}


@pytest.mark.parametrize(
    "path", ["/api/v1/stream", "/api/v1/inbox/listen", "/api/v1/inbox/take", "/mcp", *WAITS]
)
def test_who_waits_for_something_to_happen_does_not_hold_it_up(house: Tended, path: str):
    tool, path = (path, "/mcp") if path in WAITS else ("", path)
    house.room.join("human:ana")
    house.configure(SERVES)
    house.start(serves=True)
    headers = {"Authorization": f"Bearer {house.token('planner')}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    with closing(http.client.HTTPConnection("127.0.0.1", house.port, timeout=BOUND)) as link:
        if path == "/mcp":
            link.request("POST", path, json.dumps(HELLO), headers)
            answer = link.getresponse()
            answer.read()
            headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            headers["Accept"] = "text/event-stream"
        if tool or path.endswith("take"):
            params = {"name": tool, "arguments": WAITS.get(tool)}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            headers["Accept"] = "application/json, text/event-stream"
            link.request("POST", path, json.dumps(call if tool else {"timeout": 30}), headers)
            eventually(lambda: house.room.bell.waiting(house.room.known("planner").id))
        else:
            link.request("GET", path, headers=headers)
            assert link.getresponse().status == 200
        assert house.end() == 0
    lines = house.lines()
    assert [one["event"] for one in lines][-2:] == ["ends", "ended"]
    assert [one for one in lines if one["level"] in ("error", "warning")] == []


@pytest.mark.promise("ends")
def test_whatever_was_answered_for_is_in_the_room(house: Tended):
    """Programs send as fast as they can, by HTTP and WebSocket, while it is told to end."""
    house.configure(SERVES)
    house.start(serves=True)
    token, flowing = house.token("planner"), threading.Barrier(5)

    def post(writer: int) -> list[str]:
        told = list[str]()
        link = http.client.HTTPConnection("127.0.0.1", house.port, timeout=BOUND)
        with closing(link):
            while True:
                body = f"{writer} {len(told)}"
                try:
                    words = json.dumps({"to": "builder", "body": body})
                    link.request("POST", "/api/v1/messages", words, {"Authorization": f"Bearer {token}"})
                    answer = link.getresponse()
                    said = json.loads(answer.read())
                except (OSError, http.client.HTTPException, ValueError):
                    return told
                if answer.status != 200:
                    return told
                told.append(said["id"])
                if len(told) == 5:
                    flowing.wait(BOUND)

    def say() -> list[str]:
        told = list[str]()
        with house.linked("planner") as link:
            while True:
                try:
                    told.append(link.ask("send", to="builder", body=f"ws {len(told)}")["ok"]["id"])
                except (ConnectionClosed, KeyError):
                    return told
                if len(told) == 5:
                    flowing.wait(BOUND)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(post, n) for n in range(3)] + [pool.submit(say)]
        flowing.wait(BOUND)
        assert house.end() == 0
        told = [one for writer in writers for one in writer.result(BOUND)]
    assert len(told) >= 20
    kept = {mail.message.id for mail in house.room.peek("builder", limit=100_000)}
    assert set(told) <= kept


def test_a_command_that_was_taken_is_answered_before_it_ends(home: str, room: LocalRoom):
    begun, go = threading.Event(), threading.Event()

    def answer(verb: str, _: object, __: int) -> str:
        begun.set()
        assert go.wait(BOUND)
        return f"done: {verb}"

    host.private_directory(config.beside(home))
    server = control.Server(home, answer)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(control.ask, home, "something")
        assert begun.wait(BOUND)
        closes = pool.submit(server.close)
        eventually(lambda: not os.path.exists(config.beside(home, "daemon.sock")))
        with pytest.raises(BridgeError):
            control.ask(home, "more")
        assert not closes.done()
        go.set()
        assert asked.result(BOUND) == "done: something"
        closes.result(BOUND)


@pytest.mark.promise("ends")
def test_what_stands_where_its_socket_should_be_is_named_and_what_to_do(home: str, room: LocalRoom):
    path = config.beside(home, "daemon.sock")
    os.makedirs(path)
    with pytest.raises(BridgeError, match=re.escape(path)) as caught:
        control.Server(home, lambda *_: None)
    assert path in caught.value.hint


def test_clients_that_hang_hold_nothing_up(house: Tended):
    house.configure(SERVES)
    house.start(serves=True)
    with (
        socket.create_connection(("127.0.0.1", house.port), BOUND) as half,
        socket.create_connection(("127.0.0.1", house.port), BOUND) as silent,
        socket.create_connection(("127.0.0.1", house.port), BOUND) as deaf,
    ):
        half.sendall(b"POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert silent.fileno() >= 0
        deaf.sendall(UPGRADE.format(token=house.token("planner")).encode())
        assert b" 101 " in deaf.recv(64)
        for n in range(200):
            house.room.send("planner", f"{n} {'x' * 20_000}", sender="builder")
        assert house.end() == 0
    assert house.lines("ended")
    assert not os.path.exists(config.beside(house.home, "http.sock"))


@pytest.mark.promise("ends")
@pytest.mark.parametrize("by_command", [True, False])
def test_a_bridge_that_hangs_is_named_and_left(hung: Tended, by_command: bool):
    hung.start(SEAMS="postroom.daemon.loop._AGENTS=0.2")
    if by_command:
        assert hung.line.process("down").code == 0
    assert hung.end() == 0
    [told] = hung.lines("not ended in time")
    assert (told["stage"], told["left"], told["level"]) == ("agents", "p/builder", "warning")
    assert hung.lines("ended")
    assert instance.running(hung.home) == ""


def test_who_does_not_want_to_wait_says_so_twice(hung: Tended):
    hung.start(SEAMS="postroom.daemon.loop._AGENTS=1000")
    hung.signal(signal.SIGTERM)
    eventually(lambda: hung.lines("ends"))
    hung.signal(signal.SIGTERM)
    assert hung.process.wait(BOUND) == 128 + signal.SIGTERM
    assert hung.lines("ended at once")
    assert instance.running(hung.home) == ""
    hung.start(SEAMS="postroom.daemon.loop._AGENTS=0.2")  # its place is free


def test_all_of_it_takes_no_longer_than_down_waits(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_OTEL", "on")  # so that every stage is there
    daemon, stages = loop.Daemon(room.home), list[Stage]()
    monkeypatch.setattr(loop, "close", lambda found: stages.extend(found) or closings.close(found))
    daemon.end()
    assert daemon.run()
    assert "spans" in [stage.name for stage in stages]
    assert sum(stage.seconds for stage in stages) < control.ENDS


@pytest.mark.promise("ends")
def test_it_ends_in_the_order_that_is_written(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    """Who asks before who is asked: each is whole when the one after it is ended, and over when it is."""
    monkeypatch.setenv("POSTROOM_OTEL", "on")
    monkeypatch.setenv("POSTROOM_HTTP_PORT", str(free_port()))
    daemon, begun, over = loop.Daemon(room.home), list[str](), list[str]()

    def noted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            assert begun == over, "one after the other"
            begun.append(name)
            found = act(*args)
            over.append(name)
            return found

        return run

    monkeypatch.setattr(control.Server, "close", noted("commands", control.Server.close))
    assert daemon.spans is not None
    for name, part, how in (
        ("web", daemon.web, "stop"), ("watches", daemon.watches, "finish"), ("agents", daemon, "_let_go"),
        ("spans", daemon.spans, "stop"), ("room", daemon.room, "close"),
        ("place", daemon._instance, "close"),
    ):  # fmt: skip
        monkeypatch.setattr(part, how, noted(name, getattr(part, how)))
    daemon.end()
    assert daemon.run()
    assert over == ["commands", "web", "watches", "agents", "spans", "room", "place"]


@pytest.mark.promise("newer")
def test_in_a_room_that_a_newer_version_has_opened_it_ends_and_says_so_once(house: Tended):
    house.start()
    _alter(house, "UPDATE meta SET min_writer = 999")
    assert house.process.wait(BOUND) == 0
    [told] = [one for one in house.lines() if one["level"] == "error"]
    assert told["event"] == "the room is of a newer version, so it ends"


def test_what_fails_at_every_look_is_told_once_and_when_it_is_over(house: Tended):
    house.start()
    _alter(house, "ALTER TABLE meta RENAME TO elsewhere")
    eventually(lambda: house.lines("tick failed"))
    for _ in range(3):
        house.renew()  # each makes it look again
    assert len(house.lines("tick failed")) == 1
    _alter(house, "ALTER TABLE elsewhere RENAME TO meta")
    eventually(lambda: house.lines("ticks again"))
    assert control.ping(house.home)


def _alter(house: Tended, sql: str) -> None:
    with closing(sqlite3.connect(house.room.store.path, timeout=BOUND)) as connection, connection:
        connection.execute(sql)


def test_who_closes_the_terminal_that_shows_it_ends_it(house: Tended):
    leader, follower = pty.openpty()
    words = ["setsid", "--ctty", sys.executable, "-m", "postroom", "up", "--foreground"]
    env = environment(**house.line.environment)
    shown = subprocess.Popen(words, cwd=ROOT, env=env, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    eventually(lambda: control.ping(house.home))
    os.close(leader)
    try:
        shown.wait(BOUND)
    finally:
        shown.kill()
    assert house.lines("ended")
    assert not house.lines("config read")
