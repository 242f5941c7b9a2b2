"""Where one context ends and the next begins: compacted, cleared, and told of late or in the wrong order."""

import os
from collections.abc import Iterator

import pytest

from postroom.model.message import Session
from postroom.room.local import LocalRoom
from tests.player import Player, started

ADDRESS = "Your address in Postroom is backend"


@pytest.fixture
def copilot(room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[Player]:
    """A Copilot CLI at work, who is `backend`."""
    work = os.path.join(tmp_path, "work")
    with Player(room.home, work, runtime="copilot", POSTROOM_AGENT="backend") as player:
        assert ADDRESS in player.hook("SessionStart", source="new").out
        player.hook("UserPromptSubmit", prompt="begin")
        yield player


@pytest.fixture
def gemini(room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[Player]:
    work = os.path.join(tmp_path, "work")
    with Player(room.home, work, runtime="gemini", POSTROOM_AGENT="backend") as player:
        assert ADDRESS in player.hook("SessionStart", source="startup").out
        yield player


def session(room: LocalRoom, id: str) -> Session:
    found = room.store.look().session(id)
    assert found is not None
    return found


def asks(room: LocalRoom, key: str = "s1") -> bool:
    """Whether the shell half of a session's hooks cannot promise quiet, whatever its agent's marker says."""
    return not os.path.lexists(os.path.join(room.home, "run", "quiet", "s", key))


@pytest.mark.promise("address-kept")
@pytest.mark.parametrize("next", ["UserPromptSubmit", "PostToolUse"])
def test_what_follows_a_compaction_is_told_its_address_once_as_soon_as_anything_can_be_said(
    room: LocalRoom, copilot: Player, next: str
) -> None:
    assert not asks(room)
    assert copilot.hook("PreCompact", trigger="manual").out == ""
    assert session(room, "copilot:s1:main").epoch == 1
    assert asks(room), "quiet is promised, and so nobody would say it"
    assert copilot.hook("PermissionRequest").out == "", "nothing can be said here"
    assert asks(room)
    assert copilot.hook(next, prompt="go on").out.count(ADDRESS) == 1
    assert not asks(room)
    assert ADDRESS not in copilot.hook(next, prompt="go on").out
    assert session(room, "copilot:s1:main").epoch == 1


@pytest.mark.promise("hook-context")
def test_what_was_not_proven_before_a_compaction_is_shown_again_after_it_with_a_label(
    room: LocalRoom, copilot: Player
) -> None:
    room.send("backend", "mail-1")
    assert "mail-1" in copilot.hook("PostToolUse").out
    copilot.hook("PreCompact", trigger="auto")
    said = copilot.hook("PostToolUse").out
    assert said.count("mail-1") == 1
    assert "may have been shown before" in said


@pytest.mark.promise("address-kept")
def test_what_a_start_does_not_pass_on_is_said_with_the_next_prompt(room: LocalRoom, gemini: Player) -> None:
    gemini.hook("SessionEnd", reason="clear")
    gemini.session = "s2"
    sent = room.send("backend", "mail-1")
    assert gemini.hook("SessionStart", source="clear").out == ""
    assert room.receipts(sent.id).deliveries[0].attempts == 0
    assert asks(room, "s2")
    said = gemini.hook("BeforeAgent", prompt="go on").out
    assert (said.count(ADDRESS), said.count("mail-1")) == (1, 1)
    assert ADDRESS not in gemini.hook("BeforeAgent", prompt="go on").out


@pytest.mark.promise("address-kept")
def test_a_conversation_whose_start_is_told_before_the_end_of_the_cleared_one_is_the_same_agent(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    """Qwen Code runs the hooks of both at the same time."""
    work = os.path.join(tmp_path, "work")
    with Player(room.home, work, runtime="qwen", POSTROOM_AGENT="backend") as qwen:
        qwen.hook("SessionStart", source="startup")
        assert ADDRESS in qwen.hook("SessionStart", "s2", source="clear").out
        qwen.hook("SessionEnd", "s1", reason="clear")
        assert session(room, "qwen:s2:main").ended_at is None
        assert room.ring.has(room.who("backend").id), "it can be woken"
        room.send("backend", "mail-1")
        assert "mail-1" in qwen.hook("UserPromptSubmit", "s2", prompt="go on").out


@pytest.mark.promise("address-kept")
def test_a_cleared_conversation_among_several_of_one_process_ends_no_other(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    work, several = os.path.join(tmp_path, "work"), started("qwen", "--acp")
    with Player(room.home, work, runtime="qwen", actor=several) as qwen:
        for name in ("s1", "s2"):
            qwen.hook("SessionStart", name, source="startup")
        qwen.hook("SessionStart", "s3", source="clear")
        assert [session(room, f"qwen:{name}:main").ended_at for name in ("s1", "s2", "s3")] == [None] * 3
