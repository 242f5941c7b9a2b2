"""Requests that an API refuses: no receipt, no loss, one attempt at a time, and all of it can be seen."""

import json
import os
from typing import Any

import pytest

from postroom import host
from postroom.clock import iso, wall
from postroom.daemon.sweep import Sweep
from postroom.errors import PostroomError, StoreBusy, StoreFull
from postroom.model import refusal
from postroom.model.ladder import Cause, Evidence, Outcome, Reason, State
from postroom.model.message import Delivery
from postroom.room import failed_turn, journal, manners, transcript
from postroom.room.local import LocalRoom
from postroom.room.probe import scope_of
from postroom.room.replay import replay
from postroom.room.verify import verify
from postroom.store.sqlite.store import SqliteStore
from tests.hooking import ClaudeCode, run_hook

MINUTE = 60_000
AGAIN = "may have been shown"


def delivery(room: LocalRoom, id: str) -> Delivery:
    [found] = room.receipts(id).deliveries
    return found


def times(claude: ClaudeCode, text: str) -> int:
    return sum(shown.count(text) for shown in claude.shown)


def builder(room: LocalRoom) -> str:
    return room.known("builder").id


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt may be made at once, and the one after it in a minute."""
    monkeypatch.setattr(refusal, "STEPS", (1, MINUTE))


@pytest.mark.promise("only-a-model")
def test_an_error_that_the_cli_writes_as_an_answer_proves_nothing(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.refused()
    claude.event("Notification")
    claude.prompt()
    assert delivery(room, sent.id).state is not State.SEEN
    assert delivery(room, sent.id).evidence is None


@pytest.mark.promise("only-a-model")
def test_what_a_refused_request_had_waits_for_the_next_attempt_and_says_so(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    sent, began = room.send("builder", "mail-1"), wall()
    claude.prompt()
    claude.fail()
    found = delivery(room, sent.id)
    assert (found.state, found.reason, found.held) == (State.STORED, Reason.API_ERROR.value, True)
    assert found.due_at is not None
    assert began + MINUTE <= found.due_at <= wall() + MINUTE
    [attempt] = room.receipts(sent.id).attempts
    assert (attempt.outcome, attempt.cause) == (Outcome.REFUSED, Cause.API_ERROR)
    [status] = [one for one in room.agents() if one.agent.name == "builder"]
    assert (status.reach, status.held) == ("idle", 1)
    later = room.send("builder", "mail-2")
    assert delivery(room, later.id).reason == Reason.API_ERROR.value
    assert claude.prompt() == "", "all of it waits"
    assert not verify(room).problems


@pytest.mark.promise("only-a-model")
def test_what_was_answered_before_the_refusal_stays_seen_and_only_the_agent_is_held(
    room: LocalRoom, claude: ClaudeCode
):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.tools()
    claude.fail()
    assert delivery(room, sent.id).evidence is Evidence.TRANSCRIPT
    assert room.store.look().refusal(scope_of(builder(room))) is not None


@pytest.mark.promise("only-a-model")
def test_one_message_at_a_time_tries_again_and_an_answer_lets_the_others_go(
    room: LocalRoom, claude: ClaudeCode, now: None
):
    claude.start()
    first, second = room.send("builder", "mail-1"), room.send("builder", "mail-2")
    claude.prompt()
    claude.fail()
    shown = claude.prompt()
    assert ("mail-1" in shown, "mail-2" in shown) == (True, False)
    assert delivery(room, second.id).reason == Reason.API_ERROR.value
    claude.fail()
    assert [delivery(room, one.id).reason for one in (first, second)] == [Reason.API_ERROR.value] * 2
    claude.end()
    shown = claude.start("resume")
    assert ("mail-1" in shown, "mail-2" in shown) == (True, False)
    assert "mail-2" in claude.stop()
    claude.stop()
    assert delivery(room, first.id).state is State.SEEN
    assert delivery(room, second.id).state is State.SEEN
    assert room.store.look().refusal(scope_of(builder(room))) is None
    assert not verify(room).problems


@pytest.mark.promise("only-a-model")
def test_what_the_same_conversation_has_already_is_labelled_and_a_new_one_is_not_told_so(
    room: LocalRoom, claude: ClaudeCode, cwd: str
):
    """A runtime keeps a refused prompt in the conversation, and sends it again with the next one."""
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    assert not delivery(room, sent.id).shown_before
    claude.end()
    other = ClaudeCode(room.home, cwd, "s2")
    shown = other.start()
    assert "mail-1" in shown, "who starts a session asks the model anyway"
    assert (AGAIN in shown, delivery(room, sent.id).shown_before) == (False, False)
    other.fail()
    assert delivery(room, sent.id).state is State.STORED
    other.prompt()
    assert AGAIN in other.stop()


@pytest.mark.promise("only-a-model")
def test_a_prompt_of_a_person_that_is_answered_ends_it(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    assert claude.prompt("are you there?") == ""
    assert "mail-1" in claude.stop()
    assert delivery(room, sent.id).state is State.OFFERED


@pytest.mark.promise("only-a-model")
def test_prompts_that_are_refused_do_not_put_off_the_next_attempt(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    due = delivery(room, sent.id).due_at
    for _ in range(3):
        claude.prompt()
        claude.fail()
    assert delivery(room, sent.id).due_at == due
    claude.prompt()
    claude.fail("You've hit your session limit · resets in 2 hours. Try again in 2 hours.")
    later = delivery(room, sent.id).due_at
    assert later is not None
    assert abs(later - wall() - 120 * MINUTE) < MINUTE, "what the provider tells is believed"


@pytest.mark.promise("only-a-model")
def test_refusals_make_nothing_dead(room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(refusal, "STEPS", (1,))
    claude.start()
    sent = room.send("builder", "mail-1")
    for _ in range(room.settings.max_unproven + 2):
        assert "mail-1" in claude.prompt()
        claude.fail()
    assert (delivery(room, sent.id).state, delivery(room, sent.id).unproven) == (State.STORED, 0)


@pytest.mark.promise("only-a-model")
def test_an_answer_that_was_cut_off_is_an_answer(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.answer()
    claude.fail("The answer exceeded the maximum", error="max_output_tokens")
    assert delivery(room, sent.id).state is State.SEEN
    assert room.store.look().refusal(scope_of(builder(room))) is None


@pytest.mark.promise("only-a-model")
def test_a_session_that_ends_in_an_error_swallows_nothing(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    """As a headless run does of which no more than its end is told, or not even that."""
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.refused()
    claude.moment += 3
    claude.end()
    found = delivery(room, sent.id)
    assert (found.reason, found.unproven) == (Reason.API_ERROR.value, 0)
    assert not verify(room).problems


@pytest.mark.promise("only-a-model")
def test_a_process_that_dies_of_an_error_swallows_nothing(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.refused()
    monkeypatch.setattr(host, "is_gone", lambda _identity: True)
    room.sweep()
    found = delivery(room, sent.id)
    assert (found.reason, found.unproven) == (Reason.API_ERROR.value, 0)


@pytest.mark.promise("only-a-model")
def test_no_quiet_is_promised_while_an_answer_is_looked_for(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    assert room.hush("builder") is None
    claude.prompt()
    claude.stop()
    claude.stop()
    assert room.hush("builder") is not None


@pytest.mark.promise("only-a-model")
def test_a_room_with_refusals_is_rebuilt_as_it_was(room: LocalRoom, claude: ClaudeCode, now: None):
    claude.start()
    sent = room.send("builder", "mail-1")
    room.send("builder", "mail-2")
    for _ in range(2):
        claude.prompt()
        claude.fail()
    assert not verify(room).problems
    journal.sync(room)
    room.close()
    os.rename(os.path.join(room.home, "room.db"), os.path.join(room.home, "gone.db"))
    replay(os.path.join(room.home, "events"), room.home)
    again = LocalRoom(room.home, room.settings, agent="planner", project="p")
    assert delivery(again, sent.id).reason == Reason.API_ERROR.value
    assert again.store.look().refusal(scope_of(builder(again))) is not None
    again.close()


class Codex:
    """A session of Codex, by its hooks and its transcript. Lines as 0.166.0 wrote them."""

    def __init__(self, room: LocalRoom, cwd: str) -> None:
        self.home, self.cwd = room.home, cwd
        self.path = os.path.join(cwd, "rollout.jsonl")

    def line(self, at: int, kind: str, **payload: object) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            record = {"timestamp": iso(at), "type": kind, "payload": payload}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def hook(self, event: str, **told: str) -> str:
        where = {"session_id": "s1", "transcript_path": self.path, "cwd": self.cwd, "hook_event_name": event}
        _, out, _ = run_hook(self.home, ["codex", event, "s1"], json.dumps({**where, **told}), wall() + 1)
        return out

    def prompt(self) -> str:
        """A person asks something; what the model gets with it of ours."""
        self.line(wall(), "event_msg", type="task_started")
        out = self.hook("UserPromptSubmit", prompt="go")
        text = json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""
        self.line(wall(), "response_item", type="message", role="developer", content=[{"text": text}])
        return text

    def fail(self, later: int = 5) -> None:
        """The turn fails, of which no hook tells, so many milliseconds later."""
        error = {"message": "The scripted model refuses this request with 400."}
        self.line(wall() + later, "event_msg", type="task_complete", last_agent_message=None, error=error)


@pytest.fixture
def codex(room: LocalRoom, cwd: str, monkeypatch: pytest.MonkeyPatch) -> Codex:
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    return Codex(room, cwd)


def stands(room: LocalRoom, id: str) -> tuple[State, str | None]:
    """How far a message is, without a sweep."""
    [found] = room.store.look().deliveries(room.message(id).seq)
    return found.state, found.reason


WAITS = (State.STORED, Reason.API_ERROR.value)


@pytest.mark.promise("only-a-model")
def test_a_turn_of_codex_that_failed_is_noticed_by_whoever_looks(room: LocalRoom, codex: Codex):
    codex.hook("SessionStart", source="startup")
    sent = room.send("builder", "mail-1")
    codex.prompt()
    room.sweep()
    assert delivery(room, sent.id).state is State.OFFERED
    codex.fail()
    room.sweep()
    assert stands(room, sent.id) == WAITS
    known = room.store.look().refusal(scope_of(builder(room)))
    assert known is not None


@pytest.mark.promise("only-a-model")
def test_the_daemon_notices_a_turn_of_codex_that_failed_in_a_quiet_room(room: LocalRoom, codex: Codex):
    codex.hook("SessionStart", source="startup")
    sent = room.send("builder", "mail-1")
    codex.prompt()
    sweep = Sweep(room)
    for _ in range(3):  # what has changed until now is known
        sweep.run({})
    assert stands(room, sent.id)[0] is State.OFFERED
    codex.fail()
    sweep.run({})
    assert stands(room, sent.id) == WAITS


@pytest.mark.promise("only-a-model")
@pytest.mark.parametrize("trouble", [StoreFull, StoreBusy])
def test_a_failed_turn_that_could_not_be_noted_refuses_no_reader_and_is_noted_later(
    room: LocalRoom, codex: Codex, monkeypatch: pytest.MonkeyPatch, trouble: type[PostroomError]
):
    codex.hook("SessionStart", source="startup")
    sent = room.send("builder", "mail-1")
    codex.prompt()
    codex.fail()

    def commit(_: SqliteStore) -> None:
        raise trouble("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "commit", commit)
        assert delivery(room, sent.id).state is State.OFFERED
        room.agents()
    room.sweep()
    assert stands(room, sent.id) == WAITS


@pytest.mark.promise("only-a-model")
def test_a_failed_turn_that_could_not_be_read_in_time_is_found_later(
    room: LocalRoom, codex: Codex, monkeypatch: pytest.MonkeyPatch
):
    codex.hook("SessionStart", source="startup")
    sent = room.send("builder", "mail-1")
    codex.prompt()
    codex.fail()
    with monkeypatch.context() as patched:
        patched.setattr(failed_turn, "LOOKING", -1.0)
        room.sweep()
        assert stands(room, sent.id)[0] is State.OFFERED
    room.sweep()
    assert stands(room, sent.id) == WAITS


@pytest.mark.promise("only-a-model")
def test_a_turn_that_failed_before_it_had_mail_says_nothing_of_the_mail_of_the_next(
    room: LocalRoom, codex: Codex
):
    codex.hook("SessionStart", source="startup")
    codex.prompt()
    codex.fail(later=0)
    room.sweep()
    sent = room.send("builder", "mail-1")
    codex.prompt()
    room.sweep()
    assert stands(room, sent.id)[0] is State.OFFERED
    assert room.store.look().refusal(scope_of(builder(room))) is None


@pytest.mark.promise("only-a-model")
def test_nobody_reads_a_transcript_where_no_mail_is_at_risk(
    room: LocalRoom, codex: Codex, monkeypatch: pytest.MonkeyPatch
):
    codex.hook("SessionStart", source="startup")
    codex.prompt()
    codex.fail()
    read: list[str] = []
    monkeypatch.setattr(failed_turn, "Conversation", lambda path, *_: read.append(path))
    room.sweep()
    room.sweep("builder")
    assert read == []


@pytest.mark.promise("only-a-model")
def test_the_transcript_of_a_process_that_died_is_read_once_and_before_the_transaction(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    claude.start()
    sent = [room.send("builder", f"mail-{n}").id for n in range(3)]
    claude.prompt()
    claude.refused()
    monkeypatch.setattr(host, "is_gone", lambda _identity: True)
    opened: list[bool] = []
    plain = transcript.open_plain

    def noted(path: str) -> object:
        opened.append(room.store.look().connection.in_transaction)  # pyright: ignore[reportAttributeAccessIssue]
        return plain(path)

    monkeypatch.setattr(transcript, "open_plain", noted)
    room.sweep()
    assert {stands(room, id) for id in sent} == {WAITS}
    assert opened == [False]


@pytest.mark.promise("only-a-model")
def test_who_starts_a_session_of_a_paused_agent_is_given_nothing(
    room: LocalRoom, claude: ClaudeCode, cwd: str
):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    room.manners("builder", paused=True)
    claude.end()
    assert "mail-1" not in ClaudeCode(room.home, cwd, "s2").start()
    assert stands(room, sent.id) == (State.STORED, Reason.PAUSED.value)
    room.manners("builder", paused=False)
    assert stands(room, sent.id)[0] is State.STORED


@pytest.mark.promise("only-a-model")
def test_who_leaves_takes_the_refusal_along(room: LocalRoom, claude: ClaudeCode):
    claude.start()
    sent = room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    assert stands(room, sent.id) == WAITS
    room.leave("builder")
    assert room.store.look().refused() == frozenset()
    assert stands(room, sent.id) == (State.STORED, None)
    assert not verify(room).problems


@pytest.mark.promise("only-a-model")
def test_a_refusal_costs_only_the_mail_of_its_agent(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    claude.start()
    room.send("builder", "mail-1")
    claude.prompt()
    claude.fail()
    asked: list[str] = []
    hold_new = manners.hold_new

    def noted(*given: Any) -> Any:
        asked.append(given[3][0].name)
        return hold_new(*given)

    monkeypatch.setattr(manners, "hold_new", noted)
    room.send("planner", "mail-2", sender="builder")
    room.send("builder", "mail-3")
    assert asked == ["builder"]
