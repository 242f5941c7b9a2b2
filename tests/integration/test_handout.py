"""Handing out: many mailboxes in one transaction, and what becomes of what was never proven."""

from collections.abc import Iterable
from typing import Any

import pytest

from postroom.errors import InvalidValue
from postroom.model.ladder import Cause, Evidence, State
from postroom.model.message import Mail
from postroom.room import digest, handout, journal, replay
from postroom.room.handout import Cursor, Proof, Return, Stand, Want, claim_of, cursor, resume, stand
from postroom.room.local import LocalRoom


def hand_out(
    room: LocalRoom, wants: list[Want], proofs: Iterable[Proof] = (), returns: Iterable[Return] = ()
) -> list[list[Mail]]:
    with room.write() as tx:
        handout.settle(tx, room.settings, proofs, returns)
        return [handout.hand_out(tx, room, want) for want in wants]


def test_all_who_are_rung_get_their_mail_in_one_transaction(room: LocalRoom):
    agents = [room.join(f"a{n}") for n in range(20)]
    room.send("@all", "to all", confirm=True)
    found = hand_out(room, [Want(stand(one.id, one.called), 5, 0) for one in agents])
    assert [len(mails) for mails in found] == [1] * 20
    offered = [e.timestamp for e in room.events() if e.type == "delivery.offered"]
    assert len(offered) == 20
    assert len(set(offered)) == 1  # one transaction has one time


@pytest.mark.promise("relay-unproven")
@pytest.mark.parametrize("handed", [True, False])
def test_what_comes_back_is_labelled_only_if_it_had_been_handed_over(room: LocalRoom, handed: bool):
    builder = room.who("builder")
    sent = room.send("builder", "x")
    [[mail]] = hand_out(room, [Want(stand(builder.id, builder.called), 1, 0)])
    hand_out(room, [], [], [Return(claim_of(mail), handed=handed)])
    [again] = room.peek("builder")
    assert (again.shown_before, again.delivery.unproven) == (handed, int(handed))
    [attempt] = room.receipts(sent.id).attempts
    assert attempt.cause is (Cause.LET_GO if handed else None)


def test_a_claim_that_was_settled_otherwise_is_left_as_it_is(room: LocalRoom):
    builder = room.who("builder")
    sent = room.send("builder", "x")
    [[mail]] = hand_out(room, [Want(stand(builder.id, builder.called), 1, 0)])
    room.ack(sent.id, agent="builder")
    hand_out(room, [], [Proof(claim_of(mail), Evidence.BOUNDARY)], [Return(claim_of(mail), handed=True)])
    assert room.receipts(sent.id).deliveries[0].state is State.ACKED


@pytest.mark.promise("relay-resume")
def test_a_cursor_counts_for_its_own_stand_and_mailbox_alone(room: LocalRoom):
    builder, planner = room.who("builder"), room.who("planner")
    at = stand(builder.id, builder.called)
    room.send("builder", "one")
    room.send("builder", "two")
    hand_out(room, [Want(at, 2, 0)])
    assert resume(room, planner.id, Cursor(at.id, 2)) == 0
    assert resume(room, builder.id, Cursor("another", 2)) == 0
    assert resume(room, builder.id, Cursor(at.id, 1)) == 1
    [left] = room.peek("builder")
    assert (left.body, left.shown_before) == ("two", True)
    assert [one.cause for one in room.receipts(left.id).attempts] == [Cause.LET_GO]
    assert resume(room, builder.id, Cursor(at.id, 2)) == 1
    assert room.peek("builder") == []


@pytest.mark.parametrize("text", ["", ".", "1", "x", "x.", "x.y", "../x.1", "x.-1", "x" * 50 + ".1"])
def test_what_is_no_cursor_is_refused(text: str):
    with pytest.raises(InvalidValue):
        cursor(text)


class Porter:
    """Claims what is new for those who stand there, in the transaction that stores it."""

    def __init__(self, *stands: Stand) -> None:
        self.stands = {one.party: one for one in stands}
        self.given: list[Mail | None] = []

    def take(self, tx: Any) -> list[Mail | None]:
        message = handout.is_new(tx)
        assert message is not None
        wants = [Want(one, 1, len(self.given)) for party, one in self.stands.items() if party in tx.stirred]
        self.given += (found := handout.hand_out_new(tx, message, wants))
        return found

    def bring(self, taken: list[Mail | None], *, is_stored: bool) -> None:
        assert is_stored


@pytest.mark.parametrize("connected", [["a0"], ["a0", "a1", "a2"], ["a0", "a1", "a2", "a3"]])
def test_what_is_offered_as_it_is_stored_is_as_if_it_had_been_offered_then(
    home: str, room: LocalRoom, connected: list[str]
):
    agents = {name: room.join(name) for name in ("a0", "a1", "a2", "a3")}
    room.send("a2", "before")
    porter = Porter(*(stand(agents[name].id, name) for name in connected))
    room.couriers.append(porter)
    sent = [
        room.send("a0", "to one"), room.send("@all", "to all", confirm=True), room.send("a3", "to another")
    ]  # fmt: skip
    claimed = {(one.delivery.seq, one.delivery.recipient_id): one.delivery for one in porter.given if one}
    stored = [delivery for one in sent for delivery in room.receipts(one.id).deliveries]
    assert [one for one in stored if one.state is State.OFFERED] == [
        claimed[one.seq, one.recipient_id] for one in stored if (one.seq, one.recipient_id) in claimed
    ]
    others = {agents["a2"].id} | {agent.id for name, agent in agents.items() if name not in connected}
    assert {one.recipient_id for one in stored if one.state is State.STORED} >= others
    journal.sync(room)
    done = replay.replay(journal.directory(room), f"{home}-rebuilt")
    assert done.digest == digest.digest(room.store.whole())
