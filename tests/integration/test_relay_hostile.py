"""Clients of the relay that mean no good, or make mistakes."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus

from postroom.room.local import LocalRoom
from postroom.server import line, relay
from tests.process import until
from tests.relayed import headers_of, linked
from tests.served import BOUND, Served, served

pytestmark = pytest.mark.promise("web-refuses")

RELAY, COMPAT = "/ws/projects/p?agent=builder", "/ws/agent/messages/p?agent_id=builder"


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("human:ana")
    with served(room) as found:
        yield found


@contextmanager
def plain(web: Served) -> Iterator[socket.socket]:
    """A WebSocket of `builder` that nobody tends: it answers nothing, and reads what it is told to."""
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        head = (
            f"GET {RELAY} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: {headers_of(web, 'builder')['Authorization']}\r\n\r\n"
        )
        link.sendall(head.encode())
        assert link.recv(12) == b"HTTP/1.1 101"
        yield link


def refused(web: Served, path: str, headers: dict[str, str], **query: Any) -> tuple[int, str]:
    """The answer before there is a WebSocket: its status and its error."""
    with pytest.raises(InvalidStatus) as found:
        linked(web, "builder", path=path, headers=headers, **query)
    response = found.value.response
    return response.status_code, json.loads(response.body or b"{}")["error"]


@pytest.mark.parametrize("path", [RELAY, COMPAT])
def test_who_brings_nothing_or_a_wrong_token_is_refused_before_there_is_a_websocket(web: Served, path: str):
    assert refused(web, path, {}) == (401, "not_logged_in")
    assert refused(web, path, {"Authorization": f"Bearer pr_{'0' * 48}"}) == (401, "unknown_token")


@pytest.mark.parametrize("path", [RELAY, COMPAT])
def test_a_foreign_page_is_refused_though_it_has_the_cookie_or_a_token(web: Served, path: str):
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{web.port + 1}"):
        brought = {"Origin": origin, "Cookie": web.cookie("human:ana")}
        assert refused(web, path, brought) == (403, "foreign_page")
        assert refused(web, path, {"Origin": origin, **headers_of(web, "builder")}) == (403, "foreign_page")
    assert refused(web, path, {"Cookie": web.cookie("human:ana")}) == (403, "foreign_page")


@pytest.mark.promise("web-identity")
def test_nobody_takes_the_place_of_another_with_its_cursor(web: Served):
    sent = web.room.send("builder", "one").id
    with linked(web, "builder") as builder:
        frame = builder.mail()
        with linked(web, "planner", cursor=frame["cursor"]) as planner:
            planner.hear("hello")
            assert builder.ask("seen", cursor=frame["cursor"])["ok"] == {"seen": 1}
    assert web.room.receipts(sent).deliveries[0].state == "seen"


@pytest.mark.promise("web-identity")
@pytest.mark.parametrize("path", [RELAY, COMPAT])
def test_nobody_connects_as_another(web: Served, path: str):
    for name in ("planner", "human:ana"):
        assert refused(web, path, headers_of(web, name)) == (403, "not_your_name")


def test_an_agent_does_not_look_on_and_a_person_does_not_read_an_agents_mail(web: Served):
    assert refused(web, "/ws/projects/p", headers_of(web, "builder")) == (403, "lacks_scope")
    assert refused(web, "/ws/agent/messages/p", headers_of(web, "builder")) == (403, "lacks_scope")


@pytest.mark.parametrize(
    ("path", "status"),
    [("/ws/projects/nowhere?agent=builder", 404), ("/ws/projects/p?agent=builder&cursor=x", 400),
     ("/ws/projects/p?agent=builder&window=-1", 400), ("/ws/projects/p?agent=builder&window=1001", 400),
     ("/ws/projects/p?agent=builder&window=1e9", 400),
     ("/ws/projects/p?agent=builder&no=1", 400), ("/ws/projects/p?agent=b%00c", 400),
     ("/ws/projects/p?agent=builder&cursor=../../x.1", 400)],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_there_is_a_websocket(web: Served, path: str, status: int):
    assert refused(web, path, headers_of(web, "builder"))[0] == status


@pytest.mark.parametrize(
    "path",
    ["/ws/projects/..%2fp?agent=builder", "/ws/projects/%2e%2e?agent=builder", "/ws/projects/?agent=builder",
     "/ws/projects/p/../../healthz?agent=builder", "/ws/projects/p%00?agent=builder", "/ws/?agent=builder",
     "/ws/agent/messages/..%2f..%2fp?agent_id=builder", "/api/v1/inbox?agent=builder", "//ws/projects/p"],
)  # fmt: skip
def test_no_other_path_leads_to_a_mailbox(web: Served, path: str):
    with pytest.raises(InvalidStatus) as found:
        linked(web, "builder", path=path)
    assert found.value.response.status_code in (400, 403, 404)


def test_who_guesses_tokens_is_slowed_down_and_who_has_one_is_not(web: Served):
    statuses = {refused(web, RELAY, {"Authorization": f"Bearer pr_{n:048}"})[0] for n in range(150)}
    assert statuses == {401, 429}
    with linked(web, "builder") as builder:
        assert builder.ask("ping")["ok"] == {}


@pytest.mark.parametrize(
    "frame",
    ["", "{", "[]", "null", "7", '"x"', "{}", '{"op": 7}', '{"op": "nothing"}', "[" * 100_000,
     '{"op": "seen"}',
     '{"op": "seen", "cursor": 7}', '{"op": "seen", "cursor": "x"}', '{"op": "send", "to": ["x"]}',
     '{"op": "send", "to": "planner", "body": "x", "no": 1}', '{"op": "ack"}', '{"op": "ack", "ref": "x"}',
     '{"id": {}, "op": "ping"}', '{"op": "send", "to": "planner", "body": "\\ud800"}', '{"op": "__init__"}',
     '{"op": "settle_all", "claims": [{}]}', '{"op": "send", "to": "planner", "body": "x", "after": NaN}'],
)  # fmt: skip
def test_a_bad_frame_is_told_what_is_wrong_with_it_and_nothing_else_happens(web: Served, frame: str):
    with linked(web, "builder") as builder:
        builder.hear("presence")
        builder.socket.send(frame)
        assert {"error", "message", "hint"} <= set(builder.raw())
        assert builder.ask("ping")["ok"] == {}
    assert web.room.sent("builder") == []


def test_a_frame_of_bytes_is_no_frame(web: Served):
    with linked(web, "builder") as builder:
        builder.hear("presence")
        builder.socket.send(b"\x00\xff")
        assert builder.raw()["error"] == "usage"


@pytest.mark.parametrize("path", [RELAY, COMPAT])
def test_a_frame_of_10_mb_ends_its_connection_and_no_other(web: Served, path: str):
    with linked(web, "planner") as planner, linked(web, "builder", path=path) as builder:
        with suppress(ConnectionClosed, OSError):  # it may end in the middle
            builder.socket.send("x" * 10_000_000)
        with pytest.raises((ConnectionClosed, OSError)):
            builder.hear("nothing")
        assert "ok" in planner.ask("send", to="builder", body="still here")


def test_what_is_no_websocket_frame_ends_its_connection_and_no_other(web: Served):
    with linked(web, "planner") as planner:
        with plain(web) as link:
            link.sendall(b"\xff" * 200)
            while link.recv(1 << 16):
                pass
        assert planner.ask("ping")["ok"] == {}


def test_a_flood_is_read_more_slowly_and_holds_up_nobody(open_room):
    from tests.conftest import UNLIMITED

    room = open_room("planner", settings=UNLIMITED._replace(http_rate=20))
    for name in ("planner", "builder"):
        room.join(name)
    with served(room) as web, linked(web, "planner") as flooding, linked(web, "builder") as builder:
        for n in range(130):
            flooding.say(id=n, op="ping")
        assert builder.ask("ping")["ok"] == {}
        answered: list[int] = []
        while len(answered) < 130:
            answered += [one["id"] for one in (flooding.raw(),) if "ok" in one]
        assert answered == list(range(130))  # not one is dropped


def test_each_frame_counts_once_whether_it_can_be_done_at_once_or_not(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    counted: list[str] = []
    monkeypatch.setattr(relay.Rates, "take", lambda _, caller: counted.append(caller) or 0.0)
    with linked(web, "builder") as builder:
        for frames, op in enumerate(["ping", "agents", "ping", "topics", "agents"], 1):
            assert "ok" in builder.ask(op)
            until(lambda frames=frames: counted.count("") == frames)


def test_a_plain_frame_needs_no_parser(web: Served, monkeypatch: pytest.MonkeyPatch):
    """It says nothing of who is right, but of what the relay is quick by."""
    parsed: list[bytes] = []
    usual = WebSocketsSansIOProtocol.data_received

    def data_received(self: WebSocketsSansIOProtocol, data: bytes) -> None:
        parsed.append(data)
        usual(self, data)

    with linked(web, "builder") as builder:
        builder.ask("ping")
        monkeypatch.setattr(WebSocketsSansIOProtocol, "data_received", data_received)
        assert "ok" in builder.ask("ping")
        assert "ok" in builder.ask("send", to="planner", body="x" * 1000)
        assert not parsed
        assert "ok" in builder.ask("send", to="planner", body="x" * 100_000)  # comes in pieces
        assert parsed


def test_who_asks_and_reads_no_answer_is_not_read_any_more(web: Served):
    """What it may leave unread is bounded; when it reads again, it goes on."""
    with linked(web, "builder") as builder:
        web.room.send("builder", "x" * 100_000)
        ref = builder.mail()["mail"]["id"]
        builder.socket.socket.settimeout(BOUND)
        for n in range(100):
            builder.say(id=n, op="message", ref=ref)
        answered = 0
        while answered < 100:
            answered += "ok" in builder.raw()


@pytest.fixture
def impatient(room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that soon asks whether a client is still there."""
    for name in ("_PING", "_PONG"):
        monkeypatch.setattr(line, name, 0.1)
    with served(room) as found:
        yield found


@pytest.mark.promise("relay-unproven")
def test_who_answers_no_ping_is_shown_out_and_what_it_had_is_offered_again(impatient: Served):
    sent = impatient.room.send("builder", "hello")
    with plain(impatient) as link:
        heard = b"".join(iter(lambda: link.recv(1 << 16), b""))
    assert sent.id.encode() in heard
    assert heard.endswith((1011).to_bytes(2, "big") + b"keepalive ping timeout")
    until(lambda: impatient.room.receipts(sent.id).deliveries[0].state == "stored")
    again = impatient.room.take("builder")
    assert again is not None
    assert (again.id, again.delivery.shown_before) == (sent.id, True)


@pytest.mark.promise("relay-unproven")
def test_who_reads_nothing_any_more_does_not_keep_its_mail_for_ever(impatient: Served):
    """As a machine that has gone does: what is written to it lies in buffers, and so would a goodbye."""
    refs = [impatient.room.send("builder", "x" * 200_000).id for _ in range(100)]
    with plain(impatient):
        until(lambda: impatient.room.receipts(refs[20]).attempts)
        until(lambda: impatient.open == 0)
        until(lambda: len(impatient.room.peek("builder", limit=200)) == len(refs))


def test_a_token_that_is_revoked_ends_its_connection(web: Served, monkeypatch: pytest.MonkeyPatch):
    from postroom.room.token import revoke
    from postroom.server import doorway

    monkeypatch.setattr(doorway, "_LOOK", 0.05)
    with linked(web, "builder") as builder:
        assert builder.ask("ping")["ok"] == {}
        revoke(web.room.home, web.room.known("builder"))
        with pytest.raises(ConnectionClosed) as closed:
            builder.hear("nothing")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == doorway.NOBODY
