"""What the clock does: scheduled mail, expiry, and a clock that jumps. The clock is the store's own."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from postroom.errors import InvalidValue, StaleClaim, UnknownMessage
from postroom.model.ladder import Outcome, State
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter


def state(room: LocalRoom, id: str) -> State:
    return room.receipts(id).deliveries[0].state


def moment(clock: Clock, seconds: float) -> datetime:
    """So many seconds from the store's now."""
    return datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(seconds=seconds)


# scheduled


@pytest.mark.promise("scheduled")
@pytest.mark.core
def test_scheduled_mail_is_held_until_its_moment_and_not_longer(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "later", after=60)
    assert sent.deliveries[0].held
    assert sent.deliveries[0].reason == "scheduled"
    clock.advance(59.999)
    assert room.peek("builder") == []
    assert room.take("builder") is None
    with pytest.raises(UnknownMessage):
        room.take("builder", id=sent.id)
    clock.advance(0.001)
    mail = room.take("builder")
    assert mail is not None
    assert mail.id == sent.id
    assert not mail.shown_before


def test_peeking_shows_scheduled_mail_from_its_moment_on(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "later", after=60)
    assert room.peek("builder") == []
    clock.advance(60)
    assert [mail.id for mail in room.peek("builder")] == [sent.id]


def test_scheduled_mail_takes_its_place_by_when_it_was_sent(room: LocalRoom, clock: Clock):
    room.send("builder", "early", after=60)
    room.send("builder", "now")
    clock.advance(60)
    assert [mail.body for mail in (room.take("builder"), room.take("builder")) if mail] == ["early", "now"]


def test_scheduled_mail_can_be_withdrawn_before_its_moment(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "later", after=60)
    assert room.withdraw(sent.id)[0].state is State.WITHDRAWN
    clock.advance(120)
    assert room.take("builder") is None


def test_an_absent_moment_is_due_at_once(room: LocalRoom):
    assert not room.send("builder", "now", after=0).deliveries[0].held
    assert room.take("builder") is not None


@pytest.mark.promise("scheduled")
def test_mail_for_a_moment_comes_at_that_very_moment(room: LocalRoom, clock: Clock):
    at = moment(clock, 60).astimezone(timezone(timedelta(hours=-7)))
    sent = room.send("builder", "later", after=at, expires=moment(clock, 90))
    assert sent.message.not_before == clock.now + 60_000
    assert sent.message.expires_at == clock.now + 90_000
    clock.advance(59.999)
    assert room.peek("builder") == []
    clock.advance(0.001)
    assert [mail.id for mail in room.peek("builder")] == [sent.id]
    clock.advance(30)
    assert room.take("builder") is None


@pytest.mark.promise("bad-input")
def test_a_moment_in_the_past_is_refused_by_the_stores_clock(room: LocalRoom, clock: Clock):
    before = room.store.look().last_cursor()
    for field in ("after", "expires"):
        with pytest.raises(InvalidValue, match="lies in the past") as refusal:
            room.send("builder", "too late", **{field: moment(clock, -0.001)})  # type: ignore[arg-type]
        assert refusal.value.facts["field"] == field
    for after, expires in (
        (60.0, moment(clock, 60)),
        (moment(clock, 61), 60.0),
        (moment(clock, 9), moment(clock, 9)),
    ):
        with pytest.raises(InvalidValue, match="before it could be delivered"):
            room.send("builder", "never", after=after, expires=expires)
    assert room.store.look().last_cursor() == before
    assert not room.send("builder", "now", after=moment(clock, 0)).deliveries[0].held


@pytest.mark.promise("scheduled")
@pytest.mark.promise("clock")
def test_what_is_sent_for_a_moment_survives_a_restart_and_a_clock_that_jumps(
    room: LocalRoom, clock: Clock, enter: Enter
):
    sent = room.send("builder", "later", after=moment(clock, 3600), priority="urgent")
    other = room.send("builder", "taken back", after=moment(clock, 3600))
    room.close()
    clock.advance(-7200)
    again = enter("planner")
    assert again.peek("builder") == []
    assert [d.due_at for _, [d] in again.sent()] == [other.message.not_before, sent.message.not_before]
    assert again.withdraw(other.id)[0].state is State.WITHDRAWN
    clock.advance(7200 + 3599.999)
    assert again.peek("builder") == []
    again.send("builder", "plain")
    clock.advance(0.001)
    assert [mail.body for mail in again.peek("builder")] == ["later", "plain"]


# expiry


@pytest.mark.promise("expiry")
@pytest.mark.core
def test_mail_expires_at_its_moment_and_is_never_offered_after_it(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "soon stale", expires=60)
    clock.advance(59.999)
    assert [mail.id for mail in room.peek("builder")] == [sent.id]
    clock.advance(0.001)
    assert room.take("builder") is None
    assert state(room, sent.id) is State.EXPIRED


@pytest.mark.promise("expiry")
def test_peeking_shows_nothing_that_has_expired(room: LocalRoom, clock: Clock):
    room.send("builder", "stale", expires=60)
    room.send("builder", "fresh")
    clock.advance(60)
    assert [mail.body for mail in room.peek("builder")] == ["fresh"]
    assert [mail.body for mail in room.wait("builder", timeout=0)] == ["fresh"]


@pytest.mark.promise("expiry")
def test_a_listener_is_not_given_what_has_expired(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "stale", expires=60)
    room.send("builder", "fresh")
    clock.advance(60)
    assert [mail.body for mail in room.listen("builder", timeout=0.01)] == ["fresh"]
    assert state(room, sent.id) is State.EXPIRED


@pytest.mark.promise("expiry")
def test_what_expires_while_it_is_claimed_is_expired_when_the_claim_ends(
    room: LocalRoom, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    sent = room.send("builder", "one", expires=60)
    monkeypatch.setattr("postroom.host.identity", lambda: "2.1.boot.ns")
    assert room.take("builder") is not None
    clock.advance(61)
    assert state(room, sent.id) is State.OFFERED  # it was handed over: the agent may be reading it
    monkeypatch.setattr("postroom.host.identity", lambda: "3.1.boot.ns")
    monkeypatch.setattr("postroom.host.is_gone", lambda process: process.startswith("2."))
    assert room.take("builder") is None
    assert state(room, sent.id) is State.EXPIRED


def test_a_claim_not_yet_handed_over_expires_with_its_message(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "one", expires=5)
    mail = room.take("builder", handed=False)
    assert mail is not None
    clock.advance(room.settings.lease_seconds)
    assert room.take("builder") is None
    receipts = room.receipts(sent.id)
    assert receipts.deliveries[0].state is State.EXPIRED
    assert [attempt.outcome for attempt in receipts.attempts] == [Outcome.UNPROVEN]
    with pytest.raises(StaleClaim):
        room.settle(mail)


def test_what_was_seen_in_time_does_not_expire(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "one", expires=60)
    mail = room.take("builder")
    assert mail is not None
    room.settle(mail)
    clock.advance(3600)
    assert room.take("builder") is None
    assert state(room, sent.id) is State.SEEN


def test_scheduled_mail_can_expire_too(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "one", after=10, expires=20)
    clock.advance(25)
    assert room.take("builder") is None
    assert state(room, sent.id) is State.EXPIRED


def test_a_thousand_moments_that_came_at_once_are_all_acted_on(room: LocalRoom, clock: Clock):
    for n in range(450):
        room.send("builder", str(n), after=10 + n / 100)
        room.send("builder", f"x{n}", expires=10 + n / 100)
    clock.advance(100)
    assert room.take("builder") is not None
    assert room.store.look().next_due() is None
    assert len(room.peek("builder", limit=500)) == 449


# a clock that jumps


@pytest.mark.promise("clock")
def test_the_clock_is_the_stores_own(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "one", after=60)
    assert sent.message.created_at == clock.now
    assert sent.message.not_before == clock.now + 60_000
    assert {event.timestamp for event in room.events()} == {clock.now}


@pytest.mark.promise("clock")
def test_receipts_and_sweeps_go_by_the_stores_clock(room: LocalRoom, clock: Clock):
    clock.now = 4_000_000_000_000  # far ahead of this machine's
    sent = room.send("builder", "one", expires=60)
    clock.advance(60)
    room.sweep()
    assert room.store.look().next_due() is None
    assert state(room, sent.id) is State.EXPIRED


@pytest.mark.promise("clock")
@pytest.mark.parametrize("jump", [-10 * 365 * 86400, -60, 60, 10 * 365 * 86400])
def test_a_clock_that_jumps_loses_nothing_and_shows_nothing_twice(
    room: LocalRoom, clock: Clock, enter: Enter, jump: int
):
    sent = [room.send("builder", f"plain {n}").id for n in range(3)]
    held = room.send("builder", "held", after=30).id
    first = room.take("builder")
    claimed = room.take("builder", handed=False)
    assert first is not None
    assert claimed is not None
    clock.advance(jump)
    sent.append(room.send("builder", "after the jump").id)
    shown = [first.id, claimed.id]
    other = enter("builder")
    while (mail := other.take()) is not None:
        assert mail.shown_before == (mail.id in shown)
        shown.append(mail.id)
        other.settle(mail)
    expected = [*sent, held] if jump > 0 else sent
    assert set(shown) == set(expected)
    if jump < 0:
        clock.advance(-jump + 60)
        late = {mail.id for mail in iter(other.take, None) if mail}
        assert held in late
