"""What the lines of Claude Code mean that it prints in stream-json, as 2.1.325 does."""

from typing import Any

import pytest

from postroom.runtimes.stream import Meaning, Sign, of

ANSWER = {"id": "msg_1", "model": "claude-opus", "content": [{"type": "text", "text": "yes"}]}
TOOL = {"id": "msg_2", "model": "claude-opus", "content": [{"type": "tool_use", "name": "Bash", "input": {}}]}
FAILED = {"id": "1", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
ASKED = {"subtype": "can_use_tool", "tool_name": "Write", "input": {}}
WRITE = Meaning(Sign.ASKS, "r", "Write", "{}")


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ({"type": "system", "subtype": "init"}, Meaning(Sign.BEGUN)),
        ({"type": "system", "subtype": "task_started"}, Meaning(Sign.NOTHING)),
        (
            {"type": "user", "uuid": "u", "isReplay": True, "message": {"content": "x"}},
            Meaning(Sign.TAKEN, "u"),
        ),
        (
            {"type": "user", "uuid": "u", "message": {"content": [{"type": "tool_result"}]}},
            Meaning(Sign.NOTHING),
        ),
        ({"type": "assistant", "message": ANSWER}, Meaning(Sign.ANSWERED, "msg_1", "yes")),
        ({"type": "assistant", "message": TOOL}, Meaning(Sign.ANSWERED, "msg_2", "Bash")),
        ({"type": "assistant", "message": ANSWER, "parent_tool_use_id": "t"}, Meaning(Sign.NOTHING)),
        ({"type": "assistant", "message": FAILED}, Meaning(Sign.NOTHING)),
        ({"type": "result", "subtype": "success"}, Meaning(Sign.ENDED)),
        ({"type": "control_request", "request_id": "r", "request": ASKED}, WRITE),
        ({"type": "control_request", "request_id": "r", "request": {"subtype": "x"}}, Meaning(Sign.NOTHING)),
        ({"type": "control_cancel_request", "request_id": "r"}, Meaning(Sign.ASKS_NO_MORE, "r")),
        ({"type": "control_response", "response": {"request_id": "r"}}, Meaning(Sign.STOPPED, "r")),
        ({"type": "command_lifecycle", "state": "queued"}, Meaning(Sign.NOTHING)),
        ({"type": "assistant", "message": None}, Meaning(Sign.ANSWERED)),
        ({}, Meaning(Sign.NOTHING)),
    ],
)
def test_a_line_means_one_thing(line: dict[str, Any], meaning: Meaning):
    stream = of("claude")
    assert stream
    assert stream.read(line) == meaning


def test_a_command_gets_the_arguments_that_it_does_not_have():
    stream = of("claude")
    assert stream
    assert stream.missing(["claude", "-p", "--verbose", "--output-format", "stream-json"]) == [
        "--input-format", "stream-json", "--replay-user-messages",
    ]  # fmt: skip


def test_only_some_can_be_spoken_to_so():
    assert of("aider") is None
    assert of("") is None


def test_a_yes_gives_back_what_was_asked_and_a_no_gives_nothing():
    spec = of("claude")
    assert spec
    asked = {"request_id": "r", "request": ASKED | {"input": {"path": "x"}}}
    yes, no = (spec.answer(asked, allowed)["response"] for allowed in (True, False))
    assert (yes["request_id"], yes["response"]) == ("r", {"behavior": "allow", "updatedInput": {"path": "x"}})
    assert no["response"]["behavior"] == "deny"
    assert "updatedInput" not in no["response"]
