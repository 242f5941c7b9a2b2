"""Hooks that die, and hooks that run at once: nothing is lost, or shown twice without a word of it."""

import json
import os
import subprocess
from typing import Any

import pytest

from postroom.hooks import journal, program
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.hooking import ClaudeCode

BEFORE_ANYTHING_WAS_SHOWN = ["hook-begun", "hook-claimed", "hook-writing"]
AFTER_ALL_WAS_WRITTEN = ["hook-written", "hook-handed"]
AGAIN = "may have been shown before"


@pytest.fixture
def claude(room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch) -> ClaudeCode:
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    agent = ClaudeCode(room.home, str(tmp_path))
    agent.start()
    return agent


def finish(claude: ClaudeCode) -> None:
    claude.tools()
    claude.tools()
    claude.stop()


def times(claude: ClaudeCode, text: str) -> int:
    return sum(shown.count(text) for shown in claude.shown)


@pytest.mark.promise("hook-killed")
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolBatch", "Stop"])
@pytest.mark.parametrize("step", BEFORE_ANYTHING_WAS_SHOWN)
def test_a_hook_that_dies_before_it_has_written_all_shows_the_mail_once(
    room: LocalRoom, claude: ClaudeCode, event: str, step: str
):
    sent = room.send("builder", "mail-1")
    claude.die(event, step, keep=False)
    assert room.receipts(sent.id).deliveries[0].state in (State.STORED, State.OFFERED)
    finish(claude)
    assert times(claude, "mail-1") == 1
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN
    assert verify(room, deep=True).problems == []


@pytest.mark.promise("hook-killed")
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolBatch", "Stop"])
@pytest.mark.parametrize("step", AFTER_ALL_WAS_WRITTEN)
def test_a_hook_that_dies_after_that_shows_it_at_most_twice_and_the_second_time_says_so(
    room: LocalRoom, claude: ClaudeCode, event: str, step: str, kept: bool
):
    """Whether a runtime passes on what a hook wrote before it was killed is the runtime's affair."""
    sent = room.send("builder", "mail-1")
    assert "mail-1" in claude.die(event, step, keep=kept)
    finish(claude)
    assert 1 <= times(claude, "mail-1") <= 1 + kept
    if times(claude, "mail-1") == 2:
        assert AGAIN in claude.shown[-1]
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN


@pytest.mark.promise("hook-once")
def test_hooks_that_run_at_once_show_each_message_once(room: LocalRoom, claude: ClaudeCode, tmp_path):
    hook = program.install(room.home)
    for n in range(12):
        room.send("builder", f"number {n};")
    told = json.dumps({"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "PostToolBatch"})
    environment = {"PATH": os.environ["PATH"], "POSTROOM_PROJECT": "p"}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = [
        subprocess.Popen([hook, "claude", event, "s1"], env=environment, text=True, **pipes)
        for event in ("PostToolBatch", "UserPromptSubmit", "Stop", "FileChanged", "PostToolBatch", "Stop")
    ]
    said = ["".join(one.communicate(told, timeout=60)) for one in running]
    assert [sum(text.count(f"number {n};") for text in said) for n in range(12)] == [1] * 12
    assert not os.path.exists(journal.path(room.home))
