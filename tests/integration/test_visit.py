"""What a client's visit holds, when its requests come and go in every order."""

import asyncio

import pytest

from postroom.mcp_server.alone import Alone
from postroom.mcp_server.port import Caller
from postroom.mcp_server.visit import Arrival, Visit
from postroom.model.ladder import State
from postroom.room.local import LocalRoom


class Desk:
    """A room whose `builder` calls, and the visits of its clients."""

    def __init__(self, room: LocalRoom) -> None:
        self.room = room
        self.host = Alone(room, "p")
        self.caller = Caller(room.who("builder"), room.on_behalf("builder", "p", None))

    def arrival(self, visit: Visit) -> Arrival:
        return Arrival(visit, lambda: self.caller)

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
