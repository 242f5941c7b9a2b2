"""Parts of a transaction: stored together, and each that fails is undone by itself."""

import contextlib
from typing import Any

import pytest

from postroom.errors import KeyConflict, StoreError, UnknownRecipient
from postroom.model.ids import message_id
from postroom.model.ladder import Priority, State
from postroom.model.message import Message
from postroom.room import directory, handout
from postroom.room.local import LocalRoom
from postroom.room.unit import Unit
from postroom.room.verify import verify
from postroom.store import contract
from postroom.store.contract import WriteTx
from tests.contract.conftest import Enter, everything

pytestmark = [pytest.mark.core, pytest.mark.promise("parts")]


class Interrupted(Exception):
    """Something went wrong in the middle."""


def begin_and_break_off(room: LocalRoom) -> None:
    room.send("builder", "before")
    with room.write() as tx:
        tx.append("agent.route", room.who("builder").id, payload={})
        raise Interrupted


def send_on_a_disk_that_is_full(room: LocalRoom) -> None:
    tx: Any = room.store.look()
    room.send("builder", "one")
    tx.execute("ROLLBACK")  # as SQLite itself does then
    room.send("builder", "two")


def test_what_is_done_together_is_stored_together_and_told_of_then(room: LocalRoom, enter: Enter):
    other = enter("builder")
    with contextlib.closing(other.bell.waiter(other.who().id)) as waiter:
        with Unit(room, parts=True):
            sent = [room.send("builder", body) for body in ("one", "two")]
            assert [mail.body for mail in room.peek("builder")] == ["one", "two"], "it sees what it did"
            assert other.peek() == []
            assert other.bell.polls or not waiter.wait(0)
        assert [mail.id for mail in other.peek()] == [each.id for each in sent]
        assert waiter.wait(20)
    assert verify(room).problems == []


def test_a_part_that_fails_is_undone_alone(room: LocalRoom, enter: Enter):
    other = enter("builder")
    with Unit(room, parts=True):
        room.send("builder", "one", key="k")
        with pytest.raises(UnknownRecipient):
            room.send("nobody", "two")
        with pytest.raises(KeyConflict):
            room.send("builder", "another", key="k")
        with pytest.raises(Interrupted):
            begin_and_break_off(room)
        room.join("later")
        room.send("later", "three")
        room.send("builder", "four")
    assert [mail.body for mail in other.peek()] == ["one", "before", "four"]
    assert [mail.body for mail in other.peek("later")] == ["three"]
    assert "agent.route" not in [event.type for event in room.events()]
    assert verify(room).problems == []


def test_where_one_breaks_off_nothing_is_stored_of_all_that_was_done_together(room: LocalRoom):
    before = everything(room.store)
    with pytest.raises(Interrupted), Unit(room, parts=True):
        begin_and_break_off(room)
    assert everything(room.store) == before
    room.send("builder", "each is by itself again")
    assert len(room.peek("builder")) == 1


def test_when_the_store_has_given_up_what_was_done_together_no_more_is_done(room: LocalRoom):
    before = everything(room.store)
    with pytest.raises(StoreError, match="lost"), Unit(room, parts=True):
        send_on_a_disk_that_is_full(room)
    assert everything(room.store) == before
    room.send("builder", "each is by itself again")


def post_and_break_off(room: LocalRoom, like: Message) -> None:
    """A message that says more than that one, to the same."""
    party = room.known("builder").id
    with room.write() as tx:
        fresh = message_id(tx.now, tx.next_seq)
        tx.post(
            like._replace(seq=tx.next_seq, id=fresh, thread=fresh, priority=Priority.URGENT), [party],
            lingers=True,
        )  # fmt: skip
        raise Interrupted


def noted(tx: Any) -> dict[str, Any]:
    """All that can be asked of a transaction itself, but for its moment."""
    names = {*contract.ReadTx.__annotations__, *contract.WriteTx.__annotations__} - {"now"}
    return {name: set(value) if isinstance(value := getattr(tx, name), set) else value for name in names}


def test_a_part_that_fails_leaves_nothing_in_what_is_noted_of_the_whole(room: LocalRoom):
    first = room.send("builder", "one")
    with Unit(room, parts=True) as whole:
        before = noted(whole)
        with pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        with pytest.raises(Interrupted), room.write() as tx:  # noqa: PT012 - raised in the middle
            directory.join(tx, "later", room.scope, {})
            assert {name for name in before if noted(tx)[name] != before[name]} == {
                "directory", "is_part", "next_seq", "wrote"
            }  # fmt: skip
            raise Interrupted
        assert noted(whole) == before
        room.send("builder", "two")
        before = noted(whole)
        with pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        assert noted(whole) == before


def test_nobody_is_told_of_what_failed(room: LocalRoom, enter: Enter):
    other, first = enter("builder"), room.send("builder", "one")
    with contextlib.closing(other.bell.waiter(other.who().id)) as waiter:
        with Unit(room, parts=True), pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        assert other.bell.polls or not waiter.wait(0)


class Porter:
    """Claims what is new for `builder`, in the transaction that stores it."""

    def __init__(self, room: LocalRoom) -> None:
        self._stand = handout.stand(room.known("builder").id, "builder")
        self.found: list[Message | None] = []

    def take(self, tx: WriteTx) -> bool:
        self.found.append(message := handout.is_new(tx))
        if message is not None:
            handout.hand_out_new(tx, message, [handout.Want(self._stand, 1, 0)])
        return True

    def bring(self, taken: bool, *, is_stored: bool) -> None:
        assert is_stored


def test_what_failed_is_claimed_for_nobody(room: LocalRoom):
    first = room.send("builder", "one")
    room.couriers.append(porter := Porter(room))
    with Unit(room, parts=True):
        with pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        room.ack(first.id, agent="builder")
    with Unit(room, parts=True):
        room.send("builder", "two")
        with pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        room.send("builder", "three")
    assert [one and one.body for one in porter.found] == [None]
    assert [mail.body for mail in room.peek("builder")] == ["two", "three"]
    assert verify(room).problems == []


def test_what_is_all_that_was_stored_is_claimed_with_it(room: LocalRoom):
    first = room.send("builder", "one")
    room.ack(first.id, agent="builder")
    room.couriers.append(porter := Porter(room))
    with Unit(room, parts=True):
        with pytest.raises(Interrupted):
            post_and_break_off(room, first.message)
        sent = room.send("builder", "two")
    assert porter.found == [sent.message]
    assert [each.state for each in room.receipts(sent.id).deliveries] == [State.OFFERED]
    assert verify(room).problems == []


def test_a_part_has_no_parts(room: LocalRoom, enter: Enter):
    """Its end would be that of the whole."""
    other = enter("builder")
    with Unit(room, parts=True):
        room.send("builder", "one")
        with pytest.raises(RuntimeError, match="no parts of its own"), room.write() as tx:  # noqa: PT012
            tx.append("agent.route", room.known("builder").id, payload={})
            room.send("builder", "two")
        assert other.peek() == []
        room.send("builder", "three")
    assert [mail.body for mail in other.peek()] == ["one", "three"]
    assert "agent.route" not in [event.type for event in room.events()]
    assert verify(room).problems == []
