"""The request watch: an asker that does not wait is told when an answer is not to be expected, and once."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from postroom.errors import NoAnswer, PostroomError, TimedOut, UnknownMessage
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room import ask, backup, journal, keep, replay
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter, Others
from tests.process import BOUND, until
from tests.room_activity import gone_process

Start = Callable[..., "Future[Mail]"]


@pytest.fixture(autouse=True)
def _glance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "GLANCE", 0.2)


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner")
    room.join("planner", role="lead")
    for agent in ("builder", "reviewer"):
        room.join(agent, role="worker")
    return room


def request(room: LocalRoom, to: str = "builder", expires: float | None = None) -> str:
    return room.send(to, "how far are you?", type="request", expires=expires).id


def see(room: LocalRoom, agent: str = "builder") -> Mail:
    mail = room.take(agent)
    assert mail is not None
    room.settle(mail)
    return mail


def see_and_die(enter: Enter, agent: str = "builder") -> None:
    with gone_process():
        see(enter(), agent)


def told(room: LocalRoom) -> list[tuple[str, str]]:
    """Whom the letters in the asker's inbox are about, and why they were written."""
    letters = [mail.payload["unanswered"] for mail in room.peek("planner") if mail.payload]
    return [(letter["recipient"], letter["reason"]) for letter in letters]


@pytest.mark.promise("request-letter")
def test_the_asker_gets_a_letter_when_the_program_that_saw_it_ends(team: LocalRoom, enter: Enter):
    asked = request(team)
    see_and_die(enter)
    [letter] = team.peek("planner")
    assert (letter.sender, letter.type, letter.message.reply_to) == ("postroom", "system", asked)
    assert letter.thread == team.receipts(asked).message.thread
    assert "the program of builder has ended without answering" in letter.body
    team.sweep()
    team.leave("builder")
    assert told(team) == [("builder", "ended")], "once, though it has left as well"


@pytest.mark.promise("request-letter")
def test_the_asker_gets_a_letter_when_a_listener_that_saw_it_ends(team: LocalRoom, enter: Enter):
    request(team)
    with gone_process():
        listening = enter().listen("builder", timeout=0)
        assert [mail.type for mail in listening] == ["request"]  # and asks for the next: it has seen it
    assert told(team) == [("builder", "ended")]


@pytest.mark.promise("request-letter")
def test_who_sleeps_until_mail_comes_finds_the_death_by_itself(team: LocalRoom, enter: Enter, others: Others):
    request(team)
    others.become(2)
    see(team)
    others.become(1)
    waiter, found = enter("planner", sweep_seconds=0.05), list[Mail | None]()
    thread = threading.Thread(target=lambda: found.append(waiter.take(timeout=BOUND)))
    thread.start()
    until(lambda: team.who("planner").id in waiter.next_sweeps)  # it has swept, and sleeps again
    others.die(2)  # which rings no bell
    thread.join(BOUND)
    assert [mail and mail.type for mail in found] == ["system"]


@pytest.mark.promise("request-letter")
@pytest.mark.parametrize("act", ["see", "ack", "nothing"])
def test_the_asker_gets_a_letter_when_the_one_asked_leaves(team: LocalRoom, act: str):
    asked = request(team)
    if act == "see":
        see(team)
    elif act == "ack":
        team.ack(asked, agent="builder")
    team.leave("builder")
    assert told(team) == [("builder", "left")]
    team.join("builder")
    team.leave("builder")
    assert told(team) == [("builder", "left")]


@pytest.mark.promise("request-letter")
def test_who_has_acknowledged_it_and_ends_has_not_answered(team: LocalRoom, enter: Enter):
    request(team)
    with gone_process():
        ending = enter()
        ending.ack(see(ending))
    assert told(team) == [("builder", "ended")]


@pytest.mark.promise("request-letter")
def test_after_an_answer_nobody_is_told_anything(team: LocalRoom, enter: Enter):
    request(team)
    with gone_process():
        ending = enter()
        ending.reply(see(ending), "nearly done")
    team.sweep()
    assert team.idle("builder") == []
    team.leave("builder")
    assert [mail.body for mail in team.peek("planner")] == ["nearly done"]


def test_an_answer_that_was_sent_by_hand_is_one(team: LocalRoom):
    asked = request(team)
    see(team)
    team.send("planner", "done", sender="builder", type="response", reply_to=asked, correlation=asked)
    team.leave("builder")
    assert [mail.body for mail in team.peek("planner")] == ["done"]


@pytest.mark.promise("request-letter")
def test_when_one_of_many_has_answered_the_others_may_go(team: LocalRoom):
    asked = request(team, "@workers")
    team.reply(asked, "me", agent="reviewer")
    see(team)
    team.leave("builder")
    assert [mail.body for mail in team.peek("planner")] == ["me"]


def test_of_many_each_that_goes_is_told_of(team: LocalRoom):
    request(team, "@workers")
    for agent in ("builder", "reviewer"):
        see(team, agent)
        team.leave(agent)
    assert told(team) == [("builder", "left"), ("reviewer", "left")]


@pytest.mark.promise("request-letter")
def test_an_asker_who_has_left_is_told_nothing(team: LocalRoom, enter: Enter):
    request(team)
    see_and_die(enter)
    team.leave("planner")
    team.sweep()
    assert team.peek("planner") == []


@pytest.mark.promise("request-letter")
def test_what_asks_for_nothing_is_not_watched(team: LocalRoom, enter: Enter):
    team.send("builder", "for your information")
    see_and_die(enter)
    team.sweep()
    team.leave("builder")
    assert team.peek("planner") == []


@pytest.mark.promise("request-letter")
@pytest.mark.parametrize("to", ["builder", "@workers", "one:@workers"])
def test_the_asker_is_told_once_that_a_request_expired_unread(team: LocalRoom, clock: Clock, to: str):
    asked = request(team, to, expires=60)
    clock.advance(61)
    for _ in range(2):
        assert [reason for _, reason in told(team)] == ["expired"]
    assert f"it expired before {to} read it" in team.peek("planner")[0].body
    assert {d.state for d in team.receipts(asked).deliveries} == {State.EXPIRED}


def test_it_has_not_expired_while_one_of_many_may_answer(team: LocalRoom, clock: Clock):
    request(team, "@workers", expires=60)
    see(team)
    clock.advance(61)
    assert told(team) == []


def test_who_was_told_that_one_left_is_not_told_that_it_let_it_expire(team: LocalRoom, clock: Clock):
    request(team, expires=60)
    team.leave("builder")
    clock.advance(61)
    assert told(team) == [("builder", "left")]


@pytest.mark.promise("request-letter")
def test_a_request_that_was_given_up_on_gives_a_bounce_and_no_letter(team: LocalRoom, enter: Enter):
    request(team)
    for _ in range(team.settings.max_unproven):
        with gone_process():
            enter().take("builder")
        team.sweep()
    [letter] = team.peek("planner")
    assert "unproven" in letter.body


# idle


@pytest.mark.promise("idle")
def test_the_askers_of_what_was_seen_and_left_are_told_once(team: LocalRoom):
    asked = request(team)
    assert team.idle("builder") == [], "it has not seen it yet"
    see(team)
    assert [message.id for message in team.idle("builder")] == [asked]
    assert team.idle("builder") == []
    [letter] = team.peek("planner")
    assert "builder is idle and has not answered; it may still do so" in letter.body
    team.reply(asked, "here", agent="builder")
    assert [mail.body for mail in team.peek("planner")][1:] == ["here"]


@pytest.mark.promise("idle")
def test_who_has_acknowledged_a_request_is_not_idle_about_it(team: LocalRoom):
    request(team)
    team.ack(see(team))
    assert team.idle("builder") == []
    assert team.peek("planner") == []


@pytest.mark.promise("idle")
def test_one_that_was_idle_and_then_goes_is_told_of_again(team: LocalRoom):
    request(team)
    see(team)
    team.idle("builder")
    team.leave("builder")
    assert told(team) == [("builder", "idle"), ("builder", "left")]
    team.idle("builder")
    assert len(told(team)) == 2


# with one that waits


@pytest.fixture
def start(enter: Enter) -> Start:
    def begin(to: str, timeout: float = BOUND) -> "Future[Mail]":
        future: Future[Mail] = Future()

        def wait() -> None:
            room = enter("planner")
            room.next_sweeps[None] = float("inf")  # it is left to find out by itself
            try:
                future.set_result(room.ask(to, "how far are you?", timeout=timeout))
            except PostroomError as exc:
                future.set_exception(exc)
            finally:
                room.close()

        threading.Thread(target=wait, daemon=True).start()
        return future

    return begin


@pytest.mark.promise("request-letter")
@pytest.mark.parametrize("how", ["leave", "leave unread", "die"])
def test_who_waits_learns_it_from_the_error_and_finds_no_letter_afterwards(
    team: LocalRoom, enter: Enter, start: Start, how: str
):
    answer = start("builder")
    until(lambda: team.peek("builder"))
    if how == "die":
        see_and_die(enter)
    else:
        if how == "leave":
            see(team)
        team.leave("builder")
    with pytest.raises(NoAnswer, match=r"builder has (left|ended) without answering"):
        answer.result(BOUND)
    team.sweep()
    assert team.peek("planner") == []


def test_who_waits_for_the_last_of_many_finds_no_bounce_afterwards(
    team: LocalRoom, enter: Enter, start: Start
):
    team.leave("reviewer")
    answer = start("one:@workers")
    until(lambda: team.peek("builder"))
    see_and_die(enter)
    with pytest.raises(PostroomError, match="ended"):
        answer.result(BOUND)
    team.sweep()
    assert team.peek("planner") == []


@pytest.mark.promise("idle")
def test_who_waits_goes_on_when_the_one_asked_is_idle_and_gets_the_answer_alone(
    team: LocalRoom, start: Start
):
    answer = start("builder")
    until(lambda: team.peek("builder"))
    mail = see(team)
    assert len(team.idle("builder")) == 1
    with pytest.raises(TimeoutError):
        answer.result(3 * ask.GLANCE)
    team.reply(mail, "here", agent="builder")
    assert answer.result(BOUND).body == "here"
    assert team.peek("planner") == []


@pytest.mark.promise("idle")
def test_when_time_is_up_the_error_says_who_is_idle_and_no_letter_is_left(team: LocalRoom, start: Start):
    answer = start("builder", timeout=1.0)
    until(lambda: team.peek("builder"))
    see(team)
    team.idle("builder")
    with pytest.raises(TimedOut) as error:
        answer.result(BOUND)
    assert "builder is idle and has not answered" in error.value.hint
    assert team.peek("planner") == []


@pytest.mark.promise("request-letter")
def test_after_a_wait_in_vain_what_happens_then_is_told_by_letter(team: LocalRoom, enter: Enter):
    with pytest.raises(TimedOut):
        team.ask("builder", "how far are you?", timeout=0.01)
    see_and_die(enter)
    assert told(team) == [("builder", "ended")]


@pytest.mark.promise("only-who-was-asked")
def test_only_who_was_asked_can_answer(team: LocalRoom, start: Start):
    answer = start("builder")
    until(lambda: team.peek("builder"))
    asked = team.peek("builder")[0].id
    with pytest.raises(UnknownMessage):  # it has no part in it
        team.send("planner", "I guess!", sender="reviewer", reply_to=asked)
    team.send("reviewer", "builder is asked", sender="planner", thread=asked)
    team.send("planner", "I know!", sender="reviewer", type="response", reply_to=asked, correlation=asked)
    with pytest.raises(TimeoutError):
        answer.result(3 * ask.GLANCE)
    assert [mail.body for mail in team.peek("planner")] == ["I know!"]
    team.reply(asked, "here", agent="builder")
    assert answer.result(BOUND).body == "here"


@pytest.mark.promise("only-who-was-asked")
def test_who_was_handed_the_question_answers_who_handed_it_on(team: LocalRoom, start: Start):
    answer = start("builder")
    until(lambda: team.peek("builder"))
    asked = team.peek("builder")[0].id
    team.forward(asked, "reviewer", "do you know?", sender="builder")
    team.reply(team.peek("reviewer")[0].id, "yes: half", agent="reviewer")
    assert not answer.done()
    assert [mail.body for mail in team.peek("builder")][1:] == ["yes: half"]
    team.reply(asked, "half", agent="builder")
    assert answer.result(BOUND).body == "half"


# whatever happens to the room


def test_a_restored_room_watches_what_it_watched(team: LocalRoom, enter: Enter, tmp_path: Path):
    request(team)
    see_and_die(enter)
    backup.backup(team, os.path.join(tmp_path, "kept.db"))
    backup.restore(team, os.path.join(tmp_path, "kept.db"))
    assert told(team) == [("builder", "ended")]


def test_a_room_rebuilt_from_its_journals_watches_what_it_watched(
    team: LocalRoom, enter: Enter, tmp_path: Path
):
    request(team)
    answered = request(team, "reviewer")
    see_and_die(enter)
    with gone_process():
        ending = enter()
        ending.reply(see(ending, "reviewer"), "here")
    journal.sync(team)
    home = os.path.join(tmp_path, "rebuilt")
    replay.replay(journal.directory(team), home)
    with LocalRoom(home, team.settings, agent="planner", project="p") as rebuilt:
        found = rebuilt.peek()
        assert [mail.body for mail in found[:1]] == ["here"]
        assert [mail.type for mail in found[1:]] == ["system"]
        assert rebuilt.receipts(answered).deliveries[0].state is State.ACKED


def test_what_is_pruned_is_watched_no_longer(team: LocalRoom, clock: Clock):
    mail = team.take("builder", id=request(team))
    assert mail is not None
    team.settle(mail)
    builder = team.who("builder").id
    assert team.store.look().watched(builder)
    clock.advance(1)
    keep.prune(team, clock())
    assert not team.store.look().watched(builder)
    team.leave("builder")
    assert team.peek("planner") == []
