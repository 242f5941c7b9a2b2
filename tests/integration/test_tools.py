"""Tools as events, where they are wanted: from the transcript, in order, each once."""

import json
import os
import shutil

import pytest

from postroom.hooks.tools import record
from postroom.model.message import Event, Session
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.runtimes import load
from tests.hooking import ClaudeCode
from tests.recorded import transcript


def tools(room: LocalRoom) -> list[Event]:
    return [event for event in room.events() if event.type in ("tool_call", "tool_result")]


def session_of(room: LocalRoom) -> Session:
    party = room.who("builder").id
    with room.write() as tx:
        about = {"id": "s1", "runtime": "claude", "process": "1.1.b.n", "epoch": 0}
        tx.append("session.started", party, payload=about)
    [session] = room.store.look().sessions(party)
    return session


@pytest.mark.promise("record-tools")
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_recorded_transcript_gives_each_call_and_its_result_once(
    room: LocalRoom, tmp_path, name: str
) -> None:
    path = os.path.join(tmp_path, "transcript.jsonl")
    shutil.copy(transcript(name), path)
    session = session_of(room)
    for _ in range(2):
        record(room, load(name), session, path)
    call, result = tools(room)[:2]
    assert (call.type, result.type, call.role) == ("tool_call", "tool_result", "tool")
    assert call.payload["call_id"] == result.payload["call_id"]
    assert call.payload["tool"] == result.payload["tool"]
    assert "echo one" in json.dumps(call.payload["arguments"])
    assert "one" in json.dumps(result.payload["output"])
    assert len({(event.type, event.payload["call_id"]) for event in tools(room)}) == len(tools(room))
    assert verify(room, deep=True).problems == []


def test_what_is_written_later_is_read_from_where_it_was_left(room: LocalRoom, tmp_path) -> None:
    path, session = os.path.join(tmp_path, "t.jsonl"), session_of(room)
    call = {"message": {"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"a": 1}}]}}
    result = {"message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x" * 9_000}]}}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(call) + "\nnot json\n" + json.dumps(result)[:20])
    record(room, load("claude"), session, path)
    assert [event.type for event in tools(room)] == ["tool_call"]
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(result)[20:] + "\n")
    record(room, load("claude"), session, path)
    last = tools(room)[-1]
    assert last.payload["tool"] == "Bash"
    assert last.payload["output"].endswith("5,000 characters more")


@pytest.mark.promise("record-tools")
@pytest.mark.parametrize("setting", ["on", "off"])
def test_hooks_record_tools_only_where_that_is_wanted(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("POSTROOM_RECORD_TOOLS", setting)
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    claude = ClaudeCode(room.home, str(tmp_path))
    claude.start()
    shutil.copy(transcript("claude"), claude.transcript)
    claude.end()
    assert bool(tools(room)) == (setting == "on")
