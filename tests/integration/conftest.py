"""An agent that the tests of hooks play."""

import os

import pytest

from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode


@pytest.fixture
def cwd(tmp_path) -> str:
    path = os.path.join(tmp_path, "shop")
    os.mkdir(path)
    return path


@pytest.fixture
def claude(room: LocalRoom, cwd: str, monkeypatch: pytest.MonkeyPatch) -> ClaudeCode:
    """Claude Code in the project of the room, where it is `builder`."""
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    return ClaudeCode(room.home, cwd)
