"""A use case is one transaction: its state and its events are there together, or not at all."""

import os
import threading

import pytest

from postroom.errors import KeyConflict, StoreBusy, UnknownRecipient
from postroom.room.local import LocalRoom
from postroom.room.unit import Unit
from tests.contract.conftest import Enter, everything
from tests.process import Child, until

pytestmark = pytest.mark.core


class Interrupted(Exception):
    """Something went wrong in the middle."""


def types(room: LocalRoom, after: str = "") -> list[str]:
    return [event.type for event in room.events(after=after)]


@pytest.mark.promise("atomic")
def test_state_and_event_are_stored_together(room: LocalRoom, enter: Enter):
    other = enter("builder")
    cursor = other.store.look().last_cursor()
    sent = room.send("builder", "one")
    [event] = other.store.look().events(cursor)
    assert event.type == "message.sent"
    assert event.message == sent.message
    assert event.payload == {"recipients": [room.who("builder").id]}
    assert [mail.id for mail in other.peek()] == [sent.id]


def test_every_move_on_the_ladder_leaves_exactly_one_event(room: LocalRoom):
    steps = []
    cursor = room.store.look().last_cursor()

    def step() -> None:
        nonlocal cursor
        steps.append(types(room, cursor))
        cursor = room.store.look().last_cursor()

    room.send("builder", "one")
    step()
    mail = room.take("builder")
    step()
    assert mail is not None
    room.settle(mail)
    step()
    room.ack(mail)
    step()
    room.send("builder", "two")
    step()
    room.nack(room.peek("builder")[0], "no", agent="builder")
    step()
    room.withdraw(room.send("builder", "three").id)
    step()
    assert steps == [
        ["message.sent"],
        ["delivery.offered"],
        ["delivery.seen"],
        ["delivery.acked"],
        ["message.sent"],
        ["delivery.bounced", "message.sent"],
        ["message.sent", "delivery.withdrawn"],
    ]


@pytest.mark.promise("atomic")
def test_what_fails_half_way_leaves_nothing(room: LocalRoom, enter: Enter):
    room.send("builder", "one")
    mail = room.take("builder")
    assert mail is not None
    before = everything(room.store)
    with pytest.raises(Interrupted), room.write() as tx:  # noqa: PT012 - raised in the middle
        tx.append("agent.renamed", room.who().id, payload={"name": "somebody-else", "was": "planner"})
        tx.append(
            "delivery.acked", mail.delivery.recipient_id, about=mail.message, payload={"evidence": "agent"}
        )
        raise Interrupted
    assert everything(room.store) == before
    assert everything(enter().store) == before


def test_refused_use_cases_leave_nothing(room: LocalRoom):
    room.send("builder", "one", key="k")
    before = everything(room.store)
    with pytest.raises(UnknownRecipient):
        room.send("nobody", "hello", sender="newcomer")
    with pytest.raises(KeyConflict):
        room.send("builder", "another", key="k")
    assert everything(room.store) == before


def test_after_a_failure_the_same_store_goes_on_working(room: LocalRoom):
    for _ in range(3):
        with pytest.raises(Interrupted), room.write():
            raise Interrupted
    assert room.take("builder") is None
    assert room.send("builder", "one").id == room.peek("builder")[0].id


def test_sequence_numbers_rise_by_one_and_are_not_used_up_by_what_failed(room: LocalRoom):
    first = room.send("builder", "one").message.seq
    with pytest.raises(UnknownRecipient):
        room.send("nobody", "hello", sender="newcomer")
    assert room.send("builder", "two").message.seq == first + 1
    seqs = [event.seq for event in room.events()]
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_snapshot_does_not_change_while_others_write(room: LocalRoom, enter: Enter):
    other = enter("planner")
    room.send("builder", "one")
    builder = room.who("builder").id
    with room.store.read() as tx:
        before = [mail.id for mail in tx.ready(builder, 10)]
        later = other.send("builder", "two").id
        assert [mail.id for mail in tx.ready(builder, 10)] == before
        assert tx.message(later) is None
    assert [mail.id for mail in room.peek("builder")] == [*before, later]


def test_what_another_has_not_committed_is_not_seen(room: LocalRoom, enter: Enter):
    other = enter("planner")
    with room.write() as tx:
        tx.append("agent.left", room.who("builder").id)
        assert other.who("builder").left_at is None
    assert other.who("builder").left_at is not None


def test_others_commits_are_noticed_by_the_change_number(room: LocalRoom, enter: Enter):
    other = enter("planner")
    before = room.store.changed()
    assert room.store.changed() == before
    other.send("builder", "one")
    assert room.store.changed() != before


def test_one_transaction_has_one_moment(room: LocalRoom, clock):
    with room.write() as tx:
        first = tx.append("agent.left", room.who().id).timestamp
        clock.advance(10)
        assert tx.append("agent.left", room.who("builder").id).timestamp == first == tx.now


@pytest.mark.promise("locked")
def test_while_one_writes_another_waits_and_then_says_busy(room: LocalRoom, enter: Enter):
    hasty = enter("planner", patience=0.05)
    before = everything(room.store)
    with room.store.write():
        with pytest.raises(StoreBusy) as refusal:
            hasty.send("builder", "one")
        assert refusal.value.hint
        assert hasty.peek("builder") == []  # reading goes on meanwhile
    assert everything(room.store) == before
    hasty.send("builder", "one")


def test_a_writer_that_waits_gets_its_turn(room: LocalRoom, enter: Enter):
    other = enter("planner", patience=20)
    other.peek("builder")
    sent: list[str] = []
    with room.store.write():
        thread = threading.Thread(target=lambda: sent.append(other.send("builder", "late").id))
        thread.start()
        thread.join(0.05)
        assert sent == []
    thread.join(20)
    assert [mail.id for mail in room.peek("builder")] == sent
    other.close()


@pytest.mark.promise("crash")
def test_a_process_killed_inside_a_transaction_leaves_nothing(room: LocalRoom, home: str):
    before = everything(room.store)
    with Child("write_and_stay", home) as child:
        assert child.hear() == "written"
        child.kill()
    assert everything(room.store) == before
    room.send("builder", "the lock is free")


@pytest.mark.promise("durability")
def test_in_a_room_set_to_full_a_send_waits_for_the_disk_before_it_tells(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    """After the commit, so that others go on meanwhile, and before the answer."""
    other = enter("builder")
    synced: list[list[str]] = []

    def sync(descriptor: int) -> None:
        assert os.readlink(f"/proc/self/fd/{descriptor}").endswith("-wal")
        synced.append([mail.body for mail in other.peek()])
        os.fsync(descriptor)

    monkeypatch.setattr(os, "fdatasync", sync)
    for body in ("one", "two"):
        room.send("builder", body)
    expected = [["one"], ["one", "two"]] if room.store.durability == "full" else []
    assert synced == expected


@pytest.mark.promise("durability")
def test_who_is_in_a_hurry_waits_for_no_disk_and_knows_what_it_owes(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    is_full, synced = room.store.durability == "full", list[int]()
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with room.store.hurried() as hurry:
        room.peek("builder")
        assert not hurry.owes
        room.send("builder", "one")
        assert hurry.owes == is_full
    assert not synced
    room.send("builder", "two")
    assert len(synced) == is_full
    threading.Thread(target=room.store.harden).start()
    until(lambda: len(synced) == is_full + 1)


@pytest.mark.promise("durability")
def test_the_disk_is_asked_for_what_is_to_be_lasting_alone(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    is_full, synced = room.store.durability == "full", list[int]()
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with Unit(room, lasting=False) as tx:
        tx.append("agent.route", room.known("builder").id, payload={})
    room.store.tidy()
    assert not synced
    room.store.make_lasting()
    assert len(synced) == is_full
    with room.store.write() as tx:
        tx.append("agent.route", room.known("builder").id, payload={})
    assert len(synced) == 2 * is_full
    with room.store.hurried() as hurry:
        room.store.tidy()
        assert not hurry.owes
        room.store.make_lasting()
        assert hurry.owes == is_full
    assert len(synced) == 2 * is_full


def test_who_is_in_a_hurry_waits_for_no_lock(room: LocalRoom, enter: Enter):
    with enter("builder").store.write(), room.store.hurried(), pytest.raises(StoreBusy):
        room.send("builder", "one")
    room.send("builder", "two")


@pytest.mark.promise("lossless-ids")
def test_a_handle_is_one_messages_alone_even_after_four_milliards_of_events(room: LocalRoom):
    from postroom.model import ids

    first = room.send("builder", "one")
    with room.store.write() as tx:
        last = tx.append("project.created", payload={"name": "n", "root": ""})
        tx.record(
            last._replace(
                seq=first.message.seq + (1 << 32) - 1, id=ids.uuid7(), payload={"name": "m", "root": ""}
            )
        )
    second = room.send("builder", "two")
    assert second.message.seq == first.message.seq + (1 << 32)
    assert second.message.handle == first.message.handle
    assert room.receipts(first.id).message.body == "one"
    assert room.receipts(second.id).message.body == "two"
    assert room.receipts(first.message.handle).message.body == "one"
