"""Mail in the model's context: once in each, proven by what happened there, and never `seen` on a guess."""

import json
import os
import time
from typing import Any

import pytest

from postroom.model.ladder import Cause, Evidence, Outcome, State
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode, run_hook
from tests.player import Player


def delivery(room: LocalRoom, id: str) -> Delivery:
    [found] = room.receipts(id).deliveries
    return found


def times(claude: ClaudeCode, text: str) -> int:
    return sum(shown.count(text) for shown in claude.shown)


# who it is


def test_a_session_that_starts_learns_its_address_and_how_to_use_it(room: LocalRoom, claude: ClaudeCode):
    text = claude.start()
    assert "Your address in Postroom is builder" in text
    assert "postroom reply ID" in text
    [status] = [status for status in room.agents() if status.agent.name == "builder"]
    [session] = room.store.look().sessions(status.agent.id)
    assert (session.id, session.runtime, session.epoch) == ("claude:s1:main", "claude", 0)
    assert session.worktree == claude.cwd


def test_a_resumed_session_has_its_guide_already_and_one_that_was_compacted_gets_it_again(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    assert claude.start("resume") == ""
    assert "Your address in Postroom is builder" in claude.start("compact")


# the way of a message


@pytest.mark.promise("hook-proof")
@pytest.mark.parametrize("point", ["start", "prompt", "tools", "stop"])
def test_mail_is_shown_once_at_the_next_event_and_seen_when_the_transcript_has_it(
    room: LocalRoom, claude: ClaudeCode, point: str
):
    if point != "start":
        claude.start()
    sent = room.send("builder", "The API is frozen.")
    assert "The API is frozen." in getattr(claude, point)()
    assert delivery(room, sent.id).state is State.OFFERED, "nothing has proven it yet"
    claude.tools()
    assert delivery(room, sent.id)[4:7] == (State.SEEN, delivery(room, sent.id).route, Evidence.TRANSCRIPT)
    claude.stop()
    claude.prompt()
    assert times(claude, "The API is frozen.") == 1


@pytest.mark.promise("hook-proof")
def test_without_a_transcript_the_next_answer_of_the_model_proves_it(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    claude.transcript = ""
    claude.answer = lambda *a, **k: None  # nowhere to write it
    claude._write = lambda *a, **k: None
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.event("Notification")
    assert delivery(room, sent.id).state is State.OFFERED, "that implies no answer"
    claude.stop()
    assert delivery(room, sent.id).evidence is Evidence.BOUNDARY


@pytest.mark.promise("hook-proof")
def test_an_event_whose_hook_began_before_the_hand_over_proves_nothing(room: LocalRoom, claude: ClaudeCode):
    """Parallel tools: the hook of a sibling may end after ours began."""
    claude.start()
    claude.transcript = ""
    sent = room.send("builder", "mail-1")
    claude._write = lambda *a, **k: None
    claude.prompt()
    told = f'{{"session_id": "s1", "cwd": "{claude.cwd}"}}'
    run_hook(room.home, ["claude", "PostToolBatch", "s1"], told, began=1)
    assert delivery(room, sent.id).state is State.OFFERED


@pytest.mark.promise("hook-loss")
def test_what_the_runtime_dropped_is_found_lost_and_shown_in_that_same_event(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt(keep=False)
    assert "mail-1" in claude.tools()
    claude.stop()
    receipts = room.receipts(sent.id)
    assert [attempt.outcome for attempt in receipts.attempts] == [Outcome.LOST, Outcome.PROVEN]
    assert times(claude, "mail-1") == 1
    assert times(claude, "may have been shown before") == 0, "it is known that it was not"


@pytest.mark.promise("hook-proof")
def test_while_the_transcript_tells_nothing_yet_it_is_neither_seen_nor_lost(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    claude.prompt()
    sent = room.send("builder", "mail-1")
    text = claude.tools(keep=False)
    claude.event("PostToolBatch")  # neither the text nor the answer is in the file yet
    assert delivery(room, sent.id).state is State.OFFERED
    claude._write("attachment", text)
    claude.event("PostToolBatch")  # the text is
    assert delivery(room, sent.id).evidence is Evidence.BOUNDARY


@pytest.mark.promise("hook-context")
def test_tools_that_give_back_more_than_is_read_of_a_transcript_do_not_have_mail_shown_again(
    room: LocalRoom, claude: ClaudeCode
):
    """Some images are enough for that, and the mail that came before them is in the same context."""
    claude.start()
    sent = room.send("builder", "The API is frozen.")
    claude.prompt()
    claude.answer()
    with open(claude.transcript, "a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "content": "x" * (17 << 20)}) + "\n")
    claude.event("PostToolBatch", tool_calls=[])
    claude.stop()
    assert times(claude, "The API is frozen.") == 1
    assert (delivery(room, sent.id).state, delivery(room, sent.id).evidence) == (
        State.SEEN,
        Evidence.BOUNDARY,
    )


@pytest.mark.promise("hook-proof")
def test_that_the_hook_ran_is_not_yet_that_the_model_got_it(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    claude.prompt()
    sent = room.send("builder", "mail-1")
    text = claude.tools(keep=False)
    claude._write("hook_success", text)
    assert "mail-1" in claude.stop()
    assert [attempt.outcome for attempt in room.receipts(sent.id).attempts] == [Outcome.LOST, Outcome.OPEN]


def test_twenty_messages_come_in_one_text_and_each_is_seen(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = [room.send("builder", f"number {n};") for n in range(20)]
    claude.prompt()
    claude.stop()
    assert all(times(claude, f"number {n};") == 1 for n in range(20))
    assert {delivery(room, one.id).state for one in sent} == {State.SEEN}


def test_what_does_not_fit_waits_for_the_next_event(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    for n in range(5):
        room.send("builder", f"number {n}; " + "x" * 4_000)
    for _ in range(5):
        claude.tools()
    assert [times(claude, f"number {n};") for n in range(5)] == [1] * 5
    assert max(map(len, claude.shown)) < 10_000


def test_an_event_that_is_no_offer_point_shows_nothing(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    room.send("builder", "mail-1")
    assert claude.event("Notification") == ""
    assert "mail-1" in claude.tools()


# contexts


@pytest.mark.promise("hook-context")
@pytest.mark.parametrize("source", ["compact", "resume", "clear"])
def test_what_was_not_proven_before_the_context_ended_is_shown_again_with_a_label(
    room: LocalRoom, claude: ClaudeCode, source: str
):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.transcript = ""
    claude._write = lambda *a, **k: None
    claude.prompt()
    if source == "clear":
        claude.end()
        claude.session = claude.key = "s2"
    text = claude.start(source)
    if source == "compact":  # at an idle prompt, say
        assert "mail-1" not in text
        text = claude.prompt()
    assert "mail-1" in text
    assert "may have been shown before" in text
    claude.stop()
    assert delivery(room, sent.id).state is State.SEEN
    assert room.receipts(sent.id).attempts[0].cause is Cause.CONTEXT
    assert {s.agent for s in room.store.look().sessions(room.who("builder").id)} == {room.who("builder").id}


@pytest.mark.promise("hook-context")
def test_what_the_transcript_has_is_not_shown_again_after_a_resumption(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    room.send("builder", "mail-1")
    claude.prompt()
    claude.answer()
    claude.end()
    assert claude.start("resume") == ""
    assert times(claude, "mail-1") == 1


@pytest.mark.promise("hook-context")
def test_a_prompt_that_comes_before_the_start_it_belongs_to_begins_no_other_context(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str]
):
    """Copilot runs the hooks of a resumed session's start and of its first prompt at the same time."""
    work = os.path.join(tmp_path, "work")
    with Player(home, work, runtime="copilot", POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="new")
        player.hook("SessionEnd")
    room.send("backend", "mail-1")
    with Player(home, work, runtime="copilot", POSTROOM_AGENT="backend") as player:
        assert "mail-1" in player.hook("UserPromptSubmit", prompt="go on").out
        assert "mail-1" not in player.hook("SessionStart", source="resume").out
        assert "mail-1" in player.hook("SessionStart", source="resume").out, "it was resumed once more"


def test_mail_for_one_session_is_not_shown_in_another_agents(room: LocalRoom, claude: ClaudeCode, cwd: str):
    claude.start()
    room.send("builder", "mail-1")
    os.environ["POSTROOM_AGENT"] = "planner"
    other = ClaudeCode(room.home, cwd, "s2")
    assert "mail-1" not in other.start()
    assert "mail-1" in claude.tools()


# the end of a turn


@pytest.mark.promise("stop-cap")
def test_mail_keeps_a_turn_from_ending_three_times_then_a_person_must_say_something(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    for n in range(4):
        room.send("builder", f"number {n};")
        assert (f"number {n};" in claude.stop()) == (n < 3)
    room.send("builder", "urgently;", priority="urgent")
    assert "urgently;" in claude.stop()
    assert "number 3;" not in "".join(claude.shown)
    assert "number 3;" in claude.prompt("do it")
    room.send("builder", "number 4;")
    assert "number 4;" in claude.stop()


@pytest.mark.promise("stop-cap")
def test_after_ten_minutes_mail_may_keep_a_turn_from_ending_again(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    claude.start()
    for n in range(4):
        room.send("builder", f"number {n};")
        claude.stop()
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 601 * 10**9)
    assert "number 3;" in claude.stop()


def test_who_asked_is_told_when_a_turn_ends_without_an_answer(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    room.send("builder", "Is it red?", type="request")
    claude.prompt()
    claude.stop()
    [letter] = room.peek("planner")
    assert "builder is idle and has not answered" in letter.body


# quiet


@pytest.mark.promise("quiet")
def test_quiet_is_promised_only_while_nothing_is_due_offered_or_watched(room: LocalRoom, claude: ClaudeCode):
    builder = room.who("builder").id
    link = os.path.join(room.home, "run", "quiet", "s", "s1")
    claude.start()
    assert os.path.samefile(link, room.quiet.path(builder))
    room.send("builder", "mail-1", type="request")
    assert not os.path.exists(link)
    claude.prompt()
    assert not os.path.exists(link), "it is offered"
    claude.tools()
    assert not os.path.exists(link), "at the end of the turn its asker must be told"
    claude.stop()
    assert os.path.exists(link)
    claude.end()
    assert not os.path.lexists(link)


# subagents


@pytest.mark.promise("subagents")
def test_a_subagent_has_an_address_of_its_own_and_its_own_mail(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    one: Any = {"agent_id": "c1", "agent_type": "Explore"}
    assert "builder.explore" in claude.event("SubagentStart", **one)
    room.send("builder", "for the parent")
    sent = room.send("builder.explore", "for the child")
    shown = claude.event("PostToolBatch", **one)
    assert "for the child" in shown
    assert "for the parent" not in shown
    assert "for the parent" in claude.tools()
    claude.event("SubagentStop", **one)
    assert delivery(room, sent.id).evidence is Evidence.BOUNDARY, "its last event, after its last answer"
    child = next(s.agent for s in room.agents(everyone=True) if s.agent.name == "builder.explore")
    assert child.left_at is not None
    assert room.who("builder").left_at is None


@pytest.mark.promise("subagents")
def test_mail_for_a_subagent_ends_the_quiet_of_its_parents_session(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    claude.event("SubagentStart", agent_id="c1", agent_type="Explore")
    claude.tools()
    builder = room.who("builder").id
    assert room.quiet.until(builder) is not None
    room.send("builder.explore", "mail-1")
    assert room.quiet.until(builder) is None
    claude.tools()
    assert room.quiet.until(builder) is None, "the child has not seen it yet"


def test_two_subagents_of_a_kind_have_two_addresses(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    claude.event("SubagentStart", agent_id="c1", agent_type="Explore")
    assert "builder.explore-2" in claude.event("SubagentStart", agent_id="c2", agent_type="Explore")


# waking


@pytest.mark.promise("wake")
def test_an_idle_session_watches_its_ring_file_which_a_send_touches(room: LocalRoom, claude: ClaudeCode):
    path = room.ring.path(room.who("builder").id)
    claude.start()
    os.utime(path, (1, 1))
    room.send("builder", "mail-1")
    assert os.path.getmtime(path) > 1
    assert "mail-1" in claude.change()
    claude.stop()
    assert times(claude, "mail-1") == 1
    claude.end()
    assert not os.path.exists(path)


@pytest.mark.promise("wake")
def test_a_wake_that_comes_while_the_model_works_leaves_the_mail_to_the_next_event(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    claude.prompt()
    room.send("builder", "mail-1")
    assert claude.change() == ""
    assert "mail-1" in claude.tools()


def test_a_wake_that_crossed_a_prompt_is_not_taken_for_lost(room: LocalRoom, claude: ClaudeCode):
    """The answer that was on its way when it came proves nothing."""
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.event("FileChanged", keep=False)
    claude.prompt()
    assert claude.stop() == ""
    assert delivery(room, sent.id).state is State.OFFERED
    claude._write("attachment", claude.shown[-1])


@pytest.mark.promise("wake")
def test_a_turn_that_a_person_has_stopped_is_over_though_no_event_says_so(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    claude.prompt()
    claude.tools()
    room.send("builder", "mail-1")
    assert claude.change() == ""
    claude._write("user", "[Request interrupted by user]")
    assert "mail-1" in claude.change()


@pytest.mark.promise("hook-proof")
def test_a_wake_that_was_only_queued_behind_a_turn_is_not_proven_by_that_turn(
    room: LocalRoom, claude: ClaudeCode
):
    """Claude Code notes what it queues, with all its text, and the model may never be asked with it."""
    claude.start()
    sent = room.send("builder", "mail-1")
    text = claude.event("FileChanged", keep=False)
    claude._write("queue-operation", text)
    claude.stop()
    assert delivery(room, sent.id).state is State.OFFERED


@pytest.mark.promise("hook-loss")
def test_a_wake_that_the_runtime_dropped_is_found_lost_and_shown_again(room: LocalRoom, claude: ClaudeCode):
    """As when its hook dies in its last instant: Claude Code has then queued nothing."""
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.event("FileChanged", keep=False)
    claude.prompt()
    assert claude.tools() == "", "it may yet be noted"
    claude.answer(later=3_000)
    assert "mail-1" in claude.event("Stop")
    assert room.receipts(sent.id).attempts[0].outcome is Outcome.LOST
    claude.stop()
    assert delivery(room, sent.id).state is State.SEEN


@pytest.mark.promise("hook-loss")
def test_a_wake_that_waits_behind_a_long_turn_is_not_taken_for_lost(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    text = claude.event("FileChanged", keep=False)
    claude._write("queue-operation", text)
    claude.prompt()
    claude.answer(later=60_000)
    assert claude.event("Stop") == ""
    assert delivery(room, sent.id).state is State.OFFERED
    claude.take_in(text)
    claude.answer(later=61_000)
    claude.event("Stop")
    assert delivery(room, sent.id).state is State.SEEN


@pytest.mark.promise("wake")
def test_a_session_that_mail_keeps_going_is_not_idle(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    room.send("builder", "mail-1")
    assert "mail-1" in claude.stop()
    room.send("builder", "mail-2")
    assert claude.change() == "", "its last event was the end of a turn, which then went on"
    assert "mail-2" in claude.tools()
