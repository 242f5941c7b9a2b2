"""A room in which `alice` writes, and the mailbox of `bob`, carried by hand."""

import os
from collections.abc import Iterator

import pytest

from postroom.bridges.files import outbox
from postroom.config import Settings
from postroom.room.local import LocalRoom
from tests.postal import UNLIMITED, Postal


@pytest.fixture
def limits() -> Settings:
    return UNLIMITED


@pytest.fixture
def room(home: str, limits: Settings) -> Iterator[LocalRoom]:
    with LocalRoom(home, limits, agent="alice", project="p") as room:
        room.join("alice")
        yield room


@pytest.fixture
def bob(room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[Postal]:
    found = Postal(room, os.path.join(tmp_path, "tree"))
    yield found
    found.close()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no letter is given up at the second look."""
    monkeypatch.setattr(outbox, "_QUIET", 0.0)
