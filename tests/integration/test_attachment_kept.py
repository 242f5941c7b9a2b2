"""How long an attachment stays: as long as a message names it, whoever is killed meanwhile."""

import os
import re
import stat
from contextlib import suppress

import pytest

from postroom import label
from postroom.config import Settings
from postroom.room import blob, content, journal, keep, replay, snapshot
from postroom.room.backup import backup, restore
from postroom.room.digest import digest
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.attached import MakeFile, files, sha, some
from tests.conftest import OpenRoom
from tests.room_activity import Steps, occurrences, reopened

pytestmark = pytest.mark.timeout(60)


@pytest.mark.promise("attachments")
def test_verify_tells_of_each_attachment_that_is_not_as_it_was_sent(room: LocalRoom) -> None:
    gone, short, other = some(room, ("gone", b"1"), ("short", b"22"), ("other", b"333"))
    assert verify(room).problems == []
    os.unlink(gone.path)
    os.truncate(short.path, 1)
    with open(other.path, "wb") as file:
        file.write(b"444")
    found = verify(room).problems
    assert len(found) == 3
    assert re.search(r"'gone' of message \S+ is not there", found[0])
    assert "has 1 bytes instead of 2" in found[1]
    assert "is not what was sent" in found[2]
    assert len(verify(room, deep=False).problems) == 2, "a quick look does not read the files"
    some(room, ("gone", b"1"), ("short", b"22"))
    assert len(verify(room).problems) == 1, "what is sent again mends what was lost"


@pytest.mark.promise("attachments")
def test_a_file_goes_with_the_last_message_that_names_it(room: LocalRoom, home: str) -> None:
    first = room.send("builder", "one", attachments=[b"shared", b"only here"])
    second = room.send("builder", "two", attachments=[b"shared"])
    for sent in (first, second):
        room.ack(sent.id, agent="builder")
    assert keep.redact(room, first.id).elsewhere, "the shared one is still in the room"
    assert files(home) == [sha(b"shared")]
    room.store.clock = lambda clock=room.store.clock: clock() + 1000
    keep.prune(room, room.store.clock())
    assert files(home) == []
    assert os.listdir(os.path.join(home, "blobs")) == []
    assert verify(room).problems == []


@pytest.mark.promise("keep")
def test_redaction_leaves_no_trace_of_an_attachment(room: LocalRoom, home: str) -> None:
    secret = b"the secret of all secrets, in full"
    sent = room.send("builder", "see", attachments=[("secret-name-of-a-file.txt", secret)])
    journal.sync(room)
    assert occurrences(home, secret)
    assert occurrences(home, b"secret-name-of-a-file")
    done = keep.redact(room, sent.id)
    assert not done.elsewhere
    assert occurrences(home, secret) == []
    assert occurrences(home, b"secret-name-of-a-file") == []
    assert room.attachments(sent.id) == []
    assert verify(room).problems == []


def test_the_files_of_a_deleted_project_and_of_a_purged_message_go(room: LocalRoom, home: str) -> None:
    room.join("brief/one")
    room.send("brief/one", "x", sender="brief/one", attachments=[b"project"])
    dead = room.send("builder", "x", attachments=[b"dead"])
    kept = room.send("builder", "x", attachments=[b"kept"])
    room.delete_project("brief")
    assert files(home) == sorted([sha(b"dead"), sha(b"kept")])
    while not room.dead():
        room.take("builder", id=dead.id, handed=False)
        room.store.clock = lambda clock=room.store.clock: clock() + 60_000
        room.sweep()
    room.purge(dead.id)
    assert files(home) == [sha(b"kept")]
    assert [content.read(a) for a in room.attachments(kept.id)] == [b"kept"]


@pytest.mark.promise("attachments")
def test_a_backup_holds_the_attachments_and_restoring_it_brings_them_back(
    room: LocalRoom, home: str, open_room: OpenRoom, tmp_path: os.PathLike[str]
) -> None:
    copy, large = os.path.join(tmp_path, "copy.db"), os.urandom(blob.CHUNK * 2 + 5)
    old = room.send("builder", "one", attachments=[("a", large), ("b", b"shared")])
    backup(room, copy)
    later = room.send("builder", "two", attachments=[b"later", b"shared"])
    keep.redact(room, old.id)
    done = restore(room, copy)
    assert [content.read(a) for a in room.attachments(old.id)] == [large, b"shared"]
    assert files(home) == sorted([sha(large), sha(b"shared")])
    assert verify(room).problems == []
    restore(room, os.path.join(done.kept, "room.db"))
    assert [content.read(a) for a in room.attachments(later.id)] == [b"later", b"shared"]
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert [content.read(a) for a in elsewhere.attachments(old.id)] == [large, b"shared"]
    assert verify(elsewhere).problems == []


def test_a_backup_of_a_room_that_lost_a_file_holds_the_rest(
    room: LocalRoom, home: str, open_room: OpenRoom, tmp_path: os.PathLike[str]
) -> None:
    first, second = some(room, ("a", b"lost"), ("b", b"there"))
    os.unlink(first.path)
    copy = os.path.join(tmp_path, "copy.db")
    backup(room, copy)
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert files(f"{home}-2") == [second.sha256]


def test_a_backup_begins_anew_when_a_message_goes_with_its_file_meanwhile(
    room: LocalRoom,
    open_room: OpenRoom,
    home: str,
    tmp_path: os.PathLike[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = room.send("builder", "one", attachments=[b"kept"])
    gone = room.send("builder", "two", attachments=[b"gone"])
    other, copies = open_room("planner"), list[str]()

    def meanwhile(step: str) -> None:
        if step == "backup-copied":
            copies.append(step)
            if len(copies) == 1:
                keep.redact(other, gone.id)

    monkeypatch.setattr(label, "here", meanwhile)
    copy = os.path.join(tmp_path, "copy.db")
    backup(room, copy)
    assert len(copies) == 2
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert [content.read(a) for a in elsewhere.attachments(kept.id)] == [b"kept"]
    assert verify(elsewhere).problems == []


@pytest.mark.promise("replay")
def test_a_replay_brings_the_attachments_that_lie_beside_the_journals(room: LocalRoom, home: str) -> None:
    sent = room.send("builder", "one", attachments=[("a", b"content")])
    journal.sync(room)
    done = replay.replay(journal.directory(room), f"{home}-2")
    assert done.digest == digest(room.store.whole())
    with reopened(f"{home}-2") as again:
        assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"]
        assert verify(again).problems == []


def test_a_room_lost_but_for_its_journals_and_files_is_rebuilt_in_its_place(
    room: LocalRoom, home: str
) -> None:
    sent = room.send("builder", "one", attachments=[("a", b"content")])
    journal.sync(room)
    room.close()
    for name in ("room.db", "room.db-wal", "room.db-shm"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(home, name))
    replay.replay(os.path.join(home, "events"), home)
    with reopened(home) as again:
        assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"]
        assert verify(again).problems == []


# crashes and races


@pytest.mark.promise("crash")
def test_who_is_killed_while_attaching_loses_nothing_and_leaves_nothing_for_long(
    room: LocalRoom, home: str, make: MakeFile
) -> None:
    path = make("a.txt", b"content")
    earlier = room.send("builder", "earlier", attachments=[b"earlier"])
    room.close()
    places = Steps(home, "attach", path).killed_at_each()
    assert {place.partition(":")[0] for place in places} >= {"blob-staged", "blob-placed"}
    for place, copy in places.items():
        with reopened(copy) as again:
            assert verify(again).problems == [], place
            stored = [mail for mail in again.peek("builder") if mail.body == "attached"]
            for mail in stored:
                assert [content.read(a) for a in again.attachments(mail.id)] == [b"content", b"more"], place
            keep.prune(again, 0)
            wanted = {sha(b"earlier")} | ({sha(b"content"), sha(b"more")} if stored else set())
            assert set(files(copy)) == wanted, place
            assert [content.read(a) for a in again.attachments(earlier.id)] == [b"earlier"], place
            sent = again.send("builder", "again", attachments=[path])
            assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"], place


@pytest.mark.promise("crash")
def test_a_redaction_killed_at_any_step_is_finished_by_the_next(room: LocalRoom, home: str) -> None:
    sent = room.send("builder", "x", attachments=[b"the secret, whole", b"and more of it"])
    room.close()
    for place, copy in Steps(home, "redact", sent.id).killed_at_each().items():
        with reopened(copy) as again:
            assert verify(again).problems == [], place
            keep.redact(again, sent.id)
            assert files(copy) == [], place


def test_a_sweep_takes_nothing_that_a_sender_is_about_to_name(
    room: LocalRoom, open_room: OpenRoom, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is there, and nobody names it, when the sender has taken it in: then another sweeps."""
    old = room.send("builder", "old", attachments=[b"content"])
    other, swept = open_room("planner"), list[int]()

    def meanwhile(step: str) -> None:
        if step == "blob-staged":
            keep.redact(other, old.id)
            swept.append(blob.sweep(other))

    monkeypatch.setattr(label, "here", meanwhile)
    sent = room.send("builder", "new", attachments=[b"content"])
    assert swept == [0]
    assert [content.read(a) for a in room.attachments(sent.id)] == [b"content"]
    assert files(home) == [sha(b"content")]


@pytest.mark.promise("durability")
def test_a_room_set_to_full_waits_for_the_disk_before_it_names_a_file(
    open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = open_room("planner", settings=Settings(durability="full"))
    room.join("planner")
    synced, real = list[int](), os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(stat.S_IFMT(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    room.send("planner", "see", attachments=[b"content"])
    named, whole = stat.S_IFDIR, stat.S_IFREG
    assert synced[:4] == [named, whole, named, named]  # `blobs`, the content, its name, its directory's name
    synced.clear()
    room.send("planner", "see", attachments=[b"content"])
    assert synced.count(named) == 0, "it is there already"


@pytest.mark.promise("crash")
def test_a_restore_killed_at_any_step_has_the_files_of_the_room_it_left(
    room: LocalRoom, home: str, tmp_path: os.PathLike[str]
) -> None:
    copy = os.path.join(tmp_path, "copy.db")
    old = room.send("builder", "old", attachments=[b"old"])
    backup(room, copy)
    keep.redact(room, old.id)
    room.send("builder", "new", attachments=[b"new"])
    room.close()
    for place, there in Steps(home, "restore", copy).killed_at_each().items():
        with reopened(there) as again:
            snapshot.sync(again)  # the journals may have been put aside, and nothing else done
            assert verify(again).problems == [], place
            found = [content.read(a) for mail in again.peek("builder") for a in again.attachments(mail.id)]
            assert found in ([b"new"], [b"old"]), place
            keep.prune(again, 0)
            assert files(there) == [sha(found[0])], place
