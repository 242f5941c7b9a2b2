"""What the end of a session does to the mail that it has: nobody waits in vain, and no work is lost."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from postroom.errors import UnknownRecipient
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


# subagents

EXPLORE: dict[str, Any] = {"agent_id": "c1", "agent_type": "Explore"}
ENDED = "it was a subagent, and has ended"


@pytest.fixture
def parent(claude: ClaudeCode) -> ClaudeCode:
    """A conversation of `builder` with a subagent `builder.explore`, which no mail keeps from ending."""
    claude.runtime = "codex"
    claude.start()
    claude.event("SubagentStart", **EXPLORE)
    return claude


def stop(parent: ClaudeCode) -> None:
    parent.event("SubagentStop", **EXPLORE)


ENDS = [stop, ClaudeCode.end]


def has_left(room: LocalRoom, name: str = "builder.explore") -> bool:
    [found] = [status.agent for status in room.agents(everyone=True) if status.agent.name == name]
    return found.left_at is not None


@pytest.mark.promise("subagent-end")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("options", [{}, {"type": "request"}, {"after": 60}])
def test_what_waits_for_a_subagent_that_ends_bounces_to_its_sender(
    room: LocalRoom, parent: ClaudeCode, end: Callable[[ClaudeCode], None], options: dict[str, Any]
):
    sent = room.send("builder.explore", "Is it red?", **options)
    end(parent)
    assert has_left(room)
    assert not has_left(room, "builder")
    assert states(room, sent.id) == {"builder.explore": ENDED}
    [letter] = room.peek("planner")
    assert f"not delivered to builder.explore: {ENDED}" in letter.body


@pytest.mark.promise("subagent-end")
@pytest.mark.parametrize("end", ENDS)
def test_who_asked_a_subagent_that_has_seen_it_is_told_when_it_ends(
    room: LocalRoom, parent: ClaudeCode, end: Callable[[ClaudeCode], None]
):
    sent = room.send("builder.explore", "Is it red?", type="request")
    mail = room.take("builder.explore")
    assert mail is not None
    room.settle(mail)
    end(parent)
    assert states(room, sent.id) == {"builder.explore": "seen"}
    [letter] = room.peek("planner")
    assert "builder.explore has left without answering" in letter.body


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("seen", [False, True])
def test_what_a_subagent_that_ends_had_of_many_is_for_the_others(
    room: LocalRoom, parent: ClaudeCode, seen: bool
):
    room.join("other", role="subagent")
    sent = room.send("one:@subagents", "explore it")
    if seen:
        room.settle(room.take("builder.explore") or pytest.fail("it has it not"))
    stop(parent)
    assert states(room, sent.id)["other"] == "stored"
    assert room.peek("planner") == [], "another may do it"


def test_a_message_to_many_is_not_answered_with_a_letter_for_each_subagent(
    room: LocalRoom, parent: ClaudeCode
):
    sent = room.send("@all", "The API is frozen.")
    stop(parent)
    assert states(room, sent.id)["builder.explore"] == ENDED
    assert room.peek("planner") == []


@pytest.mark.promise("subagent-end")
def test_nothing_is_taken_for_a_subagent_that_has_ended_until_another_bears_its_name(
    room: LocalRoom, parent: ClaudeCode
):
    asked = room.send("planner", "What colour?", sender="builder.explore")
    stop(parent)
    for act in (lambda: room.send("builder.explore", "hi"), lambda: room.reply(asked.id, "red")):
        with pytest.raises(UnknownRecipient, match="was a subagent, and has ended") as refused:
            act()
        assert refused.value.hint == "Write to whom it worked for: builder"
    assert room.peek("planner") != [], "it has not been answered"
    parent.event("SubagentStart", agent_id="c2", agent_type="Explore")
    room.send("builder.explore", "hi")
    stop(parent)
    assert not has_left(room), "the end of the first, told once more, is not that of the second"
    assert "hi" in parent.event("PostToolUse", agent_id="c2", agent_type="Explore")


@pytest.mark.promise("subagent-end")
@pytest.mark.parametrize("source", ["startup", "resume"])
def test_a_subagent_whose_process_was_killed_leaves_when_its_parent_is_here_again(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str], source: str
):
    work = os.path.join(tmp_path, "work")
    with Player(home, work, POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", source="startup")
        player.hook("SubagentStart", **EXPLORE)
        sent = room.send("builder.explore", "Is it red?")
    with Player(home, work, "s1" if source == "resume" else "s2", POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", source=source)
        assert has_left(room)
        assert states(room, sent.id) == {"builder.explore": ENDED}
        assert "Is it red?" not in player.hook("SubagentStart", **EXPLORE).out
