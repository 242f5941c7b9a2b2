"""Who may write to whom, and how much. What is refused is not stored, and says which rule forbids it."""

import contextlib
import os

import pytest

from postroom.config import Declared
from postroom.errors import InvalidValue, MailboxFull, RateLimited, RouteClosed, UnknownMessage
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter


def with_routes(enter: Enter, *routes: dict[str, object], **settings: object) -> LocalRoom:
    room = enter("planner", declared=Declared(list(routes), {}), **settings)
    room.join("planner", role="lead")
    room.join("builder", role="builder")
    room.join("reviewer", role="reviewer")
    room.join("human:ana")
    return room


def stored(room: LocalRoom) -> int:
    return sum(event.type == "message.sent" for event in room.events())


# routes


@pytest.mark.promise("policy")
def test_where_nothing_is_declared_everybody_may_write_to_everybody(enter: Enter):
    room = with_routes(enter)
    for to in ("builder", "human:ana", "@all"):
        assert room.send(to, "hello").deliveries


@pytest.mark.promise("policy")
def test_a_strict_room_lets_nothing_pass_that_no_route_allows(enter: Enter):
    room = with_routes(enter, {"from": "@lead", "to": "builder"}, routes="strict")
    assert room.send("builder", "go").deliveries
    with pytest.raises(RouteClosed, match="no route allows it, and routes are strict") as refused:
        room.send("reviewer", "hello")
    assert refused.value.facts["rule"] == "strict"
    assert stored(room) == 1


@pytest.mark.promise("policy")
def test_who_was_written_to_may_answer_in_a_strict_room(enter: Enter):
    room = with_routes(enter, {"from": "planner", "to": "builder"}, routes="strict")
    question = room.send("builder", "ready?", type="request")
    assert room.reply(question.id, "yes", agent="builder").deliveries
    with pytest.raises(RouteClosed):
        room.send("planner", "by the way", sender="builder")
    with pytest.raises(RouteClosed):  # an answer goes to who asked
        room.send("human:ana", "yes", sender="builder", reply_to=question.id)


@pytest.mark.promise("policy")
def test_a_route_may_forbid_even_the_answer(enter: Enter):
    room = with_routes(enter, {"from": "builder", "to": "planner", "type": "response", "allow": False})
    question = room.send("builder", "ready?", type="request")
    with pytest.raises(RouteClosed, match="route 1 refuses builder → planner of type response"):
        room.reply(question.id, "yes", agent="builder")
    assert room.receipts(question.id).deliveries[0].state == "stored", "what was refused acknowledges nothing"


def test_a_route_that_names_no_type_does_not_keep_somebody_from_answering(enter: Enter):
    room = with_routes(enter, {"from": "builder", "to": "human:*", "allow": False})
    question = room.send("builder", "ready?", sender="human:ana", type="request")
    with pytest.raises(RouteClosed):
        room.send("human:ana", "by the way", sender="builder")
    assert room.reply(question.id, "yes", agent="builder").deliveries


@pytest.mark.promise("policy")
def test_only_who_was_written_to_answers_and_only_to_who_wrote(enter: Enter):
    room = with_routes(enter, {"from": "planner", "to": "builder"}, routes="strict")
    question = room.send("builder", "ready?", type="request")
    for sender, to in (("builder", "human:ana"), ("reviewer", "planner")):
        with pytest.raises(RouteClosed):
            room.send(to, "an answer?", sender=sender, reply_to=question.id, correlation="x")


def test_a_bare_name_means_the_same_for_people(enter: Enter):
    room = with_routes(enter, {"from": "human:ana", "to": "builder"}, routes="strict")
    assert room.send("builder", "hello", sender="human:ana").deliveries
    with pytest.raises(RouteClosed):
        room.send("reviewer", "hello", sender="human:ana")


@pytest.mark.parametrize(
    ("route", "to", "type", "allowed"),
    [
        ({"to": "human:*", "allow": False}, "human:ana", "note", False),
        ({"to": "human:*", "allow": False}, "builder", "note", True),
        ({"to": "@builders", "allow": False}, "builder", "note", False),
        ({"to": "@builder", "type": "dispatch", "allow": False}, "builder", "note", True),
        ({"to": "@builder", "type": ["note", "status"], "allow": False}, "builder", "note", False),
        ({"from": "@reviewers", "allow": False}, "builder", "note", True),
        ({"from": ["@reviewers", "@leads"], "allow": False}, "builder", "note", False),
        ({"from": "p/planner", "to": "p/*", "allow": False}, "builder", "note", False),
        ({"to": "elsewhere/*", "allow": False}, "builder", "note", True),
        ({"to": "topic:secret", "allow": False}, "topic:news", "note", True),
        ({"to": "topic:*", "allow": False}, "topic:news", "note", False),
        ({"to": "@all", "allow": False}, "human:ana", "note", True),
        ({"to": "one:@builder", "allow": False}, "one:@builder", "note", False),
        ({"to": "one:@builder", "allow": False}, "one:@builders", "note", False),
        ({"allow": False}, "builder", "note", False),
    ],
)
def test_a_route_fits_by_sender_recipient_and_type(
    enter: Enter, route: dict[str, object], to: str, type: str, allowed: bool
):
    room = with_routes(enter, route)
    room.subscribe("news", agent="builder")
    if allowed:
        assert room.send(to, "hello", type=type).deliveries
    else:
        with pytest.raises(RouteClosed, match="route 1 refuses"):
            room.send(to, "hello", type=type)
        assert stored(room) == 0


def test_the_first_route_that_fits_decides(enter: Enter):
    room = with_routes(enter, {"to": "builder"}, {"to": "*", "allow": False})
    assert room.send("builder", "hello").deliveries
    with pytest.raises(RouteClosed, match="route 2"):
        room.send("reviewer", "hello")


@pytest.mark.parametrize(("type", "said"), [("escalation", "an escalation"), ("note", "a note")])
def test_a_refusal_is_told_in_english_and_names_people_by_their_address(enter: Enter, type: str, said: str):
    room = with_routes(enter, {"to": "*", "allow": False})
    with pytest.raises(RouteClosed, match=f"human:ana may not write {said} to p/builder: "):
        room.send("builder", "hello", type=type, sender="human:ana")


def test_one_of_many_who_may_not_be_written_to_is_named_and_nobody_gets_it(enter: Enter):
    room = with_routes(enter, {"to": "reviewer", "allow": False})
    with pytest.raises(RouteClosed, match="p/reviewer") as refused:
        room.send("@all", "hello")
    assert refused.value.facts["recipient"] == "p/reviewer"
    assert stored(room) == 0


@pytest.mark.parametrize(
    ("route", "says"),
    [
        ({"form": "planner"}, "there is no 'form'"),
        ({"to": 7}, "to must be a text"),
        ({"to": []}, "to must be a text"),
        ({"to": "no such address!"}, "is not an address"),
        ({"from": "topic:news"}, "nobody writes from"),
        ({"allow": "no"}, "allow must be true or false"),
        ({"type": "requets"}, "there is no type 'requets'"),
        ({"to": "@up"}, "means others at each time"),
        ({"to": "@builders:live"}, "means others at each time"),
        ("planner", "it is no table"),
    ],
)
def test_a_route_that_makes_no_sense_is_named_before_anything_is_stored(
    enter: Enter, route: dict[str, object], says: str
):
    room = with_routes(enter, {"to": "builder"}, route)
    with pytest.raises(InvalidValue, match=f"route 2 in the config: .*{says}"):
        room.send("builder", "hello")
    assert stored(room) == 0


# rates and quotas


@pytest.mark.promise("policy")
def test_who_sends_too_much_is_refused_and_told_when_it_may_again(
    enter: Enter, clock: Clock, room: LocalRoom
):
    fast = enter("planner", sender_rate=60)
    for n in range(60):
        fast.send("builder", f"{n}")
    with pytest.raises(
        RateLimited, match=r"60 messages a minute \(sender_rate\); the next in 1 s"
    ) as refused:
        fast.send("builder", "one too many")
    assert refused.value.facts == {"rule": "sender_rate", "limit": 60, "retry_after": 1.0}
    assert (refused.value.rule, refused.value.retry_after) == ("sender_rate", 1.0)
    assert stored(room) == 60
    clock.advance(refused.value.facts["retry_after"])
    fast.send("builder", "now")
    with pytest.raises(RateLimited):
        fast.send("builder", "not yet")


def test_the_usual_rate_is_sixty_a_minute():
    from postroom.config import Settings

    assert Settings().sender_rate == 60


@pytest.mark.promise("policy")
def test_processes_share_the_rate_of_their_agent_and_another_has_its_own(enter: Enter, room: LocalRoom):
    one, other = enter("planner", sender_rate=4), enter("planner", sender_rate=4)
    for _ in range(2):
        one.send("builder", "a")
        other.send("builder", "b")
    for process in (one, other):
        with pytest.raises(RateLimited):
            process.send("builder", "c")
    assert enter("builder", sender_rate=4).send("planner", "hello").deliveries


def test_an_answer_counts_as_what_is_sent_and_a_repetition_by_key_does_not(enter: Enter, room: LocalRoom):
    question = room.send("builder", "ready?", type="request")
    slow = enter("builder", sender_rate=1)
    slow.send("planner", "hello", key="k")
    assert slow.send("planner", "hello", key="k").duplicate
    with pytest.raises(RateLimited):
        slow.reply(question.id, "yes")
    assert room.receipts(question.id).deliveries[0].state == "stored"


def test_what_is_refused_counts_for_nothing(enter: Enter, room: LocalRoom):
    slow = enter("planner", sender_rate=3, sender_quota=2)
    slow.send("builder", "b", thread=slow.send("builder", "a").id)
    for _ in range(4):
        with pytest.raises(RateLimited, match="sender_quota"):
            slow.send("builder", "c")
    other = enter("builder", sender_rate=2)
    begun = other.send("planner", "b")
    for _ in range(3):
        with pytest.raises(UnknownMessage):
            other.send("planner", "b", reply_to="00000000")
    other.send("planner", "again", thread=begun.id)
    assert other.send("planner", "again", thread=begun.id).is_held_back


def test_a_quota_of_a_day_comes_back_evenly(enter: Enter, room: LocalRoom, clock: Clock):
    slow = enter("planner", sender_quota=2)
    slow.send("builder", "a")
    slow.send("builder", "b")
    with pytest.raises(RateLimited, match=r"2 messages a day \(sender_quota\)"):
        slow.send("builder", "c")
    clock.advance(43_200)
    assert slow.send("builder", "c").deliveries


@pytest.mark.parametrize(
    ("passed", "told"), [(0, "24 h"), (61, "23 h 59 min"), (86_300, "100 s"), (80_000, "1 h 47 min")]
)
def test_how_long_to_wait_is_told_in_words_and_never_too_short(
    enter: Enter, room: LocalRoom, clock: Clock, passed: float, told: str
):
    slow = enter("human:ana", sender_quota=1)
    slow.join("human:ana")
    slow.send("builder", "a")
    clock.advance(passed)
    with pytest.raises(RateLimited) as refused:
        slow.send("builder", "b")
    assert str(refused.value) == f"human:ana may send 1 message a day (sender_quota); the next in {told}"


def test_a_clock_that_goes_back_changes_no_count(enter: Enter, room: LocalRoom, clock: Clock):
    slow = enter("planner", sender_rate=1, recipient_rate=1)
    slow.send("builder", "a")
    clock.advance(-86_400)
    with pytest.raises(RateLimited) as refused:
        slow.send("builder", "b")
    assert refused.value.facts["retry_after"] == 60, "it is as it was"
    clock.advance(60)
    late = slow.send("builder", "b").deliveries[0].due_at
    assert late is not None
    assert late <= clock.now + 60_000, "at most what was counted before"


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff" * 8, b"\xff" * 7 + b"\x07"])
def test_a_damaged_count_counts_for_nothing(enter: Enter, room: LocalRoom, home: str, damage: bytes):
    slow = enter("planner", sender_rate=1, recipient_rate=1)
    slow.send("builder", "a")
    files = [os.path.join(where, name) for where, _, names in os.walk(f"{home}/run/rate") for name in names]
    assert len(files) == 2
    for path in files:
        with open(path, "wb") as file:
            file.write(damage)
    assert slow.send("builder", "b").deliveries[0].reason is None
    with pytest.raises(RateLimited):
        slow.send("builder", "c")


def test_where_nothing_can_be_counted_everything_may_be_sent(enter: Enter, room: LocalRoom, home: str):
    os.makedirs(f"{home}/run", exist_ok=True)
    with open(f"{home}/run/rate", "w", encoding="utf-8"):
        pass
    slow = enter("planner", sender_rate=1)
    for body in ("a", "b"):
        assert slow.send("builder", body).deliveries


@pytest.mark.promise("policy")
def test_a_full_mailbox_takes_no_more_until_something_is_read(enter: Enter, room: LocalRoom):
    some = enter("planner", recipient_quota=2)
    some.send("builder", "a")
    some.send("builder", "later", after=60)
    some.send("builder", "b")
    with pytest.raises(MailboxFull, match="the mailbox of builder is full: recipient_quota is 2"):
        some.send("builder", "c")
    assert stored(room) == 3
    room.take("builder")
    assert some.send("builder", "c").deliveries


def test_there_is_always_space_for_what_is_urgent(enter: Enter, room: LocalRoom):
    some = enter("planner", recipient_quota=1)
    some.send("builder", "a")
    assert some.send("builder", "fire", priority="urgent").deliveries
    assert some.send("builder", "", type="interrupt", payload={"kind": "stop"}).deliveries


def test_who_goes_on_sending_counts_anew_before_long(enter: Enter, room: LocalRoom):
    one, other = (enter("planner", recipient_quota=80) for _ in range(2))
    one.send("builder", "the first")
    for n in range(79):
        other.send("builder", f"{n}")
    for _ in range(80 // 8):
        with contextlib.suppress(MailboxFull):
            one.send("builder", "more")
    with pytest.raises(MailboxFull):
        one.send("builder", "far too much")
    assert 80 <= len(room.peek("builder", limit=500)) <= 80 + 80 // 8


@pytest.mark.promise("policy")
def test_a_full_mailbox_keeps_nobody_else_from_getting_what_is_for_many(enter: Enter, room: LocalRoom):
    room.join("reviewer")
    some = enter("planner", recipient_quota=1)
    some.send("builder", "a")
    sent = some.send("@all", "b")
    assert [delivery.recipient for delivery in sent.deliveries] == ["reviewer"]
    assert sent.note == "not stored for builder, where the mailbox is full: recipient_quota is 1"
    assert [d.recipient for d in room.receipts(sent.id).deliveries] == ["reviewer"]
    with pytest.raises(MailboxFull, match="builder, reviewer"):
        some.send("@all", "c")


@pytest.mark.promise("policy")
def test_who_gets_many_is_offered_them_one_after_another(enter: Enter, room: LocalRoom, clock: Clock):
    calm = enter("planner", recipient_rate=2)
    sent = [calm.send("builder", f"{n}") for n in range(4)]
    assert [one.deliveries[0].reason for one in sent] == [None, None, "rate_limited", "rate_limited"]
    assert [one.deliveries[0].due_at for one in sent[2:]] == [clock.now + 30_000, clock.now + 60_000]
    assert [mail.body for mail in room.peek("builder")] == ["0", "1"]
    assert calm.send("builder", "fire", priority="urgent").deliveries[0].reason is None
    clock.advance(30)
    assert [mail.body for mail in room.peek("builder")] == ["fire", "0", "1", "2"]
    clock.advance(30)
    assert [mail.body for mail in room.peek("builder")] == ["fire", "0", "1", "2", "3"]
