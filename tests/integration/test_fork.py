"""One room object, used by threads and by forked processes: nothing lost, nothing shared that must not be."""

import os
import sqlite3
import threading
from contextlib import closing

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.process import Child, until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="tells of fork")


@pytest.mark.promise("fork")
def test_a_room_used_before_a_fork_works_in_parent_and_children_at_once(room: LocalRoom, home: str):
    with Child("family", home, 5, 12) as child:
        members = child.hear(60)
    assert len({member["who"] for member in members}) == 6
    sent = [id for member in members for id in member["sent"]]
    taken = [id for member in members for id, _ in member["taken"]]
    assert len(sent) == len(set(sent)) == 72
    assert len(taken) == len(set(taken)), "a message was taken twice"
    left = [mail.id for mail in room.peek("builder", limit=500)]
    assert set(taken) | set(left) == set(sent)
    assert not any(labelled for member in members for _, labelled in member["taken"])
    assert {room.receipts(id).deliveries[0].state for id in taken} <= {State.SEEN}
    with closing(sqlite3.connect(os.path.join(home, "room.db"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.promise("fork")
def test_a_forked_child_can_neither_use_nor_end_its_parents_listening(room: LocalRoom, home: str):
    room.send("builder", "one")
    with Child("fork_while_listening", home) as child:
        said = child.hear()
        assert said["first"] == "one"
        assert said["child"] == ["stale_claim", "mailbox_leased", "mailbox_leased"]
        assert child.hear() == "two"
        assert child.hear() == "seen"


@pytest.mark.promise("fork")
def test_a_forked_child_does_not_steal_its_parents_ring(room: LocalRoom, home: str):
    with Child("fork_while_waiting", home) as child:
        assert child.hear() == "waiting"
        builder = room.who("builder").id
        until(lambda: room.bell.waiting(builder) == 2)
        room.send("builder", "for both")
        assert child.hear() == {"parent": True, "child": ["for both"]}


@pytest.mark.promise("fork")
def test_a_child_born_inside_a_transaction_does_not_touch_it(room: LocalRoom, home: str):
    with Child("fork_in_a_transaction", home) as child:
        said = child.hear()
    assert said["during"] == "store_busy"
    assert said["left"]
    assert [mail.id for mail in room.peek("builder")] == [said["after"]]


@pytest.mark.promise("threads")
def test_one_room_serves_eight_threads_at_once(room: LocalRoom):
    barrier = threading.Barrier(8)
    sent: list[str] = []
    taken: list[str] = []
    failures: list[BaseException] = []

    def live(n: int) -> None:
        try:
            barrier.wait(20)
            for i in range(15):
                sent.append(room.send("builder", f"{n} {i}").id)
                mail = room.take("builder")
                if mail is not None:
                    assert not mail.shown_before
                    taken.append(mail.id)
                    (room.settle if i % 2 else room.ack)(mail)
                room.peek("builder", limit=5)
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=live, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(sent) == len(set(sent)) == 120
    assert len(taken) == len(set(taken))
    assert set(taken) | {mail.id for mail in room.peek("builder", limit=500)} == set(sent)


def test_threads_of_one_process_take_different_messages(room: LocalRoom):
    """Claims are a process's, but a message is still handed out once."""
    for n in range(40):
        room.send("builder", str(n))
    taken: list[str] = []

    def live() -> None:
        while (mail := room.take("builder")) is not None:
            taken.append(mail.body)

    threads = [threading.Thread(target=live) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(taken, key=int) == [str(n) for n in range(40)]
