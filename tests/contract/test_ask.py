"""Asking: the answer comes, or it is said why none will; and nobody waits for one who waits for them."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import pytest

from postroom.errors import NoAnswer, PostroomError, Refused, TimedOut, WaitingInCircle
from postroom.model.message import Mail
from postroom.room import ask, asking
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter
from tests.process import BOUND, until
from tests.room_activity import gone_process

Start = Callable[..., "Future[Mail]"]


@pytest.fixture(autouse=True)
def _glance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "GLANCE", 0.2)


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner")
    for agent in ("planner", "builder", "reviewer"):
        room.join(agent, role="worker")
    return room


@pytest.fixture
def start(enter: Enter) -> Start:
    """Asks in a thread, as another program would; the answer, or the error, comes later."""

    def begin(who: str, to: str, **options: Any) -> "Future[Mail]":
        told: Future[Mail] = Future()

        def wait() -> None:
            room = enter(who, sweep_seconds=0.05)
            try:
                told.set_result(room.ask(to, f"{who} asks {to}", timeout=BOUND, **options))
            except PostroomError as exc:
                told.set_exception(exc)
            finally:
                room.close()

        threading.Thread(target=wait, daemon=True).start()
        return told

    return begin


def is_asked(room: LocalRoom, who: str) -> bool:
    return bool(room.peek(who))


def waits(room: LocalRoom, who: str) -> bool:
    """Whether it has said that it waits, and is past looking whether others wait for it."""
    party = room.who(who).id
    directory = os.path.join(room.home, "run", "asking", party)
    is_noted = os.path.isdir(directory) and any(not name.endswith(".new") for name in os.listdir(directory))
    return is_noted and room.bell.waiting(party) > 0


def test_the_answer_comes_and_nothing_is_left_behind(team: LocalRoom, start: Start):
    told = start("planner", "builder")
    until(lambda: is_asked(team, "builder") and waits(team, "planner"))
    team.reply(team.peek("builder")[0].id, "here", agent="builder")
    assert told.result(BOUND).body == "here"
    assert not waits(team, "planner")


@pytest.mark.promise("request-watch")
def test_who_asked_is_told_when_the_request_is_withdrawn(team: LocalRoom, start: Start):
    told = start("planner", "builder")
    until(lambda: is_asked(team, "builder"))
    team.withdraw(team.peek("builder")[0].id)
    with pytest.raises(NoAnswer, match="withdrawn"):
        told.result(BOUND)


@pytest.mark.promise("request-watch")
def test_who_asked_is_told_when_the_one_asked_leaves(team: LocalRoom, start: Start):
    told = start("planner", "builder")
    until(lambda: is_asked(team, "builder"))
    team.leave("builder")
    with pytest.raises(NoAnswer, match="builder has left without answering"):
        told.result(BOUND)


@pytest.mark.promise("request-watch")
def test_who_asked_is_told_when_the_program_asked_ends_without_answering(
    team: LocalRoom, enter: Enter, start: Start
):
    told = start("planner", "builder")
    until(lambda: is_asked(team, "builder"))
    with gone_process():
        dying = enter()
        mail = dying.take("builder")
        assert mail is not None
        dying.settle(mail)
    with pytest.raises(NoAnswer, match="builder has ended without answering"):
        told.result(BOUND)


@pytest.mark.promise("request-watch")
def test_while_one_of_many_may_answer_the_wait_goes_on(team: LocalRoom, start: Start):
    told = start("planner", "@workers")
    until(lambda: is_asked(team, "builder"))
    team.leave("builder")
    until(lambda: is_asked(team, "reviewer"))
    team.reply(team.peek("reviewer")[0].id, "me", agent="reviewer")
    assert told.result(BOUND).body == "me"


@pytest.mark.promise("no-circle")
def test_nobody_waits_for_one_who_waits_for_them(team: LocalRoom, start: Start):
    told = start("builder", "planner")
    until(lambda: waits(team, "builder"))
    question = team.peek("planner")[0]
    with pytest.raises(
        WaitingInCircle, match=f"builder waits for your answer to {question.handle}"
    ) as circle:
        team.ask("builder", "and you?", timeout=BOUND)
    assert question.handle in circle.value.hint
    assert [mail.body for mail in team.peek("builder")] == ["and you?"], "it is stored all the same"
    team.reply(question.id, "here", agent="planner")
    assert told.result(BOUND).body == "here"


@pytest.mark.promise("no-circle")
def test_a_circle_of_three_is_one_too(team: LocalRoom, start: Start):
    start("builder", "reviewer")
    start("reviewer", "planner")
    until(lambda: waits(team, "builder") and waits(team, "reviewer"))
    with pytest.raises(WaitingInCircle, match="reviewer waits for your answer"):
        team.ask("builder", "and you?", timeout=BOUND)


def test_who_listens_can_answer_while_it_waits(team: LocalRoom, enter: Enter, start: Start):
    listening = enter().listen("builder", timeout=BOUND)
    start("builder", "planner")
    until(lambda: waits(team, "builder"))
    told = start("planner", "builder")
    mail = next(listening)
    team.reply(mail.id, "I can do both", agent="builder")
    assert told.result(BOUND).body == "I can do both"


def test_the_note_of_one_who_died_waiting_counts_for_nothing(team: LocalRoom):
    theirs, ours = team.send("planner", "?", sender="builder"), team.send("builder", "?")
    with asking.noted(team, theirs), pytest.raises(WaitingInCircle):
        asking.check_circle(team, ours)
    with ExitStack() as stack:
        with gone_process():
            stack.enter_context(asking.noted(team, theirs))
        asking.check_circle(team, ours)


@pytest.mark.promise("request-watch")
def test_who_asked_is_told_when_the_request_expires(team: LocalRoom, clock: Clock, start: Start):
    told = start("planner", "builder", expires=60)
    until(lambda: is_asked(team, "builder"))
    clock.advance(61)
    team.sweep()
    with pytest.raises(NoAnswer, match="expired"):
        told.result(BOUND)


def test_who_has_acknowledged_it_may_still_answer(team: LocalRoom, start: Start):
    told = start("planner", "builder")
    until(lambda: is_asked(team, "builder"))
    question = team.peek("builder")[0]
    team.ack(question.id, agent="builder")
    with pytest.raises(TimeoutError):
        told.result(3 * ask.GLANCE)
    team.reply(question.id, "late, but here", agent="builder")
    assert told.result(BOUND).body == "late, but here"


def test_one_refusal_of_many_is_not_the_answer(team: LocalRoom, start: Start):
    told = start("planner", "@workers")
    until(lambda: is_asked(team, "builder") and is_asked(team, "reviewer"))
    team.nack(team.peek("builder")[0].id, "busy", agent="builder")
    team.reply(team.peek("reviewer")[0].id, "me", agent="reviewer")
    assert told.result(BOUND).body == "me"


def test_when_all_refuse_that_is_told(team: LocalRoom, start: Start):
    told = start("planner", "@workers")
    until(lambda: is_asked(team, "builder") and is_asked(team, "reviewer"))
    for agent in ("builder", "reviewer"):
        team.nack(team.peek(agent)[0].id, "busy", agent=agent)
    with pytest.raises(Refused, match="busy"):
        told.result(BOUND)


def test_whose_question_goes_unanswered_learns_that_the_other_waits_for_it(room: LocalRoom):
    room.send("planner", "which one?", sender="builder", type="request")
    with pytest.raises(TimedOut) as late:
        room.ask("builder", "how far?", timeout=0.01)
    assert "builder waits for your answer to" in late.value.hint


def test_who_waits_no_longer_learns_whose_answer_is_missing(room: LocalRoom):
    room.join("human:ana")
    room.join("planner", supervisor="human:ana")
    for to, whom in (("builder", "builder"), ("@up", "human:ana")):
        for timeout, words in (
            (0, "waits for an answer from {}"),
            (0.01, "has no answer from {} after 0.01 s"),
        ):
            with pytest.raises(TimedOut) as late:
                room.ask(to, "how far?", timeout=timeout)
            handle = late.value.facts["message_ref"][-8:]
            assert str(late.value) == f"question {handle} {words.format(whom)}"


def test_a_gate_that_nobody_decides_in_time_is_no_answer(room: LocalRoom, clock: Clock):
    room.join("human:ana")

    def pass_by() -> None:
        until(room.gates)
        clock.advance(11)
        room.sweep()

    passing = threading.Thread(target=pass_by)
    passing.start()
    with pytest.raises(NoAnswer, match="denied: nobody decided in time"):
        room.ask("human:ana", "May I?", type="decision_gate", expires=10, timeout=20)
    passing.join(20)
