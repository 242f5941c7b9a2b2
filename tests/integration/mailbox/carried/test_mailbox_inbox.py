"""What an agent finds in its inbox, and what the room makes of what it does with it."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from postroom import host
from postroom.bridges.files import inbox
from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.outbox import Outbox
from postroom.bridges.files.shelf import MARK, Folder
from postroom.config import Settings
from postroom.errors import BridgeError
from postroom.room.local import LocalRoom
from tests.postal import Postal
from tests.process import until


def test_mail_lies_in_the_inbox_and_is_offered(room: LocalRoom, bob: Postal) -> None:
    sent = room.send("bob", "hello", requires_ack=True)
    bob.carry()
    [found] = bob.inbox()
    assert (found["id"], found["from"], found["payload"]) == (sent.id, "alice", {"text": "hello"})
    assert (found["requiresAck"], found["replyTo"], found["verified"]) == (True, None, "unverified")
    assert "mayBeRepeat" not in found
    delivery = bob.delivery(sent.id)
    assert (delivery.state.value, delivery.route) == ("offered", "files")
    assert delivery.handed_at is not None


def test_the_urgent_is_read_first(room: LocalRoom, bob: Postal) -> None:
    for priority in ("low", "normal", "urgent", "high", "normal"):
        room.send("bob", priority, priority=priority)
        bob.carry()
    assert [one["body"] for one in bob.inbox()] == ["urgent", "high", "normal", "normal", "low"]


def test_letters_of_one_priority_are_read_as_they_were_sent(room: LocalRoom, bob: Postal) -> None:
    texts = [f"letter {number}" for number in range(12)]
    for text in texts[:4]:
        room.send("bob", text)
        bob.carry()
    for text in texts[4:]:
        room.send("bob", text)
    bob.carry()
    assert [one["body"] for one in bob.inbox()] == texts


@pytest.mark.promise("mailbox-seen")
def test_what_was_put_away_is_seen_and_the_rest_is_not(room: LocalRoom, bob: Postal) -> None:
    first, second = room.send("bob", "one"), room.send("bob", "two")
    bob.carry()
    bob.put_away(bob.names("inbox")[0])
    bob.carry()
    assert (bob.state(first.id), bob.state(second.id)) == ("seen", "offered")
    assert bob.delivery(first.id).evidence == "agent"


@pytest.mark.promise("mailbox-seen")
def test_what_is_put_away_proves_nothing_that_came_after_it(room: LocalRoom, bob: Postal) -> None:
    first = room.send("bob", "one")
    bob.carry()
    bob.put_away()
    second = room.send("bob", "two")
    bob.carry()
    assert (bob.state(first.id), bob.state(second.id)) == ("seen", "offered")


def test_what_was_removed_was_taken_once_the_inbox_outlives_it(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = room.send("bob", "one")
    bob.carry()
    os.unlink(bob.path("inbox", bob.names("inbox")[0]))
    bob.carry()
    assert bob.state(sent.id) == "offered", "all of it may be going"
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    bob.carry()
    assert bob.state(sent.id) == "seen"


@pytest.mark.promise("mailbox-seen")
def test_an_inbox_that_is_gone_ends_its_context(room: LocalRoom, bob: Postal) -> None:
    sent = room.send("bob", "one")
    bob.carry()
    shutil.rmtree(bob.path("inbox"))
    bob.carry()
    assert bob.state(sent.id) == "stored"
    assert bob.carrier.observe().reason == "offline"
    os.makedirs(bob.path("inbox"))
    bob.carry()
    [again] = bob.inbox()
    assert (again["id"], again["mayBeRepeat"]) == (sent.id, True)
    assert bob.carrier.observe().reason == ""


def test_an_inbox_that_another_took_the_place_of_is_another_one(room: LocalRoom, bob: Postal) -> None:
    sent = room.send("bob", "one")
    bob.carry()
    os.rename(bob.path("inbox"), bob.path("old"))
    os.mkdir(bob.path("inbox"))
    bob.carry()
    bob.carry()
    assert bob.delivery(sent.id).shown_before
    assert [one["mayBeRepeat"] for one in bob.inbox()] == [True]


def put_back(bob: Postal) -> None:
    """An older copy takes the place of the mailbox: another directory, or the same place on the disk."""
    shutil.rmtree(bob.place)
    shutil.copytree(f"{bob.place}.copy", bob.place)


def exchange(bob: Postal) -> None:
    os.rename(bob.place, f"{bob.place}.old")
    os.rename(f"{bob.place}.copy", bob.place)


@pytest.mark.promise("mailbox-seen")
@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("change", [put_back, exchange])
def test_what_lay_in_an_inbox_that_a_copy_took_the_place_of_was_not_read(
    room: LocalRoom,
    bob: Postal,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Postal], None],
    is_down: bool,
) -> None:
    """The copy has its mark, too."""
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    shutil.copytree(bob.place, f"{bob.place}.copy")
    sent = room.send("bob", "one")
    bob.carry()
    change(bob)
    (bob.again if is_down else bob.carry)()
    bob.carry()
    assert bob.state(sent.id) == "offered"
    assert [(one["id"], one["mayBeRepeat"]) for one in bob.inbox()] == [(sent.id, True)]
    os.unlink(bob.path("inbox", bob.names("inbox")[0]))
    bob.carry()
    assert bob.state(sent.id) == "seen", "that inbox is the one that is served by now"


@pytest.mark.parametrize("is_down", [False, True])
def test_what_was_put_away_in_a_copy_of_an_inbox_is_seen(room: LocalRoom, bob: Postal, is_down: bool) -> None:
    sent, other = room.send("bob", "one"), room.send("bob", "two")
    bob.carry()
    shutil.copytree(bob.place, f"{bob.place}.copy")
    exchange(bob)
    bob.put_away(bob.names("inbox")[0])
    (bob.again if is_down else bob.carry)()
    assert (bob.state(sent.id), bob.state(other.id)) == ("seen", "offered")
    assert ["mayBeRepeat" in one for one in bob.inbox()] == [False]


@pytest.mark.parametrize("is_told", [False, True])
def test_nothing_new_is_put_into_an_inbox_that_another_took_the_place_of(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    os.rename(bob.path("inbox"), bob.path("old"))
    os.mkdir(bob.path("inbox"))
    if not is_told:
        monkeypatch.setattr(LocalShelf, "changes", lambda _: frozenset[Folder]())
    sent = room.send("bob", "one")
    bob.carrier.step()
    assert (bob.names("inbox"), bob.names("old")) == ([], [])
    assert (bob.state(sent.id), bob.delivery(sent.id).shown_before) == ("stored", False)
    bob.carry()
    assert ["mayBeRepeat" in one for one in bob.inbox()] == [False]


@pytest.mark.parametrize("is_rebooted", [False, True])
def test_an_inbox_that_goes_while_it_is_entered_is_gone_and_nothing_crashes(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, is_rebooted: bool
) -> None:
    sent = room.send("bob", "one")
    bob.carry()
    if is_rebooted:
        monkeypatch.setattr(host, "boot", lambda: "another")
    else:
        os.unlink(bob.path("inbox", MARK))
    write = LocalShelf.write

    def late(*words: Any, **options: Any) -> None:
        shutil.rmtree(bob.path("inbox"), ignore_errors=True)
        write(*words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(LocalShelf, "write", late)
        bob.again()
    assert bob.carrier.observe().reason == "offline"
    os.makedirs(bob.path("inbox", "processed"))
    bob.carry()
    assert [(one["id"], one["mayBeRepeat"]) for one in bob.inbox()] == [(sent.id, True)]


def test_who_waits_for_a_letter_gets_the_processor_before_more_is_done(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[list[str], int | None]] = []
    sent = room.send("bob", "one")
    look = lambda: found.append((bob.names("inbox"), bob.delivery(sent.id).handed_at))  # noqa: E731 - once
    monkeypatch.setattr(host, "give_way", look)
    bob.carrier.step()
    assert (bob.names("inbox"), None) in found


def test_an_inbox_that_goes_while_it_is_looked_at_was_not_read(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    sent = room.send("bob", "one")
    bob.carry()

    def go(_: object) -> None:
        os.rename(bob.path("inbox"), bob.path("old"))
        os.mkdir(bob.path("inbox"))

    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "take_in", go)
        bob.carrier.step()
    assert bob.state(sent.id) == "stored"


def test_a_mailbox_whose_tree_is_gone_is_offline_until_it_is_back(room: LocalRoom, bob: Postal) -> None:
    os.rename(bob.tree, bob.tree + ".away")
    sent = room.send("bob", "one")
    bob.carry()
    assert (bob.state(sent.id), bob.carrier.observe().reason) == ("stored", "offline")
    os.rename(bob.tree + ".away", bob.tree)
    bob.carry()
    assert bob.state(sent.id) == "offered"


def test_the_end_of_a_carrier_changes_nothing_in_the_inbox(room: LocalRoom, bob: Postal) -> None:
    first, second = room.send("bob", "one"), room.send("bob", "two")
    bob.carry()
    bob.close()
    bob.put_away(bob.names("inbox")[0])
    room.sweep()
    assert bob.state(first.id) == bob.state(second.id) == "offered"
    bob.again()
    assert (bob.state(first.id), bob.state(second.id)) == ("seen", "offered")
    assert [one["body"] for one in bob.inbox()] == ["two"]


@pytest.mark.promise("mailbox-seen")
def test_a_power_cut_does_not_look_as_if_something_was_taken(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that had been written may be missing or empty after one; nobody need have read it."""
    texts = ("gone", "emptied", "read", "read emptied")
    sent = [room.send("bob", text) for text in texts]
    bob.carry()
    gone, emptied, read, read_emptied = bob.names("inbox")
    os.unlink(bob.path("inbox", gone))
    bob.put_away(read, read_emptied)
    os.truncate(bob.path("inbox", emptied), 0)
    os.truncate(bob.path("inbox", "processed", read_emptied), 0)
    monkeypatch.setattr(host, "boot", lambda: "another")
    bob.again()
    bob.carry()
    assert [bob.state(one.id) for one in sent] == ["offered", "offered", "seen", "offered"]
    found = {one["body"]: one.get("mayBeRepeat") for one in bob.inbox()}
    assert found == {"gone": True, "emptied": None, "read emptied": True}


@pytest.mark.parametrize(("durability", "steps"), [("normal", ["rename"]), ("full", ["sync", "rename"])])
def test_in_a_room_that_is_to_survive_a_power_cut_each_letter_is_on_the_disk_first(
    durability: str, steps: list[str], home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, done, rename = Settings(sender_rate=0, durability=durability), list[str](), os.replace

    def replace(*names: str, **where: int) -> None:
        done.append("rename")
        rename(*names, **where)

    with LocalRoom(home, limits, agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        room.send("bob", "one")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: done.append("sync"))
            patch.setattr(os, "replace", replace)
            bob.carrier.step()
        assert done == steps
        assert len(bob.inbox()) == 1
        bob.close()


def test_what_is_withdrawn_is_taken_out_of_the_inbox_again(room: LocalRoom, bob: Postal) -> None:
    sent = room.send("bob", "one")
    bob.carry()
    room.withdraw(sent.id)
    bob.carry()
    assert bob.names("inbox") == bob.names("inbox", "processed") == []
    assert bob.state(sent.id) == "withdrawn"


def test_what_somebody_else_puts_into_the_inbox_is_left_alone(room: LocalRoom, bob: Postal) -> None:
    for name in ("notes.txt", "2-0000000099-00000000.json"):
        with open(bob.path("inbox", name), "w", encoding="utf-8") as file:
            file.write("{}")
    room.send("bob", "one")
    bob.carry()
    assert os.path.exists(bob.path("inbox", "notes.txt"))
    assert len(bob.names("inbox")) == 2


def test_an_inbox_that_nobody_reads_is_filled_up_to_a_bound(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_MOST", 5)
    monkeypatch.setattr(inbox, "_BATCH", 2)
    for n in range(8):
        room.send("bob", str(n))
    bob.carry()
    assert [one["body"] for one in bob.inbox()] == ["0", "1", "2", "3", "4"]
    bob.put_away(*bob.names("inbox")[:2])
    bob.carry()
    assert [one["body"] for one in bob.inbox()] == ["2", "3", "4", "5", "6"]
    bob.again()
    assert len(bob.inbox()) == 5, "whoever carries from now on"


def test_two_carriers_at_once_deliver_each_letter_once(room: LocalRoom, bob: Postal) -> None:
    other = Postal(room, bob.tree)
    for n in range(20):
        room.send("bob", str(n))
        bob.put(f"{n}.json", {"id": str(n), "to": "alice", "payload": str(n)})
        (bob if n % 2 else other).carrier.step()
    other.carry()
    bob.carry()
    assert [one["body"] for one in bob.inbox()] == [str(n) for n in range(20)]
    assert not any(one.get("mayBeRepeat") for one in bob.inbox())
    assert sorted(int(mail.body) for mail in room.peek("alice")) == list(range(20))
    other.close()


def test_a_disk_that_is_full_costs_nothing(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_LATER", 0.05)
    sent = room.send("bob", "one")
    with monkeypatch.context() as patch:
        patch.setattr(bob.shelf, "write", full)
        bob.carry()
        assert bob.state(sent.id) == "stored"
        assert "no space left" in bob.carrier.observe().words
    until(lambda: bob.carry() is not None and bob.inbox())
    assert "mayBeRepeat" not in bob.inbox()[0], "nothing of it had been written"
    assert "no space left" not in bob.carrier.observe().words


def full(*_: object, **__: object) -> None:
    raise BridgeError("no space left on device")


def test_while_an_inbox_cannot_be_written_nothing_is_claimed_for_it(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_LATER", 0.01)
    tries: list[str] = []

    def count(_: Folder, name: str, *__: object, **___: object) -> None:
        tries.append(name)
        full()

    sent = room.send("bob", "one")
    monkeypatch.setattr(bob.shelf, "write", count)
    bob.carrier.step()
    until(lambda: bob.carrier.step() is not None and len(tries) > 3)
    assert bob.delivery(sent.id).attempts == 1
    assert set(tries[1:]) == {".trial"}


def test_a_failure_to_write_is_waited_out_whatever_rings(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.send("bob", "one")
    tries: list[object] = []
    monkeypatch.setattr(bob.shelf, "write", lambda *given, **__: (tries.append(given), full()))
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "out"})
    for _ in range(20):
        assert bob.carrier.step() != 0.0
    assert len(tries) == 1
    assert "no space left" in bob.carrier.observe().words
    assert [mail.body for mail in room.peek("alice")] == ["out"], "what it sends need not wait for that"


@pytest.mark.promise("mailbox-seen")
def test_a_carrier_follows_when_another_begins_the_next_context(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    other = Carrier(room, bob.id, LocalShelf(bob.tree, "bob"))
    room.send("bob", "first")
    bob.carry()
    other.step()
    shutil.rmtree(bob.path("inbox"))
    other.step()
    os.makedirs(bob.path("inbox", "processed"))
    while other.step() == 0.0:
        pass
    second = room.send("bob", "second")
    bob.carry()
    bob.close()
    bob.put_away()
    while other.step() == 0.0:
        pass
    assert bob.state(second.id) == "seen"
    other.close()


def test_what_was_put_there_in_a_context_that_is_over_comes_again(room: LocalRoom, bob: Postal) -> None:
    other = Carrier(room, bob.id, LocalShelf(bob.tree, "bob"))
    other.step()
    sent = room.send("bob", "one")
    agent = room.known("bob")

    def move_on(step: str) -> None:
        if step == "inbox-claimed":
            other._inbox._anew(other._inbox._session)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inbox, "step", move_on)
        bob.carry()
    [lies] = room.store.look().offered(agent.id, inbox.HOLDER)
    assert lies.message.id == sent.id
    assert lies.delivery.context == inbox.context(room.store.look().sessions(agent.id)[0])
    assert bob.inbox()[0]["mayBeRepeat"]
    other.close()


def test_a_program_of_the_agents_own_that_listens_has_its_mail(room: LocalRoom, bob: Postal) -> None:
    listening = room.listen("bob", timeout=0)
    sent = room.send("bob", "one")
    bob.carry()
    assert bob.names("inbox") == []
    assert [mail.id for mail in listening] == [sent.id]


def test_changes_are_noticed_without_looking(room: LocalRoom, bob: Postal) -> None:
    assert not bob.shelf.is_blind
    assert bob.shelf.changes() == frozenset()
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "x"})
    assert bob.shelf.changes() == {Folder.OUTBOX}
    sent = room.send("bob", "one")
    bob.carry()
    assert bob.shelf.changes() == frozenset(), "what we do there ourselves is no news"
    bob.put_away()
    assert bob.shelf.changes() == {Folder.INBOX}
    with open(bob.path("outbox", "c.part"), "w", encoding="utf-8"):
        shutil.rmtree(bob.path("outbox"))
        os.mkdir(bob.path("outbox"))
        assert Folder.OUTBOX in bob.shelf.changes(), "while a file of the one that was removed is open"
    bob.put("b.json", {"id": "2", "to": "alice", "payload": "y"})
    assert Folder.OUTBOX in bob.shelf.changes()
    until(lambda: (bob.carry(), bob.state(sent.id))[1] == "seen")


def test_the_mark_of_an_inbox_is_none_of_the_agents_business(room: LocalRoom, bob: Postal) -> None:
    """Whatever it does to it: a link, a directory, nothing at all."""
    sent = room.send("bob", "one")
    bob.carry()
    os.unlink(bob.path("inbox", MARK))
    os.symlink("/etc/passwd", bob.path("inbox", MARK))
    bob.again()
    assert bob.state(sent.id) in ("offered", "stored")
    assert not os.path.islink(bob.path("inbox", MARK))
    assert [one["body"] for one in bob.inbox()] == ["one"]
