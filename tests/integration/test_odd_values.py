"""Values that are JSON and yet nothing that anybody means: refused, and whoever asked is told."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from postroom.errors import InvalidValue
from postroom.room.local import LocalRoom
from tests.relayed import headers_of, linked
from tests.served import Served, served

HALF = "\ud800"
ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room) as found:
        yield found


def test_a_refusal_can_quote_whatever_it_refuses():
    told = InvalidValue(f"no {HALF}", field=HALF, near=[HALF, {HALF: ("é", 1, None)}]).as_json()
    assert json.dumps(told, ensure_ascii=False).encode()
    assert told["near"] == ["\\ud800", {"\\ud800": ["é", 1, None]}]


@pytest.mark.parametrize(
    "more",
    [{HALF: "x"}, {"sender": HALF}, {"metadata": {HALF: 1}}, {"thread": HALF}, {"type": HALF}, {"to": HALF}],
)
def test_half_a_character_ends_no_connection_and_is_no_error_of_the_server(web: Served, more: dict[str, Any]):
    said: dict[str, Any] = {"to": "planner", "body": "x", **more}
    found = web.post("/messages", said, token=web.token("builder"))
    assert 400 <= found.status < 500, found
    with linked(web, "builder") as builder:
        assert "error" in builder.ask("send", **said)
        assert builder.ask("ping")["ok"] == {}


@pytest.mark.parametrize("name", ["\ud800", "kind", "reason"])
def test_half_a_character_said_of_an_interrupt_is_refused(web: Served, name: str):
    web.room.join("human:ana")
    found = web.post("/agents/builder/interrupt", {name: HALF}, token=web.token("human:ana"))
    assert 400 <= found.status < 500, found


@pytest.mark.parametrize("number", [1 << 63, (1 << 63) - 1, -1, -(1 << 63), 10**18, 10**400])
@pytest.mark.parametrize("name", ["before", "after"])
@pytest.mark.parametrize("path", ["messages?", "messages?q=x&", "search?q=x&"])
def test_a_number_that_no_message_has_is_no_error_of_the_server(
    web: Served, path: str, name: str, number: int
):
    found = web.get(f"/{path}{name}={number}", token=web.token("builder"))
    assert found.status in (200, 400), found
    with linked(web, "builder") as builder:
        op, words = path.split("?")
        answer = builder.ask(op, **{name: number}, **({"q": "x"} if words else {}))
        assert answer.get("error") in (None, "invalid_value"), answer
        assert builder.ask("ping")["ok"] == {}


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000, "9" * 30])
def test_more_digits_than_python_reads_are_refused(web: Served, digits: str):
    token = web.token("builder")
    assert web.get(f"/stream?chars={digits}", token=token).status == 400
    with pytest.raises(InvalidStatus) as refused:
        linked(web, "builder", window=digits)
    assert refused.value.response.status_code == 400


def test_a_wait_of_more_than_any_number_is_the_longest_there_is(web: Served):
    web.room.send("builder", "hi")
    with _tools(web) as link:
        link.socket.send(_call(2, "inbox", '{"wait": ' + "9" * 400 + "}"))
        assert "hi" in json.dumps(link.raw()["result"])


@pytest.mark.parametrize("odd", ["[" * 3000 + "]" * 3000, "9" * 4400, '{"id": 7, "x": ' + "9" * 4400 + "}"])
@pytest.mark.parametrize("number", ['"a b\\\\"', "7"])
def test_a_request_of_the_tools_that_cannot_be_read_is_answered_by_its_number(
    web: Served, odd: str, number: str
):
    with _tools(web) as link:
        link.socket.send(_call(number, "inbox", odd))
        assert link.raw()["id"] == json.loads(number)
        link.socket.send(
            '{"params": {"id": 3, "x": [' + odd + ']}, "method": "ping", "id": ' + number + "}\n"
        )
        assert link.raw()["id"] == json.loads(number)


@pytest.mark.parametrize(
    "broken", ['{"id": 1, "x": NaN}', '{"id": 1', '{"id": ' + "9" * 4400 + "}", "9" * 4400]
)
def test_what_has_no_number_that_can_be_read_is_answered_without_one(web: Served, broken: str):
    with _tools(web) as link:
        link.socket.send(broken + "\n")
        assert link.raw()["id"] is None


def _call(number: object, name: str, args: str) -> str:
    params = '{"name": "' + name + '", "arguments": ' + args + "}"
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}\n'


def _tools(web: Served) -> Any:
    link = linked(web, "", path="/mcp/lines?", headers=headers_of(web, "builder"))
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ABOUT}
    link.socket.send(json.dumps(opening) + "\n")
    link.raw()
    return link
