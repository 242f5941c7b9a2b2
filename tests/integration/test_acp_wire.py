"""Whatever an agent prints, the connection to it stays, or its loss is said."""

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.bridges.acp import way
from postroom.bridges.acp.wire import Wire, sound
from postroom.bridges.contract import Assent, Doing, Launch, Result, Text
from tests.process import environment, until

KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "sessionId"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
METHODS = st.sampled_from(["session/update", "session/request_permission", "fs/read_text_file", "_x", ""])
VALUES = st.recursive(
    LEAVES | METHODS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
WILLING = Assent(lambda: None, lambda: True)


class Client:
    """Takes what comes."""

    async def session_update(self, **_: Any) -> None: ...

    async def request_permission(self, **_: Any) -> None: ...


@pytest.fixture
def wire() -> Iterator[Wire]:
    inner, outer = os.pipe()
    made = Wire("test", outer, Client(), lambda _: None, lambda: None)
    yield made
    made.close()
    os.close(inner)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(said=st.dictionaries(KEYS, VALUES, max_size=5))
def test_no_line_that_is_sound_ends_the_connection(wire: Wire, said: dict[str, Any]):
    line = json.dumps(said)
    if sound(line):
        wire.feed(line)

    async def is_there() -> bool:
        await asyncio.sleep(0)
        return not wire.agent._conn._disconnected

    assert wire.call(is_there(), 10.0)


@pytest.mark.parametrize(
    "line", ['{"a":' * 200 + "1" + "}" * 200, '{"id": {}}', '{"error": 1}', "[]", "", "{"]
)
def test_what_could_end_it_is_not_sound(line: str):
    assert not sound(line)


def test_an_agent_that_reads_no_more_is_offline_once_that_is_found_out_and_its_turn_is_doubted(
    tmp_path: os.PathLike[str],
):
    script = """
import json, os, sys
for n, line in enumerate(sys.stdin):
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        os.close(0)
        break
    answer = {"protocolVersion": 1} if asked["method"] == "initialize" else {"sessionId": "s"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
import signal
signal.pause()
"""
    launch = Launch("a1", "p/b", ["python3", "-c", script], os.fspath(tmp_path), environment())
    bridge = way.open(way.start(launch))
    try:
        assert bridge.deliver(Text("hello"), WILLING).result is Result.HANDED
        assert bridge.observe().doing is Doing.PROCESSING
        assert bridge.deliver(Text("more"), WILLING).result is Result.REFUSED
        assert not bridge.interrupt().proven
        until(lambda: bridge.observe().reason == "offline")
        assert any("reads nothing" in heard.doubts for heard in bridge.receive())
        assert bridge.deliver(Text("more"), WILLING).reason == "offline"
    finally:
        bridge.close()
    until(lambda: bridge.observe().doing is Doing.GONE)
