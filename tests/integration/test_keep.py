"""Prune and redact: what is forgotten is gone everywhere, and what stays is still proven by its journals."""

import os
import sqlite3

import pytest

from postroom import label
from postroom.errors import StoreBusy
from postroom.model.message import Message
from postroom.room import digest, journal, keep, replay, snapshot
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import START
from tests.conftest import OpenRoom
from tests.room_activity import Steps, busy_room, files, occurrences, reopened, told

pytestmark = pytest.mark.timeout(60)

CUT = START + 150_000  # a moment in the middle of a busy room's life


def state(room: LocalRoom) -> str:
    return digest.digest(room.store.whole())


# Prune


def is_open_gate(room: LocalRoom, message: Message) -> bool:
    """Undecided, and its time not over: whatever became of its deliveries."""
    is_gate = message.type == "decision_gate" and (message.expires_at or 0) >= CUT
    return is_gate and room.store.look().decision(message.seq) is None


def test_what_ended_before_a_moment_is_forgotten_and_the_rest_is_not(home: str) -> None:
    with busy_room(home, steps=300, rotate=3000, seed=4) as room:
        over, rest = set[int](), set[int]()
        for event in room.events():
            if event.message:
                deliveries = room.store.look().deliveries(event.seq)
                ended = all(
                    (d.ended_at and d.ended_at < CUT and d.state != "dead")
                    or (d.state == "seen" and (d.seen_at or CUT) < CUT and not event.message.requires_ack)
                    for d in deliveries
                )
                (over if ended and not is_open_gate(room, event.message) else rest).add(event.seq)
        done = keep.prune(room, CUT)
        assert done.messages == len(over) > 5
        left = {event.seq for event in room.events() if event.message}
        assert left == rest
        assert all(
            event.timestamp >= CUT for event in room.events() if event.seq >= done.first and not event.message
        )
        assert min(document["seq"] for _, document in told(home) if "seq" in document) >= done.first > 1
        assert verify(room).problems == []


def test_a_pruned_room_is_rebuilt_from_its_snapshot_and_what_came_after(home: str) -> None:
    with busy_room(home, steps=300, rotate=3000, seed=2) as room:
        done = keep.prune(room, CUT)
        room.send("builder", "after the cut")
        journal.sync(room)
        rebuilt = replay.replay(journal.directory(room), f"{home}-rebuilt")
        assert rebuilt.digest == state(room)
        assert rebuilt.snapshot == done.snapshot
        with reopened(f"{home}-rebuilt") as again:
            assert list(again.events()) == list(room.events())
            again.send("builder", "and on")
            assert verify(again).problems == []


def test_pruning_again_moves_the_cut_and_leaves_one_snapshot(home: str) -> None:
    with busy_room(home, steps=300, rotate=3000, seed=3) as room:
        first = keep.prune(room, CUT)
        second = keep.prune(room, CUT + 60_000)
        assert second.first > first.first
        assert len(snapshot.listed(journal.directory(room))) == 1
        assert verify(room).problems == []


def test_pruning_goes_on_until_nothing_is_left_to_prune(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "MESSAGES", 2)
    monkeypatch.setattr(keep, "EVENTS", 7)
    with busy_room(home, steps=200) as room:
        keep.prune(room, CUT)
        assert room.store.look().prunable(CUT, 0) == []
        assert keep.prune(room, CUT).messages == 0
        assert verify(room).problems == []


def test_pruning_up_to_the_future_ends(home: str) -> None:
    with busy_room(home, steps=100) as room:
        keep.prune(room, START * 2)
        assert verify(room).problems == []


def test_pruning_nothing_changes_nothing(home: str) -> None:
    with busy_room(home, steps=50) as room:
        journal.sync(room)
        before = state(room), told(home)
        assert keep.prune(room, 0) == (0, 1, 0, None)
        assert (state(room), told(home)) == before


def test_a_prune_killed_at_any_step_leaves_a_room_that_its_journals_rebuild(home: str) -> None:
    busy_room(home, steps=100, rotate=2500, seed=7).close()
    cut = START + 70_000
    places = Steps(home, "prune", cut, rotate=2500).killed_at_each(most=2)
    assert any(place.startswith("prune-trimmed") for place in places)
    for place, copy in places.items():
        with reopened(copy, journal_rotate_bytes=2500) as room:
            assert verify(room).problems == [], place
            keep.prune(room, cut)
            assert verify(room).problems == [], place
            assert min(d["seq"] for _, d in told(copy) if "seq" in d) >= room.store.whole().first(), place
            assert not [path for path in files(room.home) if os.path.basename(path).startswith(".")], place


def test_two_who_prune_at_once_leave_the_later_snapshot(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with busy_room(home, steps=250, rotate=3000, seed=2) as room:
        others = list[keep.Pruned]()

        def prune_here(place: str) -> None:
            if place == "snapshot-written" and not others:
                others.append(keep.Pruned(0, 0, 0, None))
                with reopened(home, journal_rotate_bytes=3000) as another:
                    another.send("builder", "meanwhile")
                    others.append(keep.prune(another, CUT + 100_000))

        monkeypatch.setattr(label, "here", prune_here)
        monkeypatch.setattr(label, "armed", True)
        done = keep.prune(room, CUT)
        assert done.snapshot == others[-1].snapshot
        assert verify(room).problems == []


# Redact

SECRETS = ("zebra in the subject", "Löwe-" * 3000, "tiger in the payload", "lynx in the metadata")


def send_secret(room: LocalRoom, body: str = SECRETS[1]) -> str:
    return room.send(
        "builder", body, subject=SECRETS[0], payload={"p": SECRETS[2]}, metadata={"m": [SECRETS[3]]}
    ).id


def found_secrets(home: str) -> set[str]:
    needles = [*map(str.encode, SECRETS), "Löwe-Löwe-".encode()]
    return {path for needle in needles for path in occurrences(home, needle)}


def test_redacted_content_is_found_nowhere(home: str) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        ref = send_secret(room)
        keep.prune(room, CUT)  # so that a snapshot holds it, too
        for n in range(20):
            room.send("builder", f"after {n} " + "y" * 300)
        journal.sync(room)
        assert len(found_secrets(home)) >= 3
        before = state(room)
        done = keep.redact(room, ref)
        assert done.lines == 2
        assert not done.elsewhere
        assert state(room) == before
        assert verify(room).problems == []
        [message] = [m for m in room.thread(ref) if m.id == ref]
        assert (message.subject, message.body, message.payload, message.metadata) == ("", "", None, None)
        assert room.receipts(ref).deliveries
        assert found_secrets(home) == set()
    assert found_secrets(home) == set()


def test_copies_left_in_free_space_by_earlier_changes_go_too(home: str) -> None:
    with busy_room(home, steps=50) as room:
        ref = send_secret(room)
        connection: sqlite3.Connection = room.store.look().connection  # type: ignore[attr-defined]
        connection.execute("CREATE TABLE former (content TEXT)")
        connection.execute("INSERT INTO former VALUES (?)", (SECRETS[1],))
        connection.execute("DROP TABLE former")
        keep.redact(room, ref)
        assert found_secrets(home) == set()


def test_redacting_twice_is_harmless(room: LocalRoom) -> None:
    ref = send_secret(room)
    keep.redact(room, ref)
    before = state(room), int(room.store.look().last_cursor())
    keep.redact(room, ref)
    assert (state(room), int(room.store.look().last_cursor())) == before


def test_words_that_another_message_says_too_are_reported(room: LocalRoom) -> None:
    ref = send_secret(room)
    room.send("builder", f"he wrote: {SECRETS[1]}")
    assert keep.redact(room, ref).elsewhere


def test_a_bounce_and_a_persons_message_can_be_redacted(room: LocalRoom) -> None:
    room.join("human:ana")
    ref = room.send("builder", "from a person " + SECRETS[0], sender="human:ana").id
    mail = room.take("builder")
    assert mail
    room.nack(mail, SECRETS[2])
    [bounce] = room.peek("human:ana")
    for one in (ref, bounce.id):
        keep.redact(room, one)
    assert verify(room).problems == []
    assert occurrences(room.home, SECRETS[0].encode()) == []


def test_a_redaction_killed_at_any_step_is_finished_by_the_next(home: str) -> None:
    with busy_room(home, steps=100, rotate=2500, seed=8) as room:
        ref = send_secret(room)
        keep.prune(room, CUT)
    for place, copy in Steps(home, "redact", ref, rotate=2500).killed_at_each(most=3).items():
        with reopened(copy, journal_rotate_bytes=2500) as room:
            assert verify(room).problems == [], place
            keep.redact(room, ref)
            assert verify(room).problems == [], place
            assert found_secrets(copy) == set(), place


def test_a_reader_that_holds_on_delays_the_redaction_and_does_not_spoil_it(
    open_room: OpenRoom, room: LocalRoom
) -> None:
    ref = send_secret(room)
    impatient = open_room("planner", settings=room.settings._replace(busy_seconds=0.05))
    with room.store.read() as tx:
        assert tx.message(ref)
        with pytest.raises(StoreBusy):
            keep.redact(impatient, ref)
    keep.redact(impatient, ref)
    assert found_secrets(room.home) == set()


@pytest.mark.parametrize("step", ["journal-read", "snapshot-written", "journal-before-pack"])
def test_content_redacted_meanwhile_does_not_come_back(
    home: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with busy_room(home, steps=60, rotate=3000) as room:
        ref = send_secret(room)
        done = list[str]()

        def redact_here(place: str) -> None:
            if place == step and not done:
                done.append(place)
                with reopened(home, journal_rotate_bytes=3000) as another:
                    keep.redact(another, ref)

        monkeypatch.setattr(label, "here", redact_here)
        monkeypatch.setattr(label, "armed", True)
        keep.prune(room, CUT)
        assert done
        assert found_secrets(home) == set()
        assert verify(room).problems == []


def test_keeping_lifts_the_promises_of_quiet(room: LocalRoom) -> None:
    ref = send_secret(room)
    room.withdraw(ref)
    builder = room.who("builder").id
    assert room.hush("builder")
    keep.redact(room, ref)
    assert room.quiet.until(builder) is None
    assert room.hush("builder")
    keep.prune(room, 1 << 50)
    assert room.quiet.until(builder) is None
