"""What many of these ask for: an agent that hooks serve, agents in panes, a daemon that is a real process."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode

if TYPE_CHECKING:
    from tests.kept import Kept
    from tests.tended import Tended


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


@pytest.fixture
def kept(home: str) -> "Iterator[Kept]":
    """Agents in panes, and a daemon that keeps them once it is `up`."""
    from tests.kept import Kept  # not where there are no terminals

    found = Kept(home)
    yield found
    found.close()


@pytest.fixture
def house(room: LocalRoom) -> "Iterator[Tended]":
    """A room whose daemon is a process that a test starts, signals and ends."""
    from tests.tended import Tended  # not where there are no Unix sockets

    with Tended(room) as found:
        yield found
