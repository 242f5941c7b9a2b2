"""Whatever an agent prints, the connection to it stays, or its loss is said."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.bridges.acp import way
from postroom.bridges.acp.wire import Wire, sound
from postroom.bridges.contract import Assent, Doing, Heard, Launch, Result, Text
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


@pytest.mark.parametrize(("pipe", "says"), [(0, "reads nothing"), (1, "says nothing")])
@pytest.mark.parametrize("answers", [True, False])
def test_the_end_of_a_pipe_is_the_end_of_an_agent_though_it_lives(
    tmp_path: os.PathLike[str], pipe: int, says: str, answers: bool
):
    script = f"""
import json, os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(told):
    os.write(1, json.dumps({{"jsonrpc": "2.0"}} | told).encode() + b"\\n")
for line in sys.stdin:
    asked = json.loads(line)
    known = {{"initialize": {{"protocolVersion": 1}}, "session/new": {{"sessionId": "s"}}}}
    answer = known.get(asked["method"], {{"stopReason": "end_turn"}})
    if asked["method"] == "session/prompt" and {answers}:
        words = {{"sessionUpdate": "agent_message_chunk", "content": {{"type": "text", "text": "yes"}}}}
        say({{"method": "session/update", "params": {{"sessionId": "s", "update": words}}}})
    if asked["method"] != "session/prompt" or {answers}:
        say({{"id": asked["id"], "result": answer}})
    if asked["method"] == "session/prompt":
        os.close({pipe})
        signal.pause()
"""
    launch = Launch("a1", "p/b", ["python3", "-c", script], os.fspath(tmp_path), environment())
    bridge = way.open(way.start(launch))
    try:
        assert bridge.deliver(Text("hello"), WILLING).result is Result.HANDED
        heard: list[Heard] = []
        until(lambda: heard.extend(bridge.receive()) or any(says in one.text for one in heard))
        assert bridge.deliver(Text("more"), WILLING).reason == "offline"
        assert not bridge.interrupt().proven
        until(lambda: heard.extend(bridge.receive()) or any(one.exit_code is not None for one in heard))
        assert heard[-1].exit_code == -signal.SIGKILL
        assert any(one.proves for one in heard) == answers
        assert not any(one.doubts for one in heard), "what was handed over waits again, as after a death"
        assert bridge.observe().doing is Doing.GONE
    finally:
        bridge.close()
