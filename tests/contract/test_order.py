"""Order: urgent first, then what was offered before, then first come, first served. Never by a clock."""

import random
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter
from tests.process import Child

PRIORITIES = ["urgent", "high", "normal", "low"]


def take_all(room: LocalRoom, **options) -> list[str]:
    taken = []
    while (mail := room.take("builder", **options)) is not None:
        taken.append(mail.body)
    return taken


@pytest.mark.promise("order")
@pytest.mark.core
def test_urgent_goes_before_high_before_normal_before_low_and_the_older_before_the_newer(room: LocalRoom):
    drawn = random.Random(7)
    sent = [(drawn.choice(PRIORITIES), f"message {n}") for n in range(40)]
    for priority, body in sent:
        room.send("builder", body, priority=priority)
    expected = [body for _, body in sorted(sent, key=lambda pair: PRIORITIES.index(pair[0]))]
    assert [mail.body for mail in room.peek("builder", limit=100)] == expected
    assert take_all(room) == expected


@pytest.mark.promise("order")
def test_a_re_offer_goes_first_within_its_priority_and_not_before_a_higher_one(room: LocalRoom, clock: Clock):
    for body in ("one", "two", "three"):
        room.send("builder", body)
    mail = room.take("builder", id=room.peek("builder")[1].id, handed=False)
    assert mail is not None
    assert mail.body == "two"
    clock.advance(60)
    room.send("builder", "four", priority="high")
    assert take_all(room) == ["four", "two", "one", "three"]


def test_what_came_back_keeps_its_own_order(room: LocalRoom, clock: Clock):
    for n in range(6):
        room.send("builder", str(n))
    for n in (4, 1, 3):  # claimed in another order than they came
        ids = {mail.body: mail.id for mail in room.peek("builder")}
        room.take("builder", id=ids[str(n)], handed=False)
    clock.advance(60)
    assert take_all(room) == ["1", "3", "4", "0", "2", "5"]


@pytest.mark.promise("clock")
def test_a_clock_that_runs_backwards_changes_no_order(room: LocalRoom, clock: Clock):
    sent = []
    for n in range(10):
        sent.append(room.send("builder", str(n)))
        clock.advance(-3600 * n)
    assert [message.message.created_at for message in sent] == sorted(
        (message.message.created_at for message in sent), reverse=True
    )
    assert take_all(room) == [str(n) for n in range(10)]


def test_each_recipient_has_an_order_of_its_own(room: LocalRoom):
    room.join("reviewer")
    room.send("reviewer", "r1")
    room.send("builder", "b1")
    room.send("reviewer", "r2", priority="urgent")
    assert take_all(room) == ["b1"]
    assert [mail.body for mail in room.peek("reviewer")] == ["r2", "r1"]


def test_each_senders_messages_arrive_in_the_order_it_sent_them(room: LocalRoom, home: str):
    room.join("tester")
    children = [Child("send", home, sender, "builder", 30) for sender in ("planner", "tester")]
    try:
        for child in children:
            child.hear()
        for child in children:
            child.tell("go")
        for child in children:
            child.hear()
    finally:
        for child in children:
            child.__exit__(None, None, None)
    arrived = take_all(room)
    assert len(arrived) == 60
    for sender in ("planner", "tester"):
        assert [body for body in arrived if body.startswith(sender)] == [f"{sender} {n}" for n in range(30)]


def test_peeking_at_the_first_few_gives_the_first_few(room: LocalRoom, enter: Enter):
    for n in range(9):
        room.send("builder", str(n))
    assert [mail.body for mail in room.peek("builder", limit=3)] == ["0", "1", "2"]
    assert {mail.delivery.state for mail in enter("builder").peek()} == {State.STORED}


@pytest.mark.promise("order")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(st.lists(st.sampled_from(PRIORITIES), min_size=1, max_size=12), min_size=2, max_size=4))
def test_however_many_send_at_once_each_is_taken_in_its_own_order(
    room: LocalRoom, enter: Enter, plans: list[list[str]]
):
    """Inside a priority; and of two that wait, the more pressing one comes first."""
    senders = [f"sender{n}" for n in range(len(plans))]
    for sender in senders:
        room.join(sender)
    ready = threading.Barrier(len(plans))

    def send(sender: str, plan: list[str]) -> None:
        with enter(sender) as there:
            ready.wait(20)
            for n, priority in enumerate(plan):
                there.send("builder", f"{priority} {sender} {n}", priority=priority)

    threads = [threading.Thread(target=send, args=pair) for pair in zip(senders, plans, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    taken = [body.split() for body in take_all(room)]
    assert [PRIORITIES.index(priority) for priority, _, _ in taken] == sorted(
        PRIORITIES.index(priority) for plan in plans for priority in plan
    )
    for priority in PRIORITIES:
        for sender, plan in zip(senders, plans, strict=True):
            sent = [n for n, wanted in enumerate(plan) if wanted == priority]
            assert [int(n) for p, who, n in taken if (p, who) == (priority, sender)] == sent
