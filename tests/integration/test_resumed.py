"""Mail in a runtime that goes on with an earlier conversation in the same process, and tells of none."""

import json
import os
from collections.abc import Callable

import pytest

from postroom.room.local import LocalRoom
from tests.hooking import run_hook

Hook = Callable[..., str]


@pytest.fixture
def hook(room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> Hook:
    """Runs a hook of Gemini CLI, which is `builder`."""
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")

    def run(session: str, event: str, **stdin: str) -> str:
        told = {"session_id": session, "cwd": str(tmp_path), "hook_event_name": event, **stdin}
        return run_hook(room.home, ["gemini", event, session], json.dumps(told))[1]

    return run


@pytest.mark.promise("hook-context")
def test_what_a_session_had_in_hand_is_shown_in_the_earlier_one_that_takes_its_place(
    room: LocalRoom, hook: Hook
) -> None:
    hook("g1", "SessionStart", source="startup")
    hook("g1", "SessionEnd")
    room.send("builder", "mail-1")
    assert "mail-1" in hook("g2", "SessionStart", source="startup")
    text = hook("g1", "BeforeAgent", prompt="go on")
    assert "mail-1" in text
    assert "may have been shown before" in text


@pytest.mark.promise("hook-loss")
def test_gemini_is_shown_nothing_while_it_restores_a_history(room: LocalRoom, hook: Hook) -> None:
    hook("g1", "SessionStart", source="startup")
    hook("g1", "SessionEnd")
    room.send("builder", "mail-1")
    assert hook("g1", "SessionStart", source="resume") == ""
    text = hook("g1", "BeforeAgent", prompt="go on")
    assert "mail-1" in text
    assert "may have been shown before" not in text
