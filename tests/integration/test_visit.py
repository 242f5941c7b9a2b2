"""What a client's visit holds, when its requests come and go in every order."""

import asyncio

import pytest

from postroom import host
from postroom.errors import StoreBusy, UsageError
from postroom.mcp_server.act import BUDGET, Call, answered
from postroom.mcp_server.alone import Alone
from postroom.mcp_server.port import Caller
from postroom.mcp_server.visit import ROUTE, Arrival, Visit
from postroom.model.ladder import Cause, Outcome, State
from postroom.room import turn
from postroom.room.ask import Question
from postroom.room.bundle import take_bundle
from postroom.room.local import LocalRoom
from postroom.room.offer import offer
from tests.process import BOUND


class Desk:
    """A room whose `builder` calls, and the visits of its clients."""

    def __init__(self, room: LocalRoom) -> None:
        self.room = room
        self.host = Alone(room, "p")
        self.caller = Caller(room.who("builder"), room.on_behalf("builder", "p", None))

    def arrival(self, visit: Visit) -> Arrival:
        return Arrival(visit, lambda: self.caller)

    def causes(self, ref: str) -> list[Cause | None]:
        return [one.cause for one in self.room.receipts(ref).attempts]

    def state(self, ref: str) -> State:
        return self.room.receipts(ref).deliveries[0].state


@pytest.fixture
def desk(room: LocalRoom) -> Desk:
    return Desk(room)


@pytest.mark.promise("mcp-dies")
def test_what_is_claimed_for_who_has_gone_meanwhile_goes_back_unlabelled(desk: Desk):
    """Its thread was still at the store when the client went away."""
    sent = desk.room.send("builder", "hello")
    arrival = desk.arrival(Visit("v"))
    asyncio.run(arrival.lost(desk.host))
    arrival.take(desk.caller, sent.id)
    [mail] = desk.room.peek("builder")
    assert (mail.delivery.state, mail.delivery.shown_before) == (State.STORED, False)


@pytest.mark.promise("mcp-dies")
def test_what_was_never_written_goes_back_unlabelled(desk: Desk):
    sent = desk.room.send("builder", "hello")
    arrival = desk.arrival(Visit("v"))
    arrival.take(desk.caller, sent.id)
    assert desk.state(sent.id) is State.OFFERED
    asyncio.run(arrival.lost(desk.host))
    [mail] = desk.room.peek("builder")
    assert (mail.delivery.state, mail.delivery.shown_before) == (State.STORED, False)


@pytest.mark.promise("mcp-dies")
def test_whatever_nobody_would_be_told_of_is_waited_for_no_longer(desk: Desk):
    arrival, happens = desk.arrival(Visit("v")), asyncio.Event()

    async def run() -> None:
        waiting = asyncio.ensure_future(arrival.until(happens.wait()))
        await arrival.lost(desk.host)
        with pytest.raises(UsageError, match="gone"):
            await asyncio.wait_for(waiting, BOUND)

    asyncio.run(run())


@pytest.mark.promise("mcp-seen")
def test_only_a_call_that_came_in_after_the_answer_was_written_proves_it(desk: Desk):
    sent = desk.room.send("builder", "hello")
    visit = Visit("v")

    async def run() -> None:
        early, reading = desk.arrival(visit), desk.arrival(visit)
        reading.take(desk.caller, sent.id)
        meanwhile = desk.arrival(visit)
        reading.written(desk.host)
        later = desk.arrival(visit)
        await visit.handed()
        for arrival in (early, meanwhile):
            arrival.begin()
            assert desk.state(sent.id) is State.OFFERED
        later.begin()
        assert desk.state(sent.id) is State.SEEN

    asyncio.run(run())


@pytest.mark.promise("mcp-seen")
def test_what_another_call_claims_at_this_moment_is_not_proven_by_this_one(desk: Desk):
    """A thread has it from the room, and the visit does not know of it yet."""
    sent = desk.room.send("builder", "hello")
    visit = Visit("v")
    assert take_bundle(desk.caller.room, None, budget=BUDGET, route=ROUTE, claimer=visit.claimer)
    desk.arrival(visit).begin()
    assert desk.state(sent.id) is State.OFFERED


def test_a_visit_keeps_nothing_in_mind_that_was_settled_otherwise(desk: Desk):
    """By a hook of the same agent, say, or because nobody waited for the answer any more."""
    acked, lost = (desk.room.send("builder", body) for body in ("one", "two"))
    visit = Visit("v")

    async def run() -> None:
        for sent in (acked, lost):
            reading = desk.arrival(visit)
            reading.take(desk.caller, sent.id)
            if sent is lost:
                await reading.lost(desk.host)
            reading.written(desk.host)
        await visit.handed()

    asyncio.run(run())
    desk.room.ack(acked.id, agent="builder")
    assert visit.is_holding
    desk.arrival(visit).begin()
    assert not visit.is_holding


@pytest.mark.promise("mcp-seen")
def test_a_room_that_cannot_be_told_that_mail_was_shown_proves_nothing_and_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    sent = desk.room.send("builder", "hello")
    visit = Visit("v")

    def fail(*_: object) -> None:
        raise StoreBusy("somebody writes")

    async def run() -> None:
        reading = desk.arrival(visit)
        reading.take(desk.caller, sent.id)
        with monkeypatch.context() as patch:
            patch.setattr(turn, "hand_all", fail)
            reading.written(desk.host)
            await visit.handed()
        desk.arrival(visit).begin()

    asyncio.run(run())
    assert desk.state(sent.id) is State.OFFERED
    assert "could not be told" in caplog.text


@pytest.mark.promise("mcp-seen")
def test_a_call_of_another_visit_proves_nothing_and_the_end_of_its_own_gives_it_back(desk: Desk):
    sent = desk.room.send("builder", "hello")
    one, other = Visit("one"), Visit("other")

    async def run() -> None:
        reading = desk.arrival(one)
        reading.take(desk.caller, sent.id)
        reading.written(desk.host)
        await one.handed()
        desk.arrival(other).begin()
        assert desk.state(sent.id) is State.OFFERED
        one.end(desk.room)

    asyncio.run(run())
    [mail] = desk.room.peek("builder")
    assert mail.delivery.shown_before
    assert desk.causes(sent.id) == [Cause.CONTEXT]


@pytest.mark.promise("mcp-dies")
def test_what_may_have_been_on_its_way_comes_back_labelled_and_why_is_said(desk: Desk):
    sent = desk.room.send("builder", "hello")
    arrival = desk.arrival(Visit("v"))
    arrival.take(desk.caller, sent.id)
    asyncio.run(arrival.lost(desk.host, Outcome.UNPROVEN))
    [mail] = desk.room.peek("builder")
    assert mail.delivery.shown_before
    assert desk.causes(sent.id) == [Cause.LET_GO]


@pytest.mark.promise("mcp-killed")
def test_who_comes_back_to_another_server_proves_what_it_was_shown_by_the_first(desk: Desk):
    sent = desk.room.send("builder", "hello")

    async def run() -> None:
        before = Visit("v")
        reading = desk.arrival(before)
        reading.take(desk.caller, sent.id)
        reading.written(desk.host)
        await before.handed()
        desk.arrival(Visit("v")).begin()

    asyncio.run(run())
    assert desk.state(sent.id) is State.SEEN


def test_an_answer_that_a_hook_has_shown_meanwhile_is_still_the_answer(desk: Desk):
    asked = Question(desk.caller.room, "planner", "how far?", None, {})
    answer = desk.room.reply(asked.sent.message.id, "half of it", agent="planner")
    assert offer(desk.caller.room, None, ref=answer.id, route="hook:stop", claimer=f"{host.identity()}.hook")
    call = Call(desk.host, desk.arrival(Visit("v")), desk.caller, {"wait": 20})
    found = asyncio.run(answered(call, asked))
    assert (found["answered"], found["answer"]["body"]) == (True, "half of it")
