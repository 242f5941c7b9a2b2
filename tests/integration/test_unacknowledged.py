"""Readers that go away without a word: their mail waits, longer each time, and is never lost by that."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import postroom
from postroom.protocol import wire
from postroom.room import push_backoff
from postroom.room.handout import Return, Want, claim_of, hand_out, settle, stand
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.offer import guard_lease
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.commandline import CommandLine
from tests.contract.conftest import Others
from tests.process import until
from tests.relayed import linked
from tests.served import Served, served

COMPAT = "/ws/agent/messages/p"
MOST = 12  # connections: twice as many as `max_unproven` and more


@pytest.fixture
def timed(open_room: Any, clock: Clock) -> LocalRoom:
    room = open_room("planner", clock=clock)
    for name in ("planner", "builder"):
        room.join(name)
    return room


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Others:
    return Others(monkeypatch)


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def web(timed: LocalRoom) -> Iterator[Served]:
    with served(timed) as found:
        yield found


@contextmanager
def over_websocket(web: Served) -> Iterator[Callable[[], Any]]:
    with linked(web, "builder") as link:
        yield lambda: link.mail()["mail"]["shown_before"]


@contextmanager
def over_compat(web: Served) -> Iterator[Callable[[], Any]]:
    with linked(web, "builder", path=f"{COMPAT}?agent_id=builder") as link:
        yield lambda: link.raw()["metadata"].get("shown_before", False)


@contextmanager
def over_events(web: Served) -> Iterator[Callable[[], Any]]:
    with postroom.open(web.url, token=web.token("builder")) as elsewhere:
        listening: Any = elsewhere.listen(timeout=20)
        yield lambda: next(listening).shown_before
        listening._stream.close()


def state(room: LocalRoom, ref: str) -> str:
    return room.receipts(ref).deliveries[0].state.value


@pytest.mark.promise("relay-silent")
@pytest.mark.parametrize("connect", [over_websocket, over_compat, over_events])
def test_a_client_that_only_receives_keeps_its_mail_however_often_it_comes_back(
    web: Served, timed: LocalRoom, clock: Clock, connect: Callable[..., Any]
):
    sent = timed.send("builder", "hello")
    pauses: list[int] = []
    for n in range(MOST):
        with connect(web) as shown:
            assert shown() == (n > 0)
        until(lambda: state(timed, sent.id) == "stored" and not held(timed))
        due = timed.receipts(sent.id).deliveries[0].due_at
        pauses.append(0 if due is None else due - clock())
        clock.advance(pauses[-1] / 1000)
    assert pauses == sorted(pauses)  # they grow
    assert pauses[-1] > 60_000
    assert timed.dead() == []
    assert timed.peek("planner") == []  # no bounce
    assert verify(timed).problems == []


def held(room: LocalRoom) -> bool:
    """Whether somebody listens on the mailbox."""
    lease = room.store.look().lease(room.who("builder").id)
    return lease is not None and lease.holder is not None


def silent(room: LocalRoom, times: int) -> None:
    """So many readers take what waits, and end without a word."""
    builder = room.who("builder")
    for n in range(times):
        with room.write() as tx:
            mails = hand_out(tx, room, Want(stand(builder.id, builder.called), 10, n * 10))
            settle(tx, room.settings, (), [Return(claim_of(mail), handed=True) for mail in mails])


@pytest.mark.promise("relay-silent")
def test_its_sender_is_told_why_it_waits_and_when_it_is_tried_again(timed: LocalRoom, clock: Clock):
    sent = timed.send("builder", "hello")
    silent(timed, 2)
    [delivery] = timed.receipts(sent.id).deliveries
    assert (delivery.reason, delivery.due_at) == ("unacknowledged", clock() + 1000)
    told = wire.delivery(delivery)
    assert told["reason"] == "unacknowledged"
    assert told["next_attempt_at"] == "2027-01-15T08:00:01.000Z"


@pytest.mark.promise("relay-silent")
def test_a_pause_holds_nothing_back_from_an_agent_that_asks(timed: LocalRoom):
    paused = timed.send("builder", "paused")
    silent(timed, 3)
    assert [mail.id for mail in timed.peek("builder")] == [paused.id]
    mail = timed.take("builder")
    assert mail is not None
    assert (mail.id, mail.shown_before) == (paused.id, True)
    timed.settle(mail)
    assert state(timed, paused.id) == "seen"


@pytest.mark.promise("relay-silent")
def test_a_pause_holds_no_other_mail_back(timed: LocalRoom):
    paused = timed.send("builder", "paused", priority="high")
    silent(timed, 3)
    fresh = timed.send("builder", "fresh")
    builder = timed.who("builder")
    with timed.write() as tx:
        [mail] = hand_out(tx, timed, Want(stand(builder.id, builder.called), 10, 0))
    assert mail.id == fresh.id
    with Listening(timed, "builder", 0) as listening:
        assert list(listening) == []
    assert timed.take("builder").id == paused.id  # type: ignore[union-attr]


@pytest.mark.promise("relay-silent")
@pytest.mark.parametrize("ask", ["take", "take_bundle"])
def test_who_asks_gets_what_waits_in_its_order_paused_or_not(timed: LocalRoom, ask: str):
    paused = timed.send("builder", "paused")
    silent(timed, 3)
    fresh = timed.send("builder", "fresh")
    waiting = [mail.id for mail in timed.peek("builder")]
    assert waiting == [paused.id, fresh.id]
    if ask == "take":
        given = [mail.id for mail in (timed.take("builder"), timed.take("builder")) if mail is not None]
    else:
        bundle = timed.take_bundle("builder")
        assert bundle is not None
        given = [mail.id for mail in bundle.mails]
    assert given == waiting


@pytest.mark.promise("relay-silent")
def test_after_its_pause_it_is_pushed_again(timed: LocalRoom, clock: Clock):
    sent = timed.send("builder", "hello")
    silent(timed, 2)
    builder = timed.who("builder")

    def pushed() -> list[str]:
        with timed.write() as tx:
            return [mail.id for mail in hand_out(tx, timed, Want(stand(builder.id, builder.called), 10, 0))]

    assert pushed() == []
    clock.advance(1)
    assert pushed() == [sent.id]


def test_what_is_paused_expires_as_other_mail_does(timed: LocalRoom, clock: Clock):
    sent = timed.send("builder", "hello", expires=3)
    silent(timed, 2)
    clock.advance(1)
    silent(timed, 1)  # the pause would be longer than that
    assert timed.receipts(sent.id).deliveries[0].due_at == clock() + 2000
    assert verify(timed).problems == []
    clock.advance(2)
    timed.sweep()
    assert state(timed, sent.id) == "expired"


@pytest.mark.promise("relay-silent")
@pytest.mark.parametrize("clean", [True, False])
def test_a_program_that_dies_over_each_message_that_it_hears_loses_none(
    open_room: Any, timed: LocalRoom, clock: Clock, others: Others, *, clean: bool
):
    sent = timed.send("builder", "hello")
    pauses: list[int] = []
    for n in range(2, 2 + MOST):
        others.become(n)
        listening = open_room("builder", clock=clock).listen(timeout=0)
        mail = next(listening)
        assert (mail.id, mail.shown_before) == (sent.id, n > 2)
        if clean:
            listening.close()
        else:
            others.die(n)
            others.become(100 + n)
            with timed.write() as tx:
                guard_lease(tx, timed.who("builder").id, timed)
        due = timed.receipts(sent.id).deliveries[0].due_at
        pauses.append(0 if due is None else due - clock())
        clock.advance(pauses[-1] / 1000)
    assert pauses == sorted(pauses)
    assert pauses[-1] > 60_000
    assert (timed.dead(), state(timed, sent.id)) == ([], "stored")


@pytest.mark.promise("relay-silent")
@pytest.mark.parametrize("route", ["mcp"])
def test_a_client_that_asks_and_goes_away_before_it_says_more_loses_nothing(
    timed: LocalRoom, others: Others, route: str
):
    sent, later = timed.send("builder", "hello"), timed.send("builder", "later")
    timed.withdraw(later.id)
    for n in range(2, 2 + MOST):
        others.become(n)
        mail = timed.take("builder", route=route)
        assert mail is not None
        assert (mail.id, mail.shown_before) == (sent.id, n > 2)  # it asks, so it gets it at once
        others.die(n)
        others.become(100 + n)
        timed.sweep()
    assert (timed.dead(), state(timed, sent.id)) == ([], "stored")
    fresh = timed.send("builder", "fresh")
    assert timed.take("builder", id=fresh.id).id == fresh.id  # type: ignore[union-attr]


def test_a_program_that_ends_over_the_same_message_each_time_comes_to_the_next_one(
    timed: LocalRoom, others: Others
):
    """By HTTP as by the library: the message is dead after as many attempts as always."""
    doomed, later = timed.send("builder", "doomed"), timed.send("builder", "later")
    for n in range(2, 7):
        others.become(n)
        mail = timed.take("builder", route="http")
        assert mail is not None
        assert mail.id == doomed.id
        others.die(n)
        others.become(100 + n)
        timed.sweep()
    assert state(timed, doomed.id) == "dead"
    mail = timed.take("builder", route="http")
    assert mail is not None
    assert mail.id == later.id


def test_attempts_that_count_are_counted_among_those_that_do_not(
    timed: LocalRoom, clock: Clock, others: Others
):
    """An agent's own programs end over a message five times: then it is dead, whatever was between them."""
    sent = timed.send("builder", "doomed")
    for n in range(2, 7):
        silent(timed, 1)
        clock.advance(3600)
        assert state(timed, sent.id) == "stored"
        others.become(n)
        assert timed.take("builder") is not None
        others.die(n)
        others.become(100 + n)
        timed.sweep()
    assert state(timed, sent.id) == "dead"


def test_the_pauses_grow_and_never_end(timed: LocalRoom):
    assert all(one <= two for one, two in itertools.pairwise(push_backoff.PAUSES))
    assert push_backoff.PAUSES[-1] == 3600


def test_the_receipt_of_the_command_line_says_when(timed: LocalRoom, cli: CommandLine):
    sent = timed.send("builder", "hello")
    silent(timed, 3)
    text = cli.ok("receipts", sent.id, "--as", "planner").out
    assert "ended before they acknowledged it" in text
    assert "pushed again at" in text
