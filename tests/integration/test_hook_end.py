"""What the end of a session does to the mail that it has: nobody waits in vain, and no work is lost."""

import os

import pytest

from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode
from tests.player import Player


def states(room: LocalRoom, id: str) -> dict[str, str]:
    """Where a message stands with each recipient, once what is due has been done."""
    room.sweep()
    return {d.recipient: d.reason or d.state.value for d in room.receipts(id).deliveries}


# what is for one of many

OURS = {"builder": "seen", "other": "taken"}


@pytest.fixture
def review(room: LocalRoom, claude: ClaudeCode) -> str:
    """What was for one of two reviewers, and has been seen in the session of `builder`; its id."""
    for agent in ("builder", "other"):
        room.join(agent, role="reviewer")
    claude.start()
    sent = room.send("one:@reviewers", "review it")
    assert "review it" in claude.prompt()
    assert claude.stop() == ""
    assert states(room, sent.id) == OURS
    return sent.id


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("cleared", [False, True])
def test_what_a_session_that_ended_had_of_many_is_for_the_others(
    room: LocalRoom, claude: ClaudeCode, review: str, cleared: bool
):
    claude.end()
    if cleared:
        claude.session = claude.key = "s2"
        assert "review it" not in claude.start("clear")
    assert states(room, review) == {"builder": "it ended before it acknowledged", "other": "stored"}
    assert [mail.id for mail in room.peek("other")] == [review]
    assert room.peek("planner") == [], "another may do it"


@pytest.mark.promise("one-of-many")
def test_when_the_session_of_the_last_of_many_ends_the_sender_is_told(room: LocalRoom, claude: ClaudeCode):
    room.join("builder", role="reviewer")
    claude.start()
    sent = room.send("one:@reviewers", "review it")
    claude.prompt()
    claude.stop()
    claude.end()
    [letter] = room.peek("planner")
    assert letter.payload is not None
    assert letter.payload["bounce"]["message"] == sent.id


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("source", ["compact", "resume"])
def test_a_session_that_goes_on_keeps_what_it_has_of_many(
    room: LocalRoom, claude: ClaudeCode, review: str, source: str
):
    claude.start(source)
    assert states(room, review) == OURS
    room.ack(review, agent="builder")
    claude.end()
    assert states(room, review) == {"builder": "acked", "other": "builder has done it"}


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("resumed", [False, True])
def test_what_a_session_had_of_many_goes_with_its_process_unless_it_is_resumed(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str], resumed: bool
):
    for agent in ("builder", "other"):
        room.join(agent, role="reviewer")
    work = os.path.join(tmp_path, "work")
    with Player(home, work, POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", source="startup")
        sent = room.send("one:@reviewers", "review it")
        assert "review it" in player.hook("UserPromptSubmit", prompt="go on").out
        player.hook("Stop")
        assert states(room, sent.id) == OURS
    if resumed:
        with Player(home, work, POSTROOM_AGENT="builder") as player:
            player.hook("SessionStart", source="resume")
            assert room.peek("other") == []
            assert states(room, sent.id) == OURS
    assert [mail.id for mail in room.peek("other")] == [sent.id]
