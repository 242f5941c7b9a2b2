"""Steering by others: what a paused agent is spared, what a cancelled one gives back, what is typed twice."""

import pytest

from postroom.errors import IllegalMove, Refused
from postroom.model.ladder import Evidence, Outcome, Reason, State
from postroom.room.authority import Operator, person, steering
from postroom.room.cancel import cancel
from postroom.room.dead import uncertain
from postroom.room.local import LocalRoom
from postroom.room.manners import pause
from postroom.room.push import may_be_pushed
from postroom.room.sweep import give_back

ANA = Operator("human:ana", "human")


def doubt(room: LocalRoom, ref: str) -> None:
    """Its text was typed, and nobody can tell what became of it."""
    taken = room.take("builder", id=ref)
    assert taken is not None
    with room.write() as tx:
        give_back(tx, taken, room.settings, Outcome.UNCERTAIN, Reason.UNCERTAIN)


def reason(room: LocalRoom, ref: str) -> str | None:
    return room.receipts(ref).deliveries[0].reason


# telling to stop


def test_an_order_to_stop_waits_until_it_is_taken_whatever_waits_before_it(room: LocalRoom):
    builder = room.known("builder").id
    for n in range(30):
        room.send("builder", f"fire {n}", priority="urgent")
    assert not room.store.look().has_interrupt(builder)
    urgent = room.send("builder", "stop", type="interrupt", payload={"kind": "stop"}, priority="urgent")
    low = room.send("builder", "stop", type="interrupt", payload={"kind": "stop"}, priority="low")
    assert room.store.look().has_interrupt(builder)
    assert not room.store.look().has_interrupt(room.known("planner").id)
    room.take("builder", id=urgent.id)
    assert room.store.look().has_interrupt(builder)
    room.take("builder", id=low.id)
    assert not room.store.look().has_interrupt(builder), "it is offered"


# pause


def test_a_paused_agent_is_shown_nothing_until_it_is_let_go(room: LocalRoom):
    builder = room.known("builder")
    first = room.send("builder", "before")
    assert pause(room, builder, ANA, paused=True) == (False, 1)
    second = room.send("builder", "fire", priority="urgent")
    assert [reason(room, sent.id) for sent in (first, second)] == ["paused", "paused"]
    assert room.take("builder") is None
    assert pause(room, builder, ANA, paused=True) == (True, 2)
    assert pause(room, builder, ANA, paused=False) == (False, 2)
    assert pause(room, builder, ANA, paused=False) == (True, 0)
    assert [mail.body for mail in room.peek("builder")] == ["fire", "before"]


def test_who_paused_an_agent_is_in_the_log(room: LocalRoom):
    pause(room, room.known("builder"), ANA, paused=True)
    [event] = [one for one in room.events() if one.type == "agent.manners"]
    assert (event.payload["by"], event.role) == ("human:ana", "human")


def test_who_is_muted_besides_stays_so_when_it_is_let_go(room: LocalRoom):
    room.manners("builder", mute=True)
    sent = room.send("builder", "small talk")
    pause(room, room.known("builder"), ANA, paused=True)
    assert reason(room, sent.id) == "paused"
    assert pause(room, room.known("builder"), ANA, paused=False) == (False, 1)
    assert reason(room, sent.id) == "muted"


# cancel


def test_what_was_seen_and_asks_for_something_goes_back_and_the_rest_stays(room: LocalRoom):
    asked = room.send("builder", "which?", type="request")
    told = room.send("builder", "do", type="assign", payload={"task_id": "t1"})
    note = room.send("builder", "by the way")
    for sent in (asked, told, note):
        mail = room.take("builder", id=sent.id)
        assert mail is not None
        room.settle(mail)
    unread = room.send("builder", "and?", type="request")
    dropped = cancel(room, room.known("builder"), ANA, "a new plan")
    assert [mail.id for mail in dropped] == [asked.id, told.id]
    assert [room.receipts(one.id).deliveries[0].state for one in (asked, told, note, unread)] == [
        State.BOUNCED,
        State.BOUNCED,
        State.SEEN,
        State.STORED,
    ]
    letters = room.peek("planner")
    assert [mail.message.reply_to for mail in letters] == [asked.id, told.id]
    assert "cancelled by human:ana: a new plan" in letters[0].body
    assert cancel(room, room.known("builder"), ANA) == []


def test_who_asked_is_told_of_what_was_acknowledged_too_and_only_once(room: LocalRoom):
    asked = room.send("builder", "which?", type="request")
    room.ack(asked.id, agent="builder")
    assert [mail.id for mail in cancel(room, room.known("builder"), ANA)] == [asked.id]
    assert room.receipts(asked.id).deliveries[0].state is State.ACKED
    assert len(room.peek("planner")) == 1
    assert cancel(room, room.known("builder"), ANA) == []


def test_what_was_answered_is_not_cancelled(room: LocalRoom):
    asked = room.send("builder", "which?", type="request")
    room.reply(asked.id, "that one", agent="builder")
    assert cancel(room, room.known("builder"), ANA) == []


# uncertain


def test_what_is_uncertain_stays_so_over_a_pause_and_is_pushed_again_only_by_a_retry(room: LocalRoom):
    sent = room.send("builder", "did you get this?")
    doubt(room, sent.id)
    assert [mail.id for mail in uncertain(room)] == [sent.id]
    for paused in (True, False):
        pause(room, room.known("builder"), ANA, paused=paused)
    [waits] = room.peek("builder")
    assert not may_be_pushed(waits)
    room.agent = "human:ana"
    [back] = room.retry(sent.id)
    assert may_be_pushed(back)
    assert back.delivery.shown_before
    assert uncertain(room) == []
    for paused in (True, False):
        pause(room, room.known("builder"), ANA, paused=paused)
    assert may_be_pushed(room.peek("builder")[0])
    with pytest.raises(IllegalMove):
        room.retry(sent.id)


def test_what_a_hook_has_shown_since_is_not_uncertain_any_more(room: LocalRoom):
    sent = room.send("builder", "did you get this?")
    doubt(room, sent.id)
    mail = room.take("builder", id=sent.id)
    assert mail is not None
    room.settle(mail)
    assert uncertain(room) == []
    assert room.receipts(sent.id).deliveries[0].evidence is Evidence.AGENT


# who may


def test_an_agents_name_is_no_persons(room: LocalRoom):
    with pytest.raises(Refused):
        person(room, "do that")
    with pytest.raises(Refused):
        steering(room, room.known("builder"), "stop")
    room.agent = "human:ana"
    assert steering(room, room.known("builder"), "stop") == ANA
    room.agent = None
    assert person(room, "do that").role == "human"
