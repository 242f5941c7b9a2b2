"""Claims: exclusive, leased until handed over, fenced by a nonce, given back when their process is gone."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom import host
from postroom.errors import IllegalMove, MailboxLeased, StaleClaim, UnknownMessage
from postroom.model.ladder import Cause, Evidence, Outcome, State
from postroom.model.message import Mail
from postroom.room.hand import Hand
from postroom.room.local import LocalRoom
from postroom.store.sqlite.read import ReadTx
from tests.clockwork import Clock
from tests.contract.conftest import Enter, Others
from tests.process import Child


def take(room: LocalRoom, **options) -> Mail:
    mail = room.take("builder", **options)
    assert mail is not None
    return mail


def test_what_could_be_offered_is_counted_as_far_as_it_matters(room: LocalRoom):
    builder, look = room.who("builder").id, room.store.look()
    assert look.count_ready(builder, 2) == 0
    room.send("builder", "later", after=3600.0)
    assert look.count_ready(builder, 2) == 0, "it is not due yet"
    for number in range(3):
        room.send("builder", str(number))
    assert [look.count_ready(builder, most) for most in (1, 2, 5)] == [1, 2, 3]
    take(room)
    assert look.count_ready(builder, 5) == 2


@pytest.mark.promise("exclusive")
def test_what_one_takes_no_other_can(room: LocalRoom, enter: Enter, others: Others):
    first = room.send("builder", "one").id
    second = room.send("builder", "two").id
    assert take(room).id == first
    others.become(2)
    other = enter("builder")
    assert take(other).id == second
    assert other.take() is None
    with pytest.raises(StaleClaim):
        other.take(id=first)


@pytest.mark.promise("exclusive")
@pytest.mark.core
def test_processes_that_take_at_once_never_get_the_same_message(room: LocalRoom, home: str):
    sent = [room.send("builder", f"message {n}").id for n in range(60)]
    children = [Child("take_many", home, "builder") for _ in range(4)]
    try:
        for child in children:
            assert child.hear() == "ready"
        for child in children:
            child.tell("go")
        taken = [child.hear() for child in children]
    finally:
        for child in children:
            child.__exit__(None, None, None)
    together = [id for one in taken for id in one]
    assert sorted(together) == sorted(sent)
    assert len(together) == len(set(together))
    for one in taken:
        assert one == sorted(one, key=sent.index)  # each saw them in order
    assert {room.receipts(id).deliveries[0].state for id in sent} == {State.SEEN}


def test_a_claim_names_its_route_context_claimer_and_nonce(room: LocalRoom, others: Others, clock: Clock):
    sent = room.send("builder", "one")
    clock.advance(1)
    take(room, route="hook", handed=False)
    [attempt] = room.receipts(sent.id).attempts
    assert (attempt.n, attempt.route, attempt.claimer) == (1, "hook", host.identity())
    assert host.identity() in attempt.context
    assert attempt.nonce
    assert attempt.claimed_at == clock.now
    assert attempt.handed_at is None
    assert attempt.outcome is Outcome.OPEN


@pytest.mark.promise("seen-needs-evidence")
def test_settling_proves_the_attempt_and_says_by_what(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "one")
    mail = take(room)
    clock.advance(2)
    delivery = room.settle(mail)
    assert (delivery.state, delivery.evidence) == (State.SEEN, Evidence.AGENT)
    assert delivery == room.receipts(sent.id).deliveries[0]
    [attempt] = room.receipts(sent.id).attempts
    assert (attempt.outcome, attempt.evidence) == (Outcome.PROVEN, Evidence.AGENT)
    assert attempt.ended_at == delivery.seen_at == clock.now
    assert attempt.handed_at == clock.now - 2000


def test_settling_twice_is_harmless(room: LocalRoom):
    room.send("builder", "one")
    mail = take(room)
    assert room.settle(mail) == room.settle(mail)
    room.ack(mail)
    assert room.settle(mail).state is State.ACKED
    assert [event.type for event in room.events()].count("delivery.seen") == 1


@pytest.mark.promise("stale-claim")
def test_a_lapsed_lease_returns_the_delivery_to_the_queue_labelled(room: LocalRoom, clock: Clock):
    room.send("builder", "one")
    first = take(room, handed=False)
    assert room.take("builder") is None
    clock.advance(room.settings.lease_seconds - 0.001)
    assert room.take("builder") is None
    clock.advance(0.001)
    second = take(room)
    assert second.id == first.id
    assert second.shown_before
    with pytest.raises(StaleClaim):
        room.settle(first)
    assert room.settle(second).state is State.SEEN
    with pytest.raises(StaleClaim):
        room.settle(first)
    tries = [(attempt.outcome, attempt.cause) for attempt in room.receipts(first.id).attempts]
    assert tries == [(Outcome.UNPROVEN, Cause.LAPSED), (Outcome.PROVEN, None)]


@pytest.mark.promise("no-clock-lapses-a-handed-offer")
def test_no_clock_takes_back_what_was_handed_over_while_its_process_lives(room: LocalRoom, clock: Clock):
    room.send("builder", "one")
    mail = take(room)
    clock.advance(10 * 365 * 86400)
    assert room.sweep() == 0
    assert room.take("builder") is None
    assert room.settle(mail).state is State.SEEN


@pytest.mark.promise("never-silently-twice")
def test_what_a_dead_process_held_is_offered_again_labelled(room: LocalRoom, others: Others):
    room.send("builder", "one")
    room.send("builder", "two")
    others.become(2)
    assert not take(room).shown_before
    others.become(3)
    others.die(2)
    again, next_one = take(room), take(room)
    assert (again.body, again.shown_before) == ("one", True)
    assert (next_one.body, next_one.shown_before) == ("two", False)
    tries = [(attempt.outcome, attempt.cause) for attempt in room.receipts(again.id).attempts]
    assert tries == [(Outcome.UNPROVEN, Cause.GONE), (Outcome.OPEN, None)]


def test_an_old_claim_is_refused_and_the_new_one_stands(room: LocalRoom, others: Others):
    room.send("builder", "one")
    others.become(2)
    old = take(room)
    others.become(3)
    others.die(2)
    new = take(room)
    others.become(2)
    with pytest.raises(StaleClaim):
        room.settle(old)
    assert room.receipts(old.id).deliveries[0].state is State.OFFERED
    others.become(3)
    assert room.settle(new).state is State.SEEN


def test_a_claim_known_to_have_failed_is_offered_again_without_a_label(room: LocalRoom):
    room.send("builder", "one")
    mail = take(room, handed=False)
    room.give_up(mail)
    again = take(room)
    assert again.id == mail.id
    assert not again.shown_before
    assert [attempt.outcome for attempt in room.receipts(mail.id).attempts] == [Outcome.LOST, Outcome.OPEN]


def test_giving_up_an_old_claim_does_nothing(room: LocalRoom, clock: Clock):
    room.send("builder", "one")
    old = take(room, handed=False)
    clock.advance(60)
    take(room)
    room.give_up(old)
    assert room.receipts(old.id).deliveries[0].state is State.OFFERED


@pytest.mark.promise("dead")
def test_after_five_unproven_attempts_it_is_dead_and_the_sender_gets_one_bounce(
    room: LocalRoom, others: Others
):
    sent = room.send("builder", "doomed", subject="s")
    for n in range(2, 7):
        others.become(n)
        mail = take(room)
        assert mail.shown_before == (n > 2)
        others.die(n)
    others.become(9)
    assert room.take("builder") is None
    delivery = room.receipts(sent.id).deliveries[0]
    assert delivery.state is State.DEAD
    assert "5 attempts" in str(delivery.reason)
    assert delivery.ended_at is not None
    [letter] = room.peek("planner")
    assert letter.payload is not None
    assert letter.payload["bounce"]["message"] == sent.id
    assert (letter.sender, letter.thread) == ("postroom", sent.message.thread)
    assert [mail.id for mail in room.dead()] == [sent.id]


@pytest.mark.promise("dead")
def test_a_bounce_never_bounces(room: LocalRoom, others: Others):
    room.nack(room.send("builder", "one").id, "no", agent="builder")
    [letter] = room.peek("planner")
    for n in range(2, 7):
        others.become(n)
        assert room.take("planner") is not None
        others.die(n)
    others.become(9)
    assert room.take("planner") is None
    assert room.receipts(letter.id).deliveries[0].state is State.DEAD
    assert room.peek("planner") == room.peek("builder") == []
    room.retry(letter.id)
    room.nack(letter.id, "I do not want it", agent="planner")
    assert room.peek("planner") == room.peek("builder") == []


def test_a_retry_forgives_the_attempts_and_keeps_the_label(room: LocalRoom, others: Others):
    sent = room.send("builder", "doomed")
    for n in range(2, 7):
        others.become(n)
        take(room)
        others.die(n)
    others.become(9)
    assert room.take("builder") is None
    [mail] = room.retry(sent.id)
    assert mail.delivery.state is State.STORED
    again = take(room)
    assert again.id == sent.id
    assert again.shown_before
    others.die(9)
    others.become(10)
    assert take(room).id == sent.id  # one unproven attempt does not kill it again


def test_looking_marks_nothing(room: LocalRoom):
    room.send("builder", "one")
    before = list(room.events())
    for _ in range(3):
        assert [mail.delivery.state for mail in room.peek("builder")] == [State.STORED]
        assert room.wait("builder", timeout=0)
    assert list(room.events()) == before
    assert not take(room).shown_before


def test_what_was_not_sent_to_one_cannot_be_taken(room: LocalRoom):
    sent = room.send("builder", "one")
    with pytest.raises(UnknownMessage):
        room.take("planner", id=sent.id)
    with pytest.raises(UnknownMessage):
        room.ack(sent.id, agent="planner")
    with pytest.raises(UnknownMessage):
        room.take("builder", id="00000000-0000-7000-8000-000000000000")


# listening


@pytest.mark.promise("listen")
def test_while_one_listens_no_other_can_take_or_listen(room: LocalRoom, enter: Enter, others: Others):
    room.send("builder", "one")
    listening = room.listen("builder")
    others.become(2)
    other = enter("builder")
    with pytest.raises(MailboxLeased):
        other.take()
    with pytest.raises(MailboxLeased):
        other.listen()
    assert [mail.body for mail in other.peek()] == ["one"]
    others.become(1)
    del listening
    others.become(2)
    assert other.take() is not None


@pytest.mark.promise("listen")
def test_a_message_is_seen_when_the_next_is_asked_for(room: LocalRoom):
    one, two = room.send("builder", "one"), room.send("builder", "two")
    listening = room.listen("builder", timeout=0.01)
    assert next(listening).id == one.id
    assert room.receipts(one.id).deliveries[0].state is State.STORED
    assert next(listening).id == two.id
    assert room.receipts(one.id).deliveries[0].state is State.SEEN
    assert [mail.id for mail in listening] == []
    assert room.receipts(two.id).deliveries[0].state is State.SEEN
    assert room.take("builder") is None


@pytest.mark.promise("never-silently-twice")
def test_what_a_listener_had_in_hand_when_it_died_is_labelled_and_only_that(
    room: LocalRoom, enter: Enter, others: Others
):
    room.send("builder", "one")
    room.send("builder", "two")
    others.become(2)
    listening = enter("builder").listen()  # kept: let go of, it would end its lease in order
    assert next(listening).body == "one"
    others.die(2)
    others.become(3)
    found = [(mail.body, mail.shown_before) for mail in room.listen("builder", timeout=0.01)]
    assert found == [("one", True), ("two", False)]


def test_who_is_killed_while_it_looks_for_mail_has_shown_none_and_nothing_is_labelled(room: LocalRoom):
    room.send("builder", "one")
    if (pid := os.fork()) == 0:
        setattr(ReadTx, "ready", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010 - of another type
        next(LocalRoom(room.home, room.settings, agent="builder", project="p").listen())
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    room.send("builder", "two")
    found = [(mail.body, mail.shown_before) for mail in room.listen("builder", timeout=0.01)]
    assert found == [("one", False), ("two", False)]


@pytest.mark.promise("never-silently-twice")
def test_after_another_start_of_the_machine_all_that_a_listener_may_have_shown_is_labelled(
    room: LocalRoom, enter: Enter, others: Others, monkeypatch: pytest.MonkeyPatch
):
    """What was noted of its hand need not have reached the disk."""
    room.send("builder", "one")
    room.send("builder", "two")
    others.become(2)
    listening = enter("builder").listen()  # kept: let go of, it would end its lease in order
    assert next(listening).body == "one"
    others.die(2)
    others.become(3)
    monkeypatch.setattr(host, "is_of_earlier_boot", lambda process: True)
    found = [(mail.body, mail.shown_before) for mail in room.listen("builder", timeout=0.01)]
    assert found == [("one", True), ("two", True)]


@pytest.mark.promise("never-silently-twice")
def test_what_a_listener_had_in_hand_is_labelled_however_much_came_before_it(
    room: LocalRoom, enter: Enter, others: Others
):
    sent = room.send("builder", "in hand", priority="low")
    others.become(2)
    listening = enter("builder").listen()
    assert next(listening).id == sent.id
    for n in range(501):
        room.send("builder", f"{n}", priority="urgent")
    others.die(2)
    others.become(3)
    assert room.take("builder") is not None
    again = room.take("builder", id=sent.id)
    assert again is not None
    assert again.shown_before


@pytest.mark.promise("never-silently-twice")
def test_a_program_that_listens_is_not_shown_the_same_message_by_taking(room: LocalRoom):
    room.send("builder", "one")
    room.send("builder", "two")
    listening = room.listen("builder")
    assert next(listening).body == "one"
    try:
        mail = room.take("builder")
    except MailboxLeased:
        return
    assert mail is None or mail.body == "two" or mail.shown_before


def test_a_listener_that_closes_over_a_message_gives_it_back_labelled(room: LocalRoom):
    room.send("builder", "one")
    listening = room.listen("builder")
    next(listening)
    listening.close()  # type: ignore[attr-defined]
    assert take(room).shown_before


@pytest.mark.promise("listen")
def test_an_old_listener_is_refused_by_its_fence(room: LocalRoom, enter: Enter, others: Others):
    room.send("builder", "one")
    others.become(2)
    old = enter("builder").listen()
    assert next(old).body == "one"
    others.die(2)
    others.become(3)
    new = enter("builder").listen()
    assert next(new).shown_before
    others.become(2)
    with pytest.raises(StaleClaim):
        next(old)
    others.become(3)
    assert room.receipts(next(iter(room.peek("builder"))).id).deliveries[0].state is State.STORED


def test_a_listener_gets_what_a_dead_taker_held(room: LocalRoom, enter: Enter, others: Others):
    room.send("builder", "one")
    others.become(2)
    take(enter("builder"))
    others.die(2)
    others.become(3)
    found = [(mail.body, mail.shown_before) for mail in room.listen("builder", timeout=0.01)]
    assert found == [("one", True)]


@pytest.mark.promise("withdraw")
def test_what_is_withdrawn_while_a_listener_reaches_for_it_is_not_shown(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    """The sender saw an empty hand and has not committed yet; the listener has read the message meanwhile."""
    first, second = room.send("builder", "one"), room.send("builder", "two")
    listening = room.listen("builder", timeout=5)
    contested, read = threading.Event(), threading.Event()
    contest, look = Hand.contest, ReadTx.ready

    def contest_slowly(self: Hand, fence: int) -> int | None:
        found = contest(self, fence)
        contested.set()
        assert read.wait(10)
        return found

    def read_meanwhile(self: ReadTx, recipient: str, limit: int, address: str) -> list[Mail]:
        found = look(self, recipient, limit, address)
        read.set()
        return found

    monkeypatch.setattr(Hand, "contest", contest_slowly)
    monkeypatch.setattr(ReadTx, "ready", read_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        withdrawn = pool.submit(lambda: enter("planner").withdraw(first.id)[0].state)
        assert contested.wait(10)
        assert next(listening).id == second.id
        assert withdrawn.result() is State.WITHDRAWN


@pytest.mark.promise("withdraw")
def test_what_a_listener_is_reaching_for_cannot_be_withdrawn(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    sent, other = room.send("builder", "one"), enter("planner")
    look = ReadTx.ready

    def withdrawn_meanwhile(self: ReadTx, recipient: str, limit: int, address: str) -> list[Mail]:
        found = look(self, recipient, limit, address)
        if not refused:  # then it is contested, and asked for again
            with pytest.raises(IllegalMove):
                other.withdraw(sent.id)
            refused.append(True)
        return found

    refused: list[bool] = []
    monkeypatch.setattr(ReadTx, "ready", withdrawn_meanwhile)
    assert next(room.listen("builder")).id == sent.id
    assert refused


@pytest.mark.promise("withdraw")
def test_what_a_listener_has_in_hand_cannot_be_withdrawn(room: LocalRoom, enter: Enter):
    sent = room.send("builder", "one")
    listening = room.listen("builder")
    assert next(listening).id == sent.id
    with pytest.raises(IllegalMove):
        enter("planner").withdraw(sent.id)
    listening.close()  # type: ignore[attr-defined]
    assert room.withdraw(sent.id)[0].state is State.WITHDRAWN
