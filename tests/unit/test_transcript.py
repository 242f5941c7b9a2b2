"""What the runtimes' own records of a conversation prove."""

import json
import os

import pytest

from postroom.clock import iso
from postroom.room.transcript import Trace, is_over, trace
from postroom.runtimes import load
from postroom.runtimes.contract import Runtime
from tests.recorded import transcript

HANDED = 1_800_000_000_000
CODEX, GEMINI, COPILOT = load("codex"), load("gemini"), load("copilot")


class Record:
    """A transcript, written line by line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._at = HANDED - 10

    def line(self, payload: object, after: int = 5) -> "Record":
        self._at += after
        with open(self.path, "a", encoding="utf-8") as file:
            record = {"timestamp": iso(self._at), "payload": payload}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        return self

    def trace(self, *, after_tool: bool) -> Trace:
        return trace(self.path, CODEX.marks, "nonce123", HANDED, after_tool=after_tool)


@pytest.fixture
def record(tmp_path: os.PathLike[str]) -> Record:
    return Record(os.path.join(tmp_path, "rollout.jsonl"))


CALL, RESULT = {"type": "function_call"}, {"type": "function_call_output"}
OURS, ANSWER = {"role": "developer", "text": "%%nonce123 mail"}, {"role": "assistant"}


@pytest.mark.promise("hook-proof")
def test_a_call_in_the_same_answer_does_not_prove_what_was_said_after_an_earlier_tool(record: Record) -> None:
    record.line(CALL).line(OURS, 20).line(CALL)
    assert record.trace(after_tool=True) is Trace.THERE
    record.line(RESULT).line(RESULT)
    assert record.trace(after_tool=True) is Trace.THERE
    record.line(CALL)
    assert record.trace(after_tool=True) is Trace.SHOWN


@pytest.mark.promise("hook-proof")
def test_any_answer_after_it_proves_what_was_said_with_a_prompt(record: Record) -> None:
    record.line(OURS, 20)
    assert record.trace(after_tool=False) is Trace.THERE
    assert record.line(ANSWER).trace(after_tool=False) is Trace.SHOWN


@pytest.mark.promise("hook-loss")
def test_an_answer_without_it_tells_that_it_was_lost(record: Record) -> None:
    record.line(CALL)
    assert record.trace(after_tool=False) is Trace.UNDECIDED
    assert record.line(ANSWER, 20).trace(after_tool=False) is Trace.LACKING


def test_a_turn_is_over_when_its_transcript_says_so(record: Record) -> None:
    record.line({"type": "task_started"}).line(ANSWER)
    assert is_over(record.path, CODEX.marks) is False
    record.line({"type": "task_complete"})
    assert is_over(record.path, CODEX.marks)
    record.line({"type": "task_started"}).line({"type": "turn_aborted"})
    assert is_over(record.path, CODEX.marks)
    assert is_over(record.path + ".none", CODEX.marks) is None


@pytest.mark.parametrize("runtime", [CODEX, GEMINI, COPILOT], ids=lambda runtime: runtime.name)
def test_the_transcript_of_a_real_session_shows_what_was_said_in_it(
    runtime: Runtime, tmp_path: os.PathLike[str]
) -> None:
    path = recorded(runtime, tmp_path)
    assert trace(path, runtime.marks, "INJECTED-SessionStart-001", 1) is Trace.SHOWN
    assert trace(path, runtime.marks, "INJECTED-nowhere-001", 1) is Trace.LACKING


@pytest.mark.promise("hook-proof")
@pytest.mark.parametrize("mark", ["UserPromptSubmit-002", "PostToolUse-005", "Stop-006"])
def test_what_a_hook_of_copilot_said_proves_nothing_until_the_model_was_given_it(
    mark: str, tmp_path: os.PathLike[str]
) -> None:
    path, nonce = recorded(COPILOT, tmp_path), f"INJECTED-{mark}"
    assert trace(path, COPILOT.marks, nonce, 1) is Trace.SHOWN
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if nonce not in line or '"type":"hook.' in line)
    assert trace(path, COPILOT.marks, nonce, 1) is Trace.LACKING


def recorded(runtime: Runtime, directory: os.PathLike[str]) -> str:
    """A recorded transcript, as the runtime writes it: without a space between what is said."""
    with open(transcript(runtime.name), encoding="utf-8") as file:
        lines = [json.dumps(json.loads(line), separators=(",", ":")) for line in file]
    path = os.path.join(directory, "session.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path
