"""Tools as events, where they are wanted: from the transcript, in order, each once."""

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from postroom import label
from postroom.config import HELP
from postroom.hooks import journal
from postroom.hooks.tools import record
from postroom.model.ladder import State
from postroom.model.message import Event, Session
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.runtimes import NAMES, load
from tests.hooking import ClaudeCode
from tests.recorded import captures, transcript


def tools(room: LocalRoom) -> list[Event]:
    return [event for event in room.events() if event.type in ("tool_call", "tool_result")]


def session_of(room: LocalRoom, runtime: str = "claude") -> Session:
    party = room.who("builder").id
    with room.write() as tx:
        about = {"id": f"{runtime}:s1:main", "runtime": runtime, "process": "1.1.b.n", "epoch": 0}
        tx.append("session.started", party, payload=about)
    [session] = room.store.look().sessions(party)
    return session


def append(path: str, *records: object) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


RECORDING = [name for name in NAMES if load(name).tools]


@pytest.mark.promise("record-tools")
@pytest.mark.parametrize("name", RECORDING)
def test_a_recorded_transcript_gives_each_call_and_its_result_once(
    room: LocalRoom, tmp_path, name: str
) -> None:
    path = os.path.join(tmp_path, "transcript.jsonl")
    shutil.copy(transcript(name), path)
    session = session_of(room, name)
    for _ in range(2):
        record(room, load(name), session, path)
    call, result = tools(room)[:2]
    assert (call.type, result.type, call.role) == ("tool_call", "tool_result", "tool")
    assert call.payload["call_id"] == result.payload["call_id"]
    assert call.payload["tool"] == result.payload["tool"]
    assert "echo one" in json.dumps(call.payload["arguments"])
    assert "one" in json.dumps(result.payload["output"])
    assert result.payload["ok"]
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


FAILED = {
    "claude": [
        {"message": {"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]}},
        {"message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": True}]}},
    ],
    "gemini": [
        {
            "toolCalls": [
                {
                    "id": "c1", "name": "shell", "args": {}, "status": "error",
                    "result": [{"functionResponse": {"id": "c1", "response": {"error": "no"}}}],
                }
            ]
        }
    ],
    "qwen": [
        {"message": {"parts": [{"functionCall": {"id": "c1", "name": "shell", "args": {}}}]}},
        {
            "message": {
                "parts": [{"functionResponse": {"id": "c1", "name": "shell", "response": {"error": "no"}}}]
            },
            "toolCallResult": {"status": "error"},
        },
    ],
    "copilot": [
        {"type": "tool.execution_start", "data": {"toolCallId": "c1", "toolName": "bash"}},
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c1", "success": False, "error": {"message": "no"}},
        },
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FAILED)
def test_a_tool_that_failed_is_told_from_one_that_did_not(room: LocalRoom, tmp_path, name: str) -> None:
    path = append(os.path.join(tmp_path, "t.jsonl"), *FAILED[name])
    record(room, load(name), session_of(room, name), path)
    call, result = tools(room)
    assert (call.type, result.type, result.payload["ok"]) == ("tool_call", "tool_result", False)
    assert call.payload["call_id"] == result.payload["call_id"] == "c1"


@pytest.mark.promise("record-tools")
def test_an_answer_that_is_written_again_with_its_results_gives_each_once(room: LocalRoom, tmp_path) -> None:
    """Gemini CLI does so, when the first of several tools has ended, and when the last has."""
    path, session = os.path.join(tmp_path, "t.jsonl"), session_of(room, "gemini")
    first: dict[str, object] = {"id": "c1", "name": "shell", "args": {}, "status": "executing"}
    second = {**first, "id": "c2"}
    given = [{"functionResponse": {"response": {"output": "x\n\n<hook_context>mail</hook_context>"}}}]
    ended = {"status": "success", "result": given}
    for calls in ([first, second], [{**first, **ended}, second], [{**first, **ended}, {**second, **ended}]):
        append(path, {"type": "gemini", "toolCalls": calls})
        record(room, load("gemini"), session, path)
    found = [(event.type, event.payload["call_id"]) for event in tools(room)]
    calls, results = [("tool_call", c) for c in ("c1", "c2")], [("tool_result", c) for c in ("c1", "c2")]
    assert found == [*calls, *results]
    assert tools(room)[-1].payload["output"] == {"output": "x"}, "mail is not what a tool gave back"


def test_a_transcript_that_no_event_names_is_found_where_its_runtime_keeps_it(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    append(os.path.join(tmp_path, ".copilot", "session-state", "s1", "events.jsonl"), *FAILED["copilot"])
    record(room, load("copilot"), session_of(room, "copilot"), "")
    assert len(tools(room)) == 2
    kept = next(one for one in captures("copilot") if one.name == "Stop").stdin
    assert kept["transcript_path"].endswith(load("copilot").transcript.format(kept["session_id"]))


@pytest.mark.promise("record-tools")
def test_what_a_session_left_is_read_by_the_next_hook_of_anybody_and_once_though_it_is_resumed(
    room: LocalRoom, tmp_path
) -> None:
    path = os.path.join(tmp_path, "t.jsonl")
    old = session_of(room, "qwen")
    record(room, load("qwen"), old, path)  # at its start: nothing is there yet
    append(path, *FAILED["qwen"])
    with room.write() as tx:
        tx.append("session.ended", old.agent, payload={"id": old.id})
    for _ in range(2):
        record(room, load("claude"), old._replace(id="claude:s2:main", runtime="claude"), "")
        assert [event.type for event in tools(room)] == ["tool_call", "tool_result"]
    record(room, load("qwen"), old, append(path, {"type": "user"}))
    assert len(tools(room)) == 2


def test_the_settings_name_the_agents_whose_tools_can_be_recorded() -> None:
    told = HELP["record_tools"].partition("(")[2].partition(")")[0]
    assert told == ", ".join(load(name).title for name in RECORDING)


ONE = {"message": {"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"a": 1}}]}}


class Died(BaseException):
    """As if the process had been killed."""


@pytest.mark.promise("record-tools")
@pytest.mark.parametrize("step", ["before-commit", "after-commit"])
def test_a_hook_that_dies_while_it_records_makes_no_event_twice_and_loses_none(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(here: str) -> None:
        if here == step:
            raise Died

    path, session = append(os.path.join(tmp_path, "t.jsonl"), ONE), session_of(room)
    with monkeypatch.context() as patch:
        patch.setattr(label, "armed", True)
        patch.setattr(label, "here", die)
        with pytest.raises(Died):
            record(room, load("claude"), session, path)
    record(room, load("claude"), session, path)
    assert [event.type for event in tools(room)] == ["tool_call"]


@pytest.mark.promise("record-tools")
def test_two_hooks_that_read_the_same_lines_make_their_events_once(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several hooks of a session may run at the same time."""
    path, session = append(os.path.join(tmp_path, "t.jsonl"), ONE), session_of(room)

    def other(here: str) -> None:
        if here == "before-begin":
            monkeypatch.undo()
            record(room, load("claude"), session, path)

    monkeypatch.setattr(label, "armed", True)
    monkeypatch.setattr(label, "here", other)
    record(room, load("claude"), session, path)
    assert [event.type for event in tools(room)] == ["tool_call"]


def holding(*parts: object) -> str:
    return json.dumps({"message": {"content": parts}})


HALF = holding({"type": "tool_result", "tool_use_id": "c0", "content": "\ud83d"})
ODD = {
    "half a character": HALF,
    "an id that is none": holding({"type": "tool_use", "id": ["c"], "name": "x", "input": 1}),
    "a name that is none": holding({"type": "tool_use", "id": "c", "name": {}, "input": 1}),
    "nothing of use": holding(None, 3, {"type": "tool_use"}),
    "too deep": '{"message":' + "[" * 50_000 + "]" * 50_000 + "}",
    "no text": "\x00\x01",
}


@pytest.mark.promise("hook-harmless")
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_line_of_a_transcript_keeps_neither_mail_nor_the_tools_after_it_back(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    claude = recording(room, str(tmp_path), monkeypatch)
    claude.start()
    with open(claude.transcript, "a", encoding="utf-8") as file:
        file.write(ODD[odd] + "\n")
    append(claude.transcript, ONE)
    sent = room.send("builder", "hello")
    assert "hello" in claude.prompt()
    delivery = room.receipts(sent.id).deliveries[0]
    assert (delivery.state, delivery.handed_at is not None) == (State.OFFERED, True)
    claude.stop()
    assert [event.payload["call_id"] for event in tools(room) if event.type == "tool_call"] == ["c1"]


def test_half_a_character_in_what_a_tool_gave_back_is_replaced(room: LocalRoom, tmp_path) -> None:
    """A runtime that cuts a long text may cut an emoji in two, which no store takes."""
    path = append(os.path.join(tmp_path, "t.jsonl"), json.loads(HALF))
    record(room, load("claude"), session_of(room), path)
    assert tools(room)[0].payload["output"] == "?"


@pytest.mark.promise("hook-harmless")
def test_recording_that_fails_leaves_the_mail_handed_over_and_is_noted(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = recording(room, str(tmp_path), monkeypatch)
    claude.start()
    room.send("builder", "hello")
    with closing(sqlite3.connect(os.path.join(room.home, "room.db"))) as database:
        database.execute("DROP TABLE transcript")
    assert "hello" in claude.prompt()
    assert room.sent()[0][1][0].handed_at
    assert "transcript" in journal.last(room.home)[-1]


def test_what_is_no_plain_file_is_not_read(room: LocalRoom, tmp_path) -> None:
    """Opening a pipe to which nobody writes would wait for ever."""
    path = os.path.join(tmp_path, "t.jsonl")
    os.mkfifo(path)
    record(room, load("claude"), session_of(room), path)
    assert tools(room) == []


def recording(room: LocalRoom, cwd: str, monkeypatch: pytest.MonkeyPatch, setting: str = "on") -> ClaudeCode:
    monkeypatch.setenv("POSTROOM_RECORD_TOOLS", setting)
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    return ClaudeCode(room.home, cwd)


@pytest.mark.promise("record-tools")
@pytest.mark.parametrize("setting", ["on", "off"])
def test_hooks_record_tools_only_where_that_is_wanted(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    claude = recording(room, str(tmp_path), monkeypatch, setting)
    claude.start()
    shutil.copy(transcript("claude"), claude.transcript)
    claude.end()
    assert bool(tools(room)) == (setting == "on")
