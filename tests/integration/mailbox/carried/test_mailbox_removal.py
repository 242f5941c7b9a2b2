"""What becomes of the letters of a mailbox that is served no longer, whoever was in the midst of what."""

import os
import shutil
import signal

import pytest

from postroom import host, label
from postroom.bridges.files import tree
from postroom.bridges.files.hold import Here, Holds
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.bridges.files.tree import Tree
from postroom.bridges.manifest import Manifest
from postroom.errors import BridgeError, MailboxUnreachable
from postroom.room.local import LocalRoom
from postroom.room.sweep import reap
from tests.postal import UNLIMITED, Postal


def served(bob: Postal) -> Manifest:
    return tree.add(bob.room, bob.tree, "bob", bob.room.scope)[0]


def is_labelled(bob: Postal, ref: str) -> tuple[str, bool]:
    """Whether it waits again, and whoever is shown it next is told."""
    return bob.state(ref), bob.delivery(ref).shown_before


def die_at(bob: Postal, step: str) -> None:
    """Another process carries, and is killed there."""
    if (pid := os.fork()) == 0:
        label.armed = True
        label.here = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == step else None
        with LocalRoom(bob.room.home, UNLIMITED, agent="alice", project="p") as room:
            Postal(room, bob.tree)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("step", ["inbox-claimed", "inbox-written", "inbox-handed"])
def test_a_letter_of_a_carrier_that_was_killed_is_taken_back_too(
    room: LocalRoom, bob: Postal, step: str
) -> None:
    manifest, ref = served(bob), room.send("bob", "one").id
    die_at(bob, step)
    tree.release(room, manifest)
    assert is_labelled(bob, ref) == ("stored", True)
    assert bob.names("inbox") == []


def test_what_lay_in_an_inbox_that_a_copy_took_the_place_of_waits_again(room: LocalRoom, bob: Postal) -> None:
    manifest = served(bob)
    shutil.copytree(bob.place, f"{bob.place}.copy")
    ref = room.send("bob", "one").id
    bob.carry()
    os.rename(bob.place, f"{bob.place}.old")
    os.rename(f"{bob.place}.copy", bob.place)
    tree.release(room, manifest)
    assert is_labelled(bob, ref) == ("stored", True)
    assert bob.delivery(ref).reason != "uncertain"


def test_a_letter_that_waits_in_the_room_by_now_does_not_stay_in_the_inbox(
    room: LocalRoom, bob: Postal
) -> None:
    manifest, ref = served(bob), room.send("bob", "one").id
    die_at(bob, "inbox-written")
    with room.write() as tx:
        assert reap(tx, bob.id, room.settings) == 1
    tree.release(room, manifest)
    assert is_labelled(bob, ref) == ("stored", True)
    assert bob.names("inbox") == []


@pytest.mark.parametrize("has_folder", [False, True])
def test_what_went_with_its_inbox_was_not_read_whatever_is_in_its_place(
    room: LocalRoom, bob: Postal, has_folder: bool
) -> None:
    manifest, lost, read = served(bob), room.send("bob", "one").id, room.send("bob", "two").id
    bob.carry()
    os.rename(bob.path("inbox"), bob.path("old"))
    os.mkdir(bob.path("inbox"))
    if has_folder:
        os.mkdir(bob.path("inbox", "processed"))
        name = bob.names("old")[1]
        os.rename(bob.path("old", name), bob.path("inbox", "processed", name))
    tree.release(room, manifest)
    assert (is_labelled(bob, lost), bob.delivery(lost).reason) == (("stored", True), None)
    assert bob.state(read) == ("seen" if has_folder else "stored")


def test_one_that_cannot_be_removed_keeps_no_other_in_the_inbox(room: LocalRoom, bob: Postal) -> None:
    manifest, refs = served(bob), [room.send("bob", f"{n}").id for n in range(3)]
    bob.carry()
    first = bob.path("inbox", bob.names("inbox")[0])
    os.unlink(first)
    os.mkdir(first)
    tree.release(room, manifest)
    assert [is_labelled(bob, ref) for ref in refs] == [("stored", True)] * 3
    assert bob.names("inbox") == [os.path.basename(first)]


def test_a_store_that_goes_away_meanwhile_is_not_asked_for_every_letter(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, refs = served(bob), [room.send("bob", f"{n}").id for n in range(3)]
    bob.carry()
    asked: list[str] = []

    def remove(_: object, folder: Folder, name: str) -> None:
        asked.append(name)
        raise MailboxUnreachable

    monkeypatch.setattr(LocalShelf, "remove", remove)
    tree.release(room, manifest)
    assert [is_labelled(bob, ref) for ref in refs] == [("stored", True)] * 3
    assert len([name for name in asked if name.endswith(".json")]) == 1


def test_however_often_a_mailbox_is_removed_its_unread_letters_live(room: LocalRoom, bob: Postal) -> None:
    ref = room.send("bob", "one").id
    for _ in range(room.settings.max_unproven + 1):
        manifest = served(bob)
        bob.again()
        assert bob.state(ref) == "offered"
        tree.release(room, manifest)
        assert is_labelled(bob, ref) == ("stored", True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, BridgeError])
def test_nothing_stays_offered_where_nobody_carries_any_more(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    manifest, ref = served(bob), room.send("bob", "one").id
    bob.carry()

    def names(*_: object) -> list[str]:
        raise error

    monkeypatch.setattr(LocalShelf, "names", names)
    try:
        tree.release(room, manifest)
    except KeyboardInterrupt:
        pass
    assert (bob.state(ref), bob.delivery(ref).reason) == ("stored", "uncertain")


def test_one_that_was_removed_by_its_name_does_not_come_back_with_its_tree(
    room: LocalRoom, bob: Postal
) -> None:
    with room.write() as tx:
        whole = Tree(bob.tree, room.scope.ensure(tx))
    tree.put(room, whole)
    manifest = served(bob)
    assert tree.remove(room, bob.tree)
    tree.release(room, manifest)
    tree.put(room, whole)
    [manifest] = tree.appear(room, whole)
    tree.release(room, manifest)
    assert tree.appear(room, whole) == []


def test_the_programs_of_a_tree_that_has_a_room_in_it_find_it_as_it_was(room: LocalRoom, bob: Postal) -> None:
    manifest = served(bob)
    os.makedirs(os.path.join(bob.tree, ".postroom", "room"))
    tree.release(room, manifest)
    assert os.listdir(os.path.join(bob.tree, ".postroom")) == ["room"]
    assert os.path.exists(bob.path("inbox", ".postroom"))


def test_a_program_that_receives_keeps_what_it_holds(room: LocalRoom, bob: Postal) -> None:
    manifest = served(bob)
    holds = Holds(Here(bob.place))
    holds.take([], 1)
    tree.release(room, manifest)
    assert os.listdir(bob.path("inbox", ".held"))
    holds.close()
    tree.clear(room, bob.tree, set())
    assert os.listdir(bob.path("inbox")) == ["processed"]


def test_several_who_add_at_once_do_not_forget_each_others_mailboxes(room: LocalRoom, bob: Postal) -> None:
    wanted = [[f"agent-{adder}-{n}" for n in range(20)] for adder in range(3)]
    adders = [_adding(room.home, bob.tree, names) for names in wanted]
    assert [os.waitpid(pid, 0)[1] for pid in adders] == [0, 0, 0]
    kept = tree._before(room.home, bob.tree)
    assert sorted(kept) == sorted(name for names in wanted for name in names)


def _adding(home: str, place: str, names: list[str]) -> int:
    """A process that serves mailboxes in a tree."""
    if (pid := os.fork()) == 0:
        with LocalRoom(home, UNLIMITED, agent="alice", project="p") as room:
            for name in names:
                tree.add(room, place, name, room.scope)
        os._exit(0)
    return pid


# what was being written when somebody was killed


@pytest.mark.parametrize("folder", list(Folder))
def test_a_draft_of_who_was_killed_goes_and_one_that_is_being_written_stays(
    bob: Postal, folder: Folder
) -> None:
    os.makedirs(bob.path(folder), exist_ok=True)
    left, new, written = (bob.path(folder, f".{n}.0123456789ab") for n in (1, 2, os.getpid()))
    for path in (left, new, written):
        with open(path, "wb"):
            pass
    for path in (left, written):
        os.utime(path, (0, 0))
    with open(written, "rb+") as file:
        assert host.lock(file.fileno())
        bob.again()
    assert [os.path.exists(path) for path in (left, new, written)] == [False, True, True]


def test_nothing_goes_that_only_looks_like_a_draft(bob: Postal) -> None:
    names = [".1.json", ".1.0123456789AB", "1.0123456789ab", ".notes", ".1.0123456789ab"]
    for name in names[:-1]:
        with open(bob.path("outbox", name), "wb"):
            pass
        os.utime(bob.path("outbox", name), (0, 0))
    os.mkdir(bob.path("outbox", names[-1]))
    bob.again()
    assert {*names} <= {*os.listdir(bob.path("outbox"))}


def test_who_is_killed_while_it_writes_a_letter_leaves_nothing_for_ever(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = room.send("bob", "one").id
    if (pid := os.fork()) == 0:
        real = os.replace
        die = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731 - once
        os.replace = lambda *names, **where: die() if where else real(*names)
        with LocalRoom(room.home, UNLIMITED, agent="alice", project="p") as again:
            Postal(again, bob.tree)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    [draft] = (name for name in os.listdir(bob.path("outbox", ".taking")) if name.startswith(f".{pid}."))
    os.utime(bob.path("outbox", ".taking", draft), (0, 0))
    with room.write() as tx:
        reap(tx, bob.id, room.settings)
    bob.again()
    assert draft not in os.listdir(bob.path("outbox", ".taking"))
    assert [letter["payload"]["text"] for letter in bob.inbox()] == ["one"]
    assert bob.state(ref) == "offered"
