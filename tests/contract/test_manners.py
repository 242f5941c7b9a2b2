"""To be left alone: what comes meanwhile is held, its sender is told so, and nothing is lost."""

import threading
from datetime import UTC, datetime

import pytest

from postroom.errors import InvalidValue
from postroom.model.ladder import State
from postroom.model.manners import end_of_quiet
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter


def bodies(room: LocalRoom) -> list[str]:
    return [mail.body for mail in room.peek("builder")]


# muted


@pytest.mark.promise("manners")
@pytest.mark.core
def test_who_is_muted_gets_nothing_until_the_time_is_over(room: LocalRoom, clock: Clock):
    room.send("builder", "before")
    room.manners("builder", mute=60)
    sent = room.send("builder", "meanwhile")
    assert (sent.deliveries[0].state, sent.deliveries[0].reason) == (State.STORED, "muted")
    assert sent.deliveries[0].due_at == clock.now + 60_000
    clock.advance(59.999)
    assert room.take("builder") is None
    assert room.held("builder") == [("muted", 2, clock.now + 1)]
    clock.advance(0.001)
    assert bodies(room) == ["before", "meanwhile"]
    assert room.send("builder", "after").deliveries[0].reason is None


@pytest.mark.promise("manners")
def test_what_cannot_wait_comes_through(room: LocalRoom):
    question = room.send("planner", "which?", sender="builder", type="request")
    room.manners("builder", mute=True)
    room.send("builder", "small talk")
    room.send("builder", "fire", priority="urgent")
    room.send("builder", "stop", cls="interrupt")
    room.send("builder", "really stop", type="interrupt", payload={"kind": "stop"})
    room.send("builder", "help", type="escalation")
    room.send("builder", "may I?", type="decision_gate")
    room.reply(question.id, "that one", agent="planner")
    assert bodies(room) == ["fire", "stop", "really stop", "help", "may I?", "that one"]
    room.manners("builder", mute=False)
    assert "small talk" in bodies(room)


@pytest.mark.parametrize("type", ["request", "health_check", "coordination", "note"])
def test_who_is_muted_can_ask_whatever_it_asks(room: LocalRoom, enter: Enter, type: str):
    room.manners("planner", mute=True)

    def answer() -> None:
        with enter("builder") as there:
            mail = there.take(timeout=20)
            assert mail is not None
            there.reply(mail, "here")

    answering = threading.Thread(target=answer)
    answering.start()
    assert room.ask("builder", "there?", type=type, timeout=20).body == "here"
    answering.join(20)


def test_what_only_looks_like_an_answer_does_not_come_through(room: LocalRoom):
    said = room.send("planner", "by the way", sender="builder")
    room.join("reviewer")
    theirs = room.send("planner", "which?", sender="reviewer", type="request")
    room.manners("builder", mute=True)
    room.reply(said.id, "oh", agent="planner")
    room.send("builder", "that one", sender="planner", reply_to=theirs.id, correlation=theirs.id)
    assert bodies(room) == []


def test_the_same_text_is_not_stored_again_for_who_is_muted(room: LocalRoom):
    room.manners("builder", mute=True)
    begun = room.send("builder", "well?")
    for _ in range(2):
        assert room.send("builder", "well?", thread=begun.id).is_held_back
    assert room.held("builder") == [("muted", 1, None)]


def test_what_is_retried_or_handed_back_is_held_for_who_is_muted(room: LocalRoom):
    sent = room.send("builder", "hello")
    with room.write() as tx:
        tx.append("delivery.dead", room.who("builder").id, about=sent.message, status="dead")
    room.send("builder", "in hand")
    listening = room.listen("builder", timeout=0.01)
    assert next(listening).body == "in hand"
    room.manners("builder", mute=True)
    room.retry(sent.id)
    listening.close()  # type: ignore[attr-defined]
    assert bodies(room) == []
    room.manners("builder", mute=False)
    assert {(mail.body, mail.shown_before) for mail in room.peek("builder")} == {
        ("hello", False),
        ("in hand", True),
    }


@pytest.mark.promise("request-letter")
@pytest.mark.parametrize("how", ["muted", "scheduled", "digest"])
def test_who_asked_is_told_of_the_leaving_of_one_for_whom_it_is_held(room: LocalRoom, how: str):
    if how == "muted":
        room.manners("builder", mute=True)
    room.send("builder", "well?", type="request", after=60 if how == "scheduled" else None)
    room.leave("builder")
    assert [mail.subject for mail in room.peek("planner")] == ["No answer from builder"]


@pytest.mark.promise("manners")
def test_who_is_muted_until_further_notice_is_let_go_by_that_alone(room: LocalRoom, clock: Clock):
    room.manners("builder", mute=True)
    room.send("builder", "hello")
    clock.advance(86_400 * 365)
    assert bodies(room) == []
    room.manners("builder", mute=False)
    assert bodies(room) == ["hello"]


def test_what_is_held_can_be_read_by_its_id(room: LocalRoom):
    room.manners("builder", mute=True)
    sent = room.send("builder", "hello")
    mail = room.take("builder", id=sent.id)
    assert mail is not None
    room.settle(mail)
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN
    other = room.send("builder", "hello again")
    assert room.ack(other.id, agent="builder").state is State.ACKED
    room.manners("builder", mute=False)
    assert bodies(room) == []


def test_what_is_held_expires_and_can_be_withdrawn(room: LocalRoom, clock: Clock):
    room.manners("builder", mute=3600)
    short, long = room.send("builder", "short", expires=10), room.send("builder", "long")
    assert short.deliveries[0].due_at == room.receipts(short.id).deliveries[0].due_at == clock.now + 10_000
    room.withdraw(long.id)
    clock.advance(10)
    assert room.receipts(short.id).deliveries[0].state is State.EXPIRED
    assert room.held("builder") == []


def test_what_comes_due_while_somebody_is_muted_goes_on_waiting(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "later", after=30)
    room.manners("builder", mute=60)
    clock.advance(30)
    assert bodies(room) == []
    assert room.receipts(sent.id).deliveries[0].reason == "muted"
    clock.advance(30)
    assert bodies(room) == ["later"]


def test_what_comes_back_while_somebody_is_muted_is_held(room: LocalRoom):
    sent = room.send("builder", "hello")
    mail = room.take("builder", handed=False)
    assert mail is not None
    room.manners("builder", mute=True)
    room.give_up(mail)
    assert room.receipts(sent.id).deliveries[0].reason == "muted"
    assert bodies(room) == []
    room.manners("builder", mute=False)
    assert bodies(room) == ["hello"]


def test_to_be_muted_for_longer_moves_the_end_of_what_is_held(room: LocalRoom, clock: Clock):
    room.manners("builder", mute=10)
    room.send("builder", "hello")
    room.manners("builder", mute=100)
    clock.advance(10)
    assert bodies(room) == []
    clock.advance(90)
    assert bodies(room) == ["hello"]


@pytest.mark.promise("manners")
def test_who_listens_is_shown_nothing_more_once_it_is_muted(room: LocalRoom, enter: Enter):
    for body in ("a", "b"):
        room.send("builder", body)
    listening = room.listen("builder", timeout=0.01)
    first = next(listening)
    assert first.body == "a"
    enter().manners("builder", mute=True)
    room.ack(first)
    assert [mail.body for mail in listening] == []
    assert room.held("builder") == [("muted", 1, None)]


def test_one_who_is_muted_holds_up_nobody_else_of_many(room: LocalRoom):
    for name in ("builder", "reviewer"):
        room.join(name, role="worker")
    room.manners("builder", mute=True)
    sent = room.send("one:@workers", "for one of you")
    assert {d.recipient: d.reason for d in sent.deliveries} == {"builder": "muted", "reviewer": None}
    mail = room.take("reviewer")
    assert mail is not None
    room.nack(mail, "not I", agent="reviewer")
    assert bodies(room) == [], "who is muted is not woken by what another gives back"
    room.manners("builder", mute=False)
    assert bodies(room) == ["for one of you"]


def test_wishes_that_make_no_sense_are_refused(room: LocalRoom):
    for wishes in ({"mute": 0}, {"mute": -5}, {"hours": "late"}, {"hours": "25:00-07:00"}, {"hours": "7-7"},
                   {"zone": "Europe/Berlin"}, {"hours": "22-7", "zone": "Nowhere/Land"}, {"digest": -1},
                   {"digest": 1e9}, {"digest": 0.5}, {"hours": "²:00-7:00"}, {"hours": "1:²-2"}):  # fmt: skip
        with pytest.raises(InvalidValue):
            room.manners("builder", **wishes)  # type: ignore[arg-type]
    assert room.manners("builder") == (None, None, "", 0.0, False)


# quiet hours


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("now", "hours", "end"),
    [
        ("2027-01-15T23:30", (22 * 60, 7 * 60), "2027-01-16T07:00"),
        ("2027-01-16T06:59", (22 * 60, 7 * 60), "2027-01-16T07:00"),
        ("2027-01-16T07:00", (22 * 60, 7 * 60), None),
        ("2027-01-31T22:00", (22 * 60, 7 * 60), "2027-02-01T07:00"),
        ("2027-12-31T23:00", (22 * 60, 7 * 60), "2028-01-01T07:00"),
        ("2027-01-15T12:15", (12 * 60, 13 * 60 + 30), "2027-01-15T13:30"),
        ("2027-01-15T13:30", (12 * 60, 13 * 60 + 30), None),
    ],
)
def test_quiet_hours_end_at_the_next_end_of_them(now: str, hours: tuple[int, int], end: str | None):
    assert end_of_quiet(hours, "UTC", at(now)) == (at(end) if end else None)


def test_quiet_hours_go_by_the_clock_of_their_zone():
    winter, summer = at("2027-01-15T21:30"), at("2027-07-15T20:30")
    hours = (22 * 60, 7 * 60)
    assert end_of_quiet(hours, "Europe/Berlin", winter) == at("2027-01-16T06:00")
    assert end_of_quiet(hours, "Europe/Berlin", summer) == at("2027-07-16T05:00")
    assert end_of_quiet(hours, "UTC", winter) is None
    skipped = at("2027-03-28T00:30")  # at 1:00 UTC the clocks there go from 2:00 to 3:00
    ends = end_of_quiet((60, 2 * 60 + 30), "Europe/Berlin", skipped)
    assert ends is not None
    assert skipped < ends <= at("2027-03-28T01:30")


@pytest.mark.promise("manners")
def test_what_comes_in_quiet_hours_waits_until_they_end(room: LocalRoom, clock: Clock):
    clock.now = at("2027-06-01T21:00")
    room.manners("builder", hours="22:00-07:00", zone="UTC")
    assert room.send("builder", "evening").deliveries[0].reason is None
    clock.now = at("2027-06-01T23:00")
    sent = room.send("builder", "night")
    assert (sent.deliveries[0].reason, sent.deliveries[0].due_at) == ("quiet_hours", at("2027-06-02T07:00"))
    assert bodies(room) == ["evening"], "what came before stays"
    clock.now = at("2027-06-02T07:00")
    assert bodies(room) == ["evening", "night"]
    room.manners("builder", hours=None)
    assert room.manners("builder") == (None, None, "", 0.0, False)


# digests


@pytest.mark.promise("digest")
def test_small_messages_wait_for_each_other_and_are_offered_as_one(room: LocalRoom, clock: Clock):
    clock.now = at("2027-06-01T12:03")
    room.manners("builder", digest=600)
    sent = [room.send("builder", f"{n}") for n in range(3)]
    assert {(one.deliveries[0].reason, one.deliveries[0].due_at) for one in sent} == {
        ("digest", at("2027-06-01T12:10"))
    }
    for options in ({"priority": "high"}, {"requires_ack": True}, {"type": "request"}):
        assert room.send("builder", "now", **options).deliveries[0].reason is None  # type: ignore[arg-type]
    assert room.send("builder", "x" * 1001).deliveries[0].reason is None
    bundle = room.take_bundle("builder")
    assert bundle is not None
    room.settle_all(bundle.mails)
    clock.now = at("2027-06-01T12:10")
    digest = room.take_bundle("builder")
    assert digest is not None
    assert [mail.body for mail in digest.mails] == ["0", "1", "2"]
    assert len({mail.delivery.nonce for mail in digest.mails}) == 1


@pytest.mark.promise("digest")
def test_the_statistics_say_what_digests_saved(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    from postroom.protocol.frame import EMPTY

    monkeypatch.setenv("POSTROOM_HOME", room.home)  # else each frame says where the room is
    for n in range(3):
        room.send("builder", f"{n}")
    bundle = room.take_bundle("builder")
    assert bundle is not None
    assert room.stats().digests == [], "nothing was handed over yet"
    room.settle_all(bundle.mails)
    room.send("builder", "alone")
    room.settle(room.take("builder") or pytest.fail("no mail"))
    assert room.stats().digests == [("p/builder", 3, 1, 2 * EMPTY)]
    apart = sum(len(room.frame([mail]).text) for mail in bundle.mails)
    assert apart - len(bundle.frame.text) == pytest.approx(2 * EMPTY, abs=30 * 3)


def test_a_room_may_make_digests_for_everybody(enter: Enter, clock: Clock, room: LocalRoom):
    calm = enter("planner", digest_seconds=60)
    assert calm.send("builder", "hello").deliveries[0].reason == "digest"
    calm.manners("builder", mute=True)
    calm.manners("builder", mute=False)
    assert bodies(room) == [], "other wishes let go only what was held for them"
    clock.advance(60)
    assert bodies(room) == ["hello"]


def test_who_wants_no_digest_any_more_gets_at_once_what_waited_for_it(room: LocalRoom):
    room.manners("builder", digest=600)
    room.send("builder", "hello")
    assert bodies(room) == []
    room.manners("builder", digest=None)
    assert bodies(room) == ["hello"]
