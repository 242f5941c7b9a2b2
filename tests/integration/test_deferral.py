"""A message that is refused for now waits, comes again, and is dead after its last attempt."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

import postroom
from postroom.clock import iso
from postroom.errors import IllegalMove, InvalidValue, StaleClaim
from postroom.model.ladder import Outcome, State
from postroom.model.message import Delivery, Mail
from postroom.room import digest, journal, replay
from postroom.room.attempt import attempts
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.commandline import CommandLine
from tests.conftest import UNLIMITED, OpenRoom
from tests.relayed import linked
from tests.served import Served, served

MINUTE = 60_000
Reach = Callable[[LocalRoom, str], None]


@pytest.fixture
def room(open_room: OpenRoom, clock: Clock) -> LocalRoom:
    room = open_room("planner", clock=clock, settings=UNLIMITED)
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    return room


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room) as found:
        yield found


def of(room: LocalRoom, ref: str) -> Delivery:
    [delivery] = room.receipts(ref).deliveries
    return delivery


def take(room: LocalRoom) -> Mail:
    mail = room.take("builder")
    assert mail is not None
    return mail


def sound(room: LocalRoom) -> None:
    """It verifies, and its journals rebuild it."""
    journal.sync(room)
    found = verify(room, deep=True)
    assert (found.problems, found.skipped) == ([], [])
    rebuilt = replay.replay(journal.directory(room), f"{room.home}-rebuilt-{room.store.clock()}")
    assert rebuilt.digest == found.digest == digest.digest(room.store.whole())


def _waits(room: LocalRoom, ref: str) -> None: ...


def _offered(room: LocalRoom, ref: str) -> None:
    take(room)


def _seen(room: LocalRoom, ref: str) -> None:
    room.settle(take(room))


@pytest.mark.promise("deferral")
@pytest.mark.parametrize("reach", [_waits, _offered, _seen], ids=["stored", "offered", "seen"])
def test_what_is_refused_for_now_comes_again_later_each_time_and_then_is_dead(
    room: LocalRoom, clock: Clock, reach: Reach
):
    sent = room.send("builder", "build it", type="request")
    for pause in (5, 10, 20):
        reach(room, sent.id)
        refused = room.nack(sent.id, "busy", agent="builder", retry_after=300, attempts=4, backoff=2)
        assert (refused.state, refused.reason, refused.held) == (State.STORED, "deferred", True)
        assert refused.due_at == clock.now + pause * MINUTE
        assert (refused.seen_at, refused.evidence) == (None, None)
        told = of(room, sent.id)  # as the sender sees it
        assert (told.state, told.reason, told.due_at) == (State.STORED, "deferred", refused.due_at)
        assert room.held("builder") == [("deferred", 1, refused.due_at)]
        sound(room)
        clock.advance(pause * 60 - 1)
        assert room.take("builder") is None
        clock.advance(1)
        assert [mail.id for mail in room.peek("builder")] == [sent.id]
        assert room.peek("planner") == []  # nobody is told before the end
    reach(room, sent.id)
    last = room.nack(sent.id, "busy", agent="builder", retry_after=300, attempts=4, backoff=2)
    assert (last.state, last.reason) == (State.DEAD, "refused 4 times: busy")
    [bounce] = room.peek("planner")
    assert bounce.payload is not None
    assert bounce.payload["bounce"]["reason"] == "refused 4 times: busy"
    assert [mail.id for mail in room.dead()] == [sent.id]
    sound(room)


@pytest.mark.promise("deferral")
def test_what_was_seen_is_shown_again_as_that_and_its_history_tells_all(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "build it")
    mail = take(room)
    room.settle(mail)
    room.nack(mail, "busy", retry_after=60)
    with pytest.raises(StaleClaim):
        room.settle(mail)  # an old claim proves nothing about the next attempt
    clock.advance(60)
    again = take(room)
    assert again.shown_before
    room.ack(again)
    with room.store.read() as tx:
        history = tx.history(sent.message.seq, again.delivery.recipient_id)
    types = [event.type.removeprefix("delivery.") for event in history]
    assert types == ["offered", "seen", "deferred", "due", "offered", "acked"]
    assert history[2].payload["words"] == "busy"
    assert [one.outcome for one in attempts(again.delivery, history)] == [Outcome.PROVEN] * 2
    sound(room)


@pytest.mark.promise("deferral")
def test_the_count_outlasts_the_process_and_a_person_begins_it_anew(
    room: LocalRoom, open_room: OpenRoom, clock: Clock
):
    sent = room.send("builder", "build it")
    room.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=2)
    room.close()
    other = open_room("planner", clock=clock)
    clock.advance(60)
    assert other.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=2).state is State.DEAD
    other.retry(sent.id)
    again = other.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=2)
    assert (again.state, again.due_at) == (State.STORED, clock.now + MINUTE)


def test_to_refuse_for_now_twice_is_to_refuse_once(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "build it")
    first = room.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=2)
    clock.advance(1)
    assert room.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=2) == first


def test_what_waits_to_come_again_can_be_read_acknowledged_and_refused_for_good(room: LocalRoom):
    ids = [room.send("builder", "build it").id for _ in range(3)]
    for ref in ids:
        room.nack(ref, "busy", agent="builder", retry_after=60)
    taken = room.take("builder", id=ids[0])
    assert taken is not None
    assert room.ack(ids[1], agent="builder").state is State.ACKED
    assert room.nack(ids[2], "no", agent="builder").state is State.BOUNCED
    sound(room)


def test_what_expires_meanwhile_does_not_come_again(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "build it", expires=90)
    refused = room.nack(sent.id, "busy", agent="builder", retry_after=300)
    assert refused.due_at == sent.message.expires_at
    clock.advance(90)
    assert room.take("builder") is None
    assert of(room, sent.id).state is State.EXPIRED


def test_who_is_muted_when_it_comes_again_is_left_alone(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "build it")
    room.nack(sent.id, "busy", agent="builder", retry_after=60)
    room.manners("builder", mute=3600)
    clock.advance(60)
    room.sweep()
    assert of(room, sent.id).reason == "muted"
    room.manners("builder", mute=False)
    assert [mail.id for mail in room.peek("builder")] == [sent.id]


def test_what_one_of_a_group_refuses_for_now_others_get_at_once(room: LocalRoom):
    for name in ("ben", "cleo"):
        room.join(name, role="reviewer")
    room.send("one:@reviewers", "review it")
    mail = room.take("ben")
    assert mail is not None
    room.nack(mail, "busy", retry_after=60)
    assert room.take("ben") is None
    assert room.take("cleo") is not None
    sound(room)


def test_what_one_of_a_group_has_refused_for_good_does_not_come_to_it_again(room: LocalRoom, clock: Clock):
    for name in ("ben", "cleo"):
        room.join(name, role="reviewer")
    sent = room.send("one:@reviewers", "review it")
    for _ in range(2):
        mail = room.take("ben")
        assert mail is not None
        room.nack(mail, "busy", retry_after=60, attempts=2)
        clock.advance(60)
        room.sweep()
    states = {one.recipient: (one.state, one.reason) for one in room.receipts(sent.id).deliveries}
    assert states["ben"] == (State.DEAD, "refused 2 times: busy")
    assert room.take("ben") is None
    assert room.peek("planner") == []  # another may still have it
    mail = room.take("cleo")
    assert mail is not None
    room.nack(mail, "busy", retry_after=60, attempts=1)
    [bounce] = room.peek("planner")
    assert bounce.payload is not None
    assert bounce.payload["bounce"]["recipient"] == "cleo"
    sound(room)


@pytest.mark.promise("deferral")
def test_the_event_has_the_code_as_its_reason_and_the_text_as_its_words(room: LocalRoom):
    sent = room.send("builder", "build it")
    room.nack(sent.id, "the build runs", agent="builder", retry_after=60)
    [event] = [one for one in room.events() if one.type == "delivery.deferred"]
    assert (event.payload["reason"], event.payload["words"]) == ("deferred", "the build runs")


def test_a_listener_that_refuses_for_now_goes_on_to_the_next(room: LocalRoom, clock: Clock):
    first, second = (room.send("builder", text).id for text in "12")
    shown: list[str] = []
    for mail in room.listen("builder", timeout=0):
        shown.append(mail.id)
        if mail.id == first:
            room.nack(mail, "busy", retry_after=60)
    assert shown == [first, second]
    assert of(room, first).reason == "deferred"
    clock.advance(60)
    assert [(mail.id, mail.shown_before) for mail in room.peek("builder")] == [(first, True)]
    sound(room)


def test_what_a_listener_shows_can_be_refused_for_now_by_another_process(room: LocalRoom, open_room, clock):
    """Whoever asks for the next message does not say that it has seen the one that was refused."""
    ref = room.send("builder", "1").id
    listening = room.listen("builder", timeout=0)
    assert next(iter(listening)).id == ref
    open_room("builder", clock=clock).nack(ref, "busy", retry_after=60)
    assert list(listening) == []
    assert of(room, ref).reason == "deferred"


def test_over_a_websocket_what_is_refused_for_now_is_not_called_seen(web: Served, room: LocalRoom):
    ref = room.send("builder", "1").id
    with linked(web, "builder") as link:
        link.mail()
        assert link.ask("nack", ref=ref, reason="busy", retry_after=60)["ok"]["reason"] == "deferred"
        link.ask("seen", ref=ref)
        link.ask("ping")
    assert of(room, ref).reason == "deferred"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"attempts": 3}, "attempts"), ({"backoff": 2.0}, "backoff"), ({"retry_after": 0}, "retry_after"),
        ({"retry_after": -1}, "retry_after"), ({"retry_after": float("nan")}, "retry_after"),
        ({"retry_after": float("inf")}, "retry_after"), ({"retry_after": 1, "attempts": 0}, "attempts"),
        ({"retry_after": 1, "attempts": 101}, "attempts"), ({"retry_after": 1, "backoff": 0.5}, "backoff"),
        ({"retry_after": 1, "backoff": float("nan")}, "backoff"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_its_name(room: LocalRoom, options: dict[str, Any], field: str):
    sent = room.send("builder", "build it")
    with pytest.raises(InvalidValue) as refusal:
        room.nack(sent.id, "busy", agent="builder", **options)
    assert refusal.value.facts["field"] == field
    assert of(room, sent.id).reason is None


def test_the_longest_pause_ends_before_time_does(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "build it")
    refused = room.nack(sent.id, "x", agent="builder", retry_after=1e10, attempts=100, backoff=100)
    assert refused.due_at is not None
    assert iso(refused.due_at) is not None


@pytest.mark.promise("deferral")
@pytest.mark.parametrize("end", ["dead", "bounced", "withdrawn"])
def test_what_has_ended_cannot_be_refused_for_now(room: LocalRoom, end: str):
    sent = room.send("builder", "build it")
    if end == "dead":
        room.nack(sent.id, "busy", agent="builder", retry_after=60, attempts=1)
    elif end == "bounced":
        room.nack(sent.id, "never", agent="builder")
    else:
        room.withdraw(sent.id)
    with pytest.raises(IllegalMove):
        room.nack(sent.id, "busy", agent="builder", retry_after=60)
    assert room.receipts(sent.id).deliveries[0].state == end


def test_the_api_has_the_same_options(web: Served, room: LocalRoom, clock: Clock):
    token = web.token("builder")
    ids = [room.send("builder", "build it").id for _ in range(2)]
    told = web.post(
        f"/messages/{ids[0]}/nack",
        {"reason": "busy", "retry_after": 60, "attempts": 3, "backoff": 2},
        token=token,
    )
    assert told.json["state"] == "stored"
    assert (told.json["reason"], told.json["due_at"]) == ("deferred", iso(clock.now + MINUTE))
    with postroom.open(web.url, token=token) as there:
        assert there.nack(ids[1], "busy", retry_after=60, attempts=1).state is State.DEAD
    wrong = web.post(f"/messages/{ids[0]}/nack", {"reason": "busy", "attempts": 3}, token=token)
    assert (wrong.status, wrong.json["field"]) == (400, "attempts")


@pytest.mark.promise("deferral")
def test_a_command_refuses_for_now(home: str):
    cli = CommandLine(home)
    for name in ("planner", "builder"):
        cli.ok("join", name)
    ref = cli.sent("builder", "build it")
    said = ("nack", ref, "--reason", "busy", "--as", "builder")
    found = cli.ok(*said, "--retry-after", "5m", "--attempts", "2", "--backoff", "2")
    assert "stored" in found.out
    assert "It comes again at" in found.err
    receipt = cli.receipt(ref)
    assert (receipt["state"], receipt["reason"]) == ("stored", "deferred")
    shown = cli.ok("receipts", ref).out
    assert "waits: deferred, due " in shown
    assert "refused 1 of 2: busy" in shown
    again = cli.ok(*said, "--retry-after", "9h")
    assert "Nothing was done: it is refused for now already, and comes again at" in again.err
    assert "Nothing was done" not in found.err
    assert (
        cli.ok(*said, "--retry-after", "9h", "--json")
        .json["note"]
        .startswith("it is refused for now already")
    )
    assert cli.receipt(ref)["held_until"] == receipt["held_until"]
    deferral = receipt["deferral"]
    assert (deferral["words"], deferral["n"], deferral["limit"]) == ("busy", 1, 2)
    assert "you refused it for now" in " ".join(cli.ok("inbox", "--as", "builder").err.split())
    assert cli(*said, "--attempts", "2").code == 2
    assert cli(*said, "--retry-after", "soon").code == 2


@pytest.mark.parametrize("far", [False, True], ids=["here", "over HTTP"])
def test_its_sender_sees_why_it_was_refused_for_now_and_how_often(
    room: LocalRoom, web: Served, clock: Clock, far: bool
):
    ref = room.send("builder", "build it").id
    assert room.receipts(ref).deferrals == []
    for n in (1, 2):
        room.nack(ref, f"busy {n}", agent="builder", retry_after=60, backoff=1)
        with postroom.open(web.url, token=web.token("planner")) as there:
            told = (there if far else room).receipts(ref)
        [delivery] = told.deliveries
        found = told.deferral(delivery.recipient_id)
        assert found == (delivery.recipient_id, f"busy {n}", n, 3, clock.now)
        clock.advance(60)
        room.sweep()


def test_the_schema_allows_the_move_back_only_by_a_deferral(room: LocalRoom):
    """And what stood in a room of version 9 stands there still."""
    with closing(sqlite3.connect(f"{room.home}/room.db")) as there:
        [(sql,)] = there.execute("SELECT sql FROM sqlite_master WHERE name = 'delivery'")
    assert sql.count("seen>stored") == 1
