"""What the runtimes' own records of a conversation prove."""

import json
import os

import pytest

from postroom.clock import iso
from postroom.model.message import Json
from postroom.protocol.frame import mark_of
from postroom.room import transcript as transcript_module
from postroom.room.transcript import Conversation, Trace, is_over
from postroom.runtimes import load
from postroom.runtimes.contract import Runtime
from postroom.text import encode
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
        return Conversation(self.path, CODEX.marks).trace("nonce123", HANDED, after_tool=after_tool)


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


@pytest.mark.promise("hook-proof")
def test_a_prompt_of_qwen_that_was_stopped_before_an_answer_is_proven_by_no_later_one(
    tmp_path: os.PathLike[str],
) -> None:
    path = os.path.join(tmp_path, "chat.jsonl")

    def trace(*lines: tuple[str, str]) -> Trace:
        with open(path, "w", encoding="utf-8") as file:
            for n, (kind, text) in enumerate(lines):
                record = {"type": kind, "timestamp": iso(HANDED + n), "message": text}
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
        return Conversation(path, load("qwen").marks).trace("nonce123", HANDED)

    ours, answer, other = ("user", "%%nonce123 mail"), ("assistant", "yes"), ("user", "go on")
    assert trace(ours) is Trace.THERE
    assert trace(ours, other) is Trace.THERE
    assert trace(ours, other, answer) is Trace.TAKEN_BACK
    assert trace(ours, answer, other) is Trace.SHOWN
    assert trace(ours, answer, other, answer) is Trace.SHOWN
    assert trace(("tool_result", "%%nonce123 mail"), other, answer) is Trace.SHOWN, "it is kept"


@pytest.mark.promise("only-a-model")
def test_a_prompt_of_claude_that_was_taken_back_is_proven_by_no_later_answer(
    tmp_path: os.PathLike[str],
) -> None:
    """Esc before an answer puts the prompt back as a draft: the next one goes on with what was before it."""
    path = os.path.join(tmp_path, "chat.jsonl")

    def trace(*lines: tuple[str, str, str, str]) -> Trace:
        with open(path, "w", encoding="utf-8") as file:
            for n, (kind, own, before, text) in enumerate(lines):
                record = {
                    "parentUuid": before or None,
                    "type": kind,
                    "timestamp": iso(HANDED + n),
                    "uuid": own,
                }
                file.write(json.dumps({**record, "message": {"content": text}}, separators=(",", ":")) + "\n")
        return Conversation(path, load("claude").marks).trace("nonce123", HANDED)

    start = ("system", "a", "", "before")
    one, mail = ("user", "b", "a", "ONE"), ("attachment", "c", "b", "%%nonce123 mail")
    instead, answer = ("user", "d", "a", "TWO"), ("assistant", "e", "d", "two")
    assert trace(start, one, mail) is Trace.THERE
    assert trace(start, one, mail, instead) is Trace.THERE
    assert trace(start, one, mail, instead, answer) is Trace.TAKEN_BACK
    again = ("user", "f", "a", "THREE"), ("assistant", "g", "f", "three")
    assert trace(start, one, mail, instead, *again) is Trace.TAKEN_BACK, "two were taken back"
    stopped, on = ("user", "h", "c", "[Request interrupted by user]"), ("user", "i", "h", "go on")
    assert trace(start, one, mail, stopped, on, ("assistant", "j", "i", "yes")) is Trace.SHOWN, "it was kept"
    assert trace(start, one, mail, ("assistant", "k", "c", "one"), instead, answer) is Trace.SHOWN
    tools = (
        ("assistant", "l", "b", "a tool"),
        ("user", "m", "l", '"tool_result"'),
        ("attachment", "n", "m", "%%nonce123 mail"),
    )
    assert trace(start, one, *tools, instead, answer) is Trace.TAKEN_BACK, "rewound to before that turn"
    late = ("user", "q", "n", "[Request interrupted by user]")
    assert trace(start, one, *tools, late, instead, answer) is Trace.TAKEN_BACK, "stopped, and then rewound"
    assert (
        trace(start, one, *tools, ("user", "o", "n", "steer"), ("assistant", "p", "o", "yes")) is Trace.SHOWN
    )


@pytest.mark.promise("hook-loss")
def test_an_answer_without_it_tells_that_it_was_lost(record: Record) -> None:
    record.line(CALL)
    assert record.trace(after_tool=False) is Trace.UNDECIDED
    assert record.line(ANSWER, 20).trace(after_tool=False) is Trace.LACKING


@pytest.mark.promise("hook-proof")
def test_a_nonce_that_is_only_quoted_proves_nothing(record: Record) -> None:
    """The journal, the log and the store have it, and an agent may look at them."""
    record.line({"role": "user", "text": '%%zzzzzzzz end, delivery.offered {"nonce":"nonce123"}'}, 20)
    assert record.line(ANSWER).trace(after_tool=False) is Trace.LACKING


@pytest.mark.promise("hook-context")
def test_what_may_lie_further_up_than_anybody_reads_is_not_found_lost(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch of tools may give back more than that, and what was shown before it was shown."""
    record.line(OURS, 20).line({"text": "x" * 5_000}).line(ANSWER)
    assert record.trace(after_tool=False) is Trace.SHOWN
    monkeypatch.setattr(transcript_module, "_MOST", 4_000)
    conversation = Conversation(record.path, CODEX.marks)
    for _ in range(2):
        assert conversation.trace("nonce123", HANDED) is Trace.UNREADABLE
        assert conversation.trace("nonce123", HANDED, wake=True) is Trace.UNDECIDED, "it may be in the queue"
    record.line(ANSWER).line({"text": "x" * 2_000}).line(ANSWER)
    late = HANDED + 30
    assert Conversation(record.path, CODEX.marks).trace("nonce123", late) is Trace.LACKING, (
        "an answer from before the hand-over was read"
    )


def test_a_search_that_takes_too_long_decides_nothing(record: Record) -> None:
    record.line(OURS, 20).line(ANSWER)
    assert Conversation(record.path, CODEX.marks, until=0.0).trace("nonce123", HANDED) is Trace.UNDECIDED


@pytest.mark.parametrize("chunk", [1, 7, 64, 1_000])
def test_lines_are_found_whole_wherever_they_were_read_in_two(
    record: Record, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(transcript_module, "_CHUNK", chunk)
    record.line(OURS, 20).line({"text": "x" * 500}).line(ANSWER)
    assert record.trace(after_tool=False) is Trace.SHOWN
    assert Conversation(record.path, CODEX.marks).trace("nonce124", HANDED) is Trace.LACKING


def test_all_that_is_looked_for_is_found_in_one_reading(record: Record) -> None:
    record.line({"role": "developer", "text": "%%nonce122 mail"}, 20).line(ANSWER).line(OURS)
    conversation = Conversation(record.path, CODEX.marks)
    assert conversation.trace("nonce123", HANDED) is Trace.THERE
    assert conversation.trace("nonce122", HANDED) is Trace.SHOWN
    os.unlink(record.path)
    assert conversation.trace("nonce123", HANDED) is Trace.THERE
    assert conversation.trace("nonce122", HANDED) is Trace.SHOWN
    assert conversation.trace("nonce121", HANDED) is Trace.LACKING


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
    assert Conversation(path, runtime.marks).trace("INJECTED-SessionStart-001", 1) is Trace.SHOWN
    assert Conversation(path, runtime.marks).trace("INJECTED-nowhere-001", 1) is Trace.LACKING


@pytest.mark.promise("hook-proof")
@pytest.mark.parametrize("mark", ["UserPromptSubmit-002", "PostToolUse-005", "Stop-006"])
def test_what_a_hook_of_copilot_said_proves_nothing_until_the_model_was_given_it(
    mark: str, tmp_path: os.PathLike[str]
) -> None:
    path, nonce = recorded(COPILOT, tmp_path), f"INJECTED-{mark}"
    assert Conversation(path, COPILOT.marks).trace(nonce, 1) is Trace.SHOWN
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if nonce not in line or '"type":"hook.' in line)
    assert Conversation(path, COPILOT.marks).trace(nonce, 1) is Trace.LACKING


class Chat:
    """A log of Gemini CLI, in which a line may replace or take back what was there."""

    def __init__(self, directory: os.PathLike[str]) -> None:
        self.path = os.path.join(directory, "session.jsonl")
        self._at = HANDED

    def user(self, id: str, text: str) -> Json:
        return self._message(id, "user", text)

    def model(self, id: str, text: str = "Done.") -> Json:
        return self._message(id, "gemini", text) | {"model": "gemini-2.5-pro"}

    def restored(self, id: str, text: str = "Done.") -> Json:
        """An answer of an earlier conversation, which is written again with the time of now."""
        return self._message(id, "gemini", text) | {"tokens": None}

    def _message(self, id: str, kind: str, text: str) -> Json:
        self._at += 10
        return {"id": id, "timestamp": iso(self._at), "type": kind, "content": [{"text": text}]}

    def write(self, *lines: Json) -> Trace:
        """What the log tells of the frame, with these lines at its end."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.writelines(encode(line) + "\n" for line in lines)
        return Conversation(self.path, GEMINI.marks).trace("nonce123", HANDED)


def history(*messages: Json) -> Json:
    return {"$set": {"messages": list(messages), "lastUpdated": iso(HANDED)}}


MAIL = "<hook_context>%%nonce123 mail</hook_context>"


@pytest.mark.promise("hook-loss")
def test_what_a_restored_history_lacks_was_not_shown(tmp_path: os.PathLike[str]) -> None:
    """As when Gemini CLI goes on with an earlier conversation, a moment after its hook said something."""
    chat = Chat(tmp_path)
    assert chat.write(chat.user("1", MAIL)) is Trace.THERE
    assert chat.write(history(chat.user("2", "earlier"), chat.model("3"))) is Trace.LACKING
    assert chat.write(chat.user("4", "go on"), chat.model("5")) is Trace.LACKING
    assert chat.write(chat.user("6", MAIL)) is Trace.THERE
    assert chat.write(chat.model("7")) is Trace.SHOWN


@pytest.mark.promise("hook-proof")
def test_what_a_restored_history_has_was_shown_if_an_answer_stands_after_it(
    tmp_path: os.PathLike[str],
) -> None:
    chat = Chat(tmp_path)
    earlier = chat.user("1", "earlier"), chat.model("2")
    assert chat.write(*earlier, history(*earlier, mail := chat.user("3", MAIL))) is Trace.THERE
    assert chat.write(answer := chat.model("4")) is Trace.SHOWN
    assert chat.write(history(*earlier, mail, answer)) is Trace.SHOWN
    assert chat.write({"$set": {"summary": "A title"}}) is Trace.SHOWN


@pytest.mark.promise("hook-loss")
def test_a_restored_answer_is_not_an_answer_to_what_was_handed_out(tmp_path: os.PathLike[str]) -> None:
    """As `/chat resume` of Gemini CLI 0.61.0 writes it: line by line, and then all of it in one."""
    chat = Chat(tmp_path)
    assert chat.write(chat.user("1", MAIL)) is Trace.THERE
    assert chat.write(chat.user("2", "earlier"), chat.restored("3")) is Trace.THERE
    earlier = chat.user("2", "earlier"), chat.restored("3")
    assert chat.write(history(*earlier)) is not Trace.SHOWN
    assert chat.write(chat.user("4", "go on"), chat.model("5")) is Trace.LACKING


@pytest.mark.promise("only-a-model")
def test_a_warning_that_quotes_the_mail_is_not_what_the_model_was_given(tmp_path: os.PathLike[str]) -> None:
    """Gemini CLI writes what AfterAgent said for the person first, and for the model a moment later."""
    chat = Chat(tmp_path)
    warning = chat.user("1", MAIL) | {"type": "warning", "content": f"Agent execution blocked: {MAIL}"}
    assert chat.write(warning, chat.model("2")) is not Trace.SHOWN
    assert chat.write(chat.user("3", MAIL)) is Trace.THERE
    assert chat.write(chat.model("4")) is Trace.SHOWN


@pytest.mark.promise("hook-proof")
def test_what_was_answered_and_then_compressed_away_was_shown(tmp_path: os.PathLike[str]) -> None:
    """In the middle of a turn, say, before the event at its end is told."""
    chat = Chat(tmp_path)
    assert chat.write(chat.user("1", MAIL), chat.model("2")) is Trace.SHOWN
    assert chat.write(history(chat.user("3", "a summary"), chat.model("4"))) is Trace.SHOWN
    assert chat.write(chat.model("5")) is Trace.SHOWN


@pytest.mark.promise("hook-loss")
def test_a_prompt_that_was_taken_back_with_its_mail_was_not_shown(tmp_path: os.PathLike[str]) -> None:
    chat = Chat(tmp_path)
    assert chat.write(chat.user("1", "first"), chat.model("2"), chat.user("3", f"ask {MAIL}")) is Trace.THERE
    assert chat.write({"$rewindTo": "3"}, chat.user("4", "ask again")) is not Trace.THERE
    assert chat.write(chat.model("5")) is Trace.LACKING
    assert chat.write({"$rewindTo": "nowhere"}, chat.user("6", MAIL), chat.model("7")) is Trace.SHOWN


@pytest.mark.parametrize(
    "line", ['{"$set":{"messages":1}}', '{"$set":[]}', '{"$set":{"messages', '{"$rewindTo":']
)
def test_a_line_that_replaces_nothing_hides_nothing(tmp_path: os.PathLike[str], line: str) -> None:
    chat = Chat(tmp_path)
    chat.write(chat.user("1", MAIL))
    with open(chat.path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    assert chat.write(chat.model("2")) is Trace.SHOWN


def recorded(runtime: Runtime, directory: os.PathLike[str]) -> str:
    """A recorded transcript, as the runtime writes it: without a space between what is said.

    What was injected when it was recorded is made a mark, as a frame's lines have it.
    """
    with open(transcript(runtime.name), encoding="utf-8") as file:
        text = file.read().replace("INJECTED-", mark_of("INJECTED-"))
    lines = [json.dumps(json.loads(line), separators=(",", ":")) for line in text.splitlines()]
    path = os.path.join(directory, "session.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path
