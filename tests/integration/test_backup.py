"""Backup and restore: a copy made under load is whole, and what it replaces is kept."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import cast

import pytest

from postroom import label
from postroom.errors import NoRoom, Refused, StaleClaim, StoreCorrupt, StoreReadOnly, UnknownMessage
from postroom.room import journal, keep, replay
from postroom.room.backup import COPIES, Restored, backup, restore
from postroom.room.digest import digest
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import START
from tests.conftest import OpenRoom
from tests.process import until
from tests.room_activity import Steps, busy_room, reopened

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def copy(tmp_path: os.PathLike[str]) -> str:
    return os.path.join(tmp_path, "copy.db")


def state(room: LocalRoom) -> str:
    return digest(room.store.whole())


def opened(path: str, home: str) -> LocalRoom:
    """The room that a backup holds, put into a home by hand."""
    os.mkdir(home)
    shutil.copy(path, os.path.join(home, "room.db"))
    return reopened(home)


def test_a_backup_holds_the_room(home: str, copy: str) -> None:
    with busy_room(home) as room:
        done = backup(room, copy)
        assert done.last == int(room.store.look().last_cursor())
        assert done.size == os.path.getsize(copy)
        with opened(copy, f"{home}-2") as another:
            assert state(another) == state(room)
            assert verify(another).problems == []


def test_a_backup_is_for_its_owner_only_and_alone(home: str, copy: str) -> None:
    with busy_room(home, steps=20) as room:
        backup(room, copy)
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    assert [name for name in os.listdir(os.path.dirname(copy)) if "copy" in name] == ["copy.db"]


def test_a_backup_does_not_overwrite_unless_told_to(home: str, copy: str) -> None:
    with open(copy, "w") as file:
        file.write("precious")
    with busy_room(home, steps=20) as room:
        with pytest.raises(Refused):
            backup(room, copy)
        with open(copy) as file:
            assert file.read() == "precious"
        backup(room, copy, force=True)
        with opened(copy, f"{home}-2") as another:
            assert state(another) == state(room)


def test_a_place_that_cannot_be_written_is_a_clear_error(room: LocalRoom, home: str) -> None:
    with pytest.raises(StoreReadOnly, match="No such file"):
        backup(room, os.path.join(home, "nowhere", "copy.db"))


def test_a_backup_made_while_others_write_is_whole_and_holds_nobody_up(
    open_room: OpenRoom, room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    enough = Event()

    def write(name: str) -> int:
        sent = 0
        with LocalRoom(room.home, room.settings, agent=name, project="p") as mine:
            while not enough.is_set():
                mine.send("builder", "x" * 2000)
                sent += 1
        return sent

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, name) for name in ("planner", "reviewer")]
        try:
            sizes = [backup(room, os.path.join(tmp_path, f"{n}.db")).last for n in range(5)]
        finally:
            enough.set()
        assert all(writer.result() > 0 for writer in writers)
    assert sizes == sorted(sizes)
    for n, last in enumerate(sizes):
        with opened(os.path.join(tmp_path, f"{n}.db"), os.path.join(tmp_path, f"home-{n}")) as another:
            assert int(another.store.look().last_cursor()) == last
            assert verify(another).problems == []


def test_a_backup_that_was_killed_leaves_nothing_at_its_path(home: str) -> None:
    busy_room(home, steps=20).close()
    for place, there in Steps(home, "backup", "HOME/copy.db").killed_at_each().items():
        copy = os.path.join(there, "copy.db")
        assert not os.path.exists(copy), place
        with reopened(there) as room:
            backup(room, copy)
        assert [name for name in os.listdir(there) if "copy" in name] == ["copy.db"]


def test_a_restored_room_is_what_it_was_for_everyone_who_has_it_open(home: str, copy: str) -> None:
    with busy_room(home, rotate=3000) as room, reopened(home) as another:
        backup(room, copy)
        before, events = state(room), list(room.events())
        another.join("latecomer")
        another.send("latecomer", "will not have happened")
        journal.sync(another)
        done = restore(room, copy)
        assert state(another) == state(room) == before
        *told, restored = another.events()
        assert told == events
        assert (restored.type, restored.payload) == ("room.restored", {"after": events[-1].seq})
        assert verify(another).problems == []
        assert os.path.exists(os.path.join(done.kept, "room.db"))
        assert os.listdir(os.path.join(done.kept, "events"))
        another.send("builder", "and on it goes")
        assert verify(room).problems == []


def test_a_backup_from_before_a_prune_can_be_restored_after_it(home: str, copy: str) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        backup(room, copy)
        before = state(room)
        keep.prune(room, START + 150_000)
        restored = [restore(room, copy) for _ in range(2)]
        assert state(room) == before
        assert verify(room).problems == []
        assert len({one.kept for one in restored}) == 2


def test_a_backup_of_a_pruned_room_can_be_restored(home: str, copy: str) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        keep.prune(room, START + 150_000)
        backup(room, copy)
        before = state(room)
        room.send("builder", "later")
        restore(room, copy)
        assert state(room) == before
        assert verify(room).problems == []


def test_a_restore_lifts_the_promises_of_quiet(room: LocalRoom, copy: str) -> None:
    sent = room.send("builder", "waiting")
    backup(room, copy)
    room.withdraw(sent.id)
    assert room.hush("builder")
    restore(room, copy)
    assert room.quiet.until(room.who("builder").id) is None
    assert verify(room).problems == []


def test_what_is_no_room_is_not_restored(room: LocalRoom, copy: str) -> None:
    before = state(room)
    with pytest.raises(StoreReadOnly, match="No such file"):
        restore(room, copy)
    for content, error in ((b"", NoRoom), (os.urandom(9000), StoreCorrupt)):
        with open(copy, "wb") as file:
            file.write(content)
        with pytest.raises(error):
            restore(room, copy)
    assert state(room) == before
    assert sorted(name for name in os.listdir(room.home) if "restore" in name) == []


def test_a_restore_killed_at_any_step_leaves_a_sound_room(home: str, copy: str) -> None:
    with busy_room(home, steps=80, rotate=3000, seed=3) as room:
        keep.prune(room, START + 60_000)
        backup(room, copy)
        earlier = state(room)
        room.send("builder", "later")
        later = state(room)
    for place, there in Steps(home, "restore", copy, rotate=3000).killed_at_each().items():
        with reopened(there, journal_rotate_bytes=3000) as room:
            assert state(room) in (earlier, later), place
            keep.prune(room, START + 60_000)  # brings the snapshot that a killed restore may still owe
            assert verify(room).problems == [], place


@pytest.mark.parametrize("leased", [False, True])
def test_who_listens_while_a_room_is_restored_is_woken_and_told(
    room: LocalRoom, open_room: OpenRoom, copy: str, *, leased: bool
) -> None:
    own = open_room("builder")
    if not leased:
        room.send("builder", "from the backup")
        backup(room, copy)
        own.ack(room.peek("builder")[0])
    with cast("Listening", own.listen(timeout=30)) as listening:
        if leased:  # then its lease comes back with the rest, and holds no more
            room.send("builder", "from the backup")
            backup(room, copy)
            own.ack(next(listening))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: next(listening))
            until(lambda: room.bell.waiting(room.who("builder").id) > 0)
            restore(open_room("planner"), copy)
            with pytest.raises(StaleClaim):
                waiting.result(20)
    assert [mail.body for mail in own.listen(timeout=0.01)] == ["from the backup"]


# While others send


def kept_ids(kept: str, home: str) -> set[str]:
    with opened(os.path.join(kept, "room.db"), home) as before:
        return ids(before)


def ids(room: LocalRoom) -> set[str]:
    return {row["id"] for row in room.store.whole().rows("message")}


@pytest.mark.promise("restore")
@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_what_is_stored_after_the_copy_is_in_the_next_copy(
    open_room: OpenRoom, room: LocalRoom, copy: str, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """However often somebody stores something between the copying and the lock, the restore ends."""
    sender, confirmed, left = open_room("builder"), set[str](), times

    def here(step: str) -> None:
        nonlocal left
        if step == "restore-kept" and left:
            left -= 1
            confirmed.add(sender.send("planner", "confirmed", attachments=[b"with a file"]).id)

    backup(room, copy)
    monkeypatch.setattr(label, "here", here)
    monkeypatch.setattr(label, "armed", True)
    done = restore(room, copy)
    monkeypatch.undo()
    assert len(confirmed) == min(times, COPIES)
    assert kept_ids(done.kept, f"{room.home}-kept") == confirmed
    assert ids(room) == set()
    assert verify(room).problems == []


SENDING = """
import sys
from postroom.config import Settings
from postroom.room.local import LocalRoom
home, name = sys.argv[1:]
with LocalRoom(home, Settings(busy_seconds=60, sender_rate=0), agent=name, project="p") as room:
    room.join(name)
    n = 0
    while True:
        print(room.send("builder", f"{name} {n}").id, flush=True)
        n += 1
"""


@pytest.mark.promise("restore")
def test_no_message_is_lost_that_others_send_during_a_restore(
    room: LocalRoom, copy: str, tmp_path: os.PathLike[str]
) -> None:
    names = ("one", "two", "three")
    for name in names:
        room.join(name)
    backup(room, copy)
    senders, restored = list[subprocess.Popen[bytes]](), list[Restored]()
    try:
        for name in names:
            with open(os.path.join(tmp_path, name), "wb") as told:
                senders.append(
                    subprocess.Popen([sys.executable, "-c", SENDING, room.home, name], stdout=told)
                )
        for _ in range(3):
            until(lambda: len(ids(room)) > 50)
            restored.append(restore(room, copy))
        until(lambda: len(ids(room)) > 50)
        assert [sender.poll() for sender in senders] == [None] * len(names)
    finally:
        for sender in senders:
            sender.kill()
            sender.wait()
    confirmed, there = set[str](), ids(room)
    for name in names:
        with open(os.path.join(tmp_path, name), encoding="utf-8") as told:
            confirmed |= {line.strip() for line in told if line.endswith("\n")}
    for n, done in enumerate(restored):
        there |= kept_ids(done.kept, f"{room.home}-kept-{n}")
    assert len(confirmed) > 150
    assert confirmed - there == set()
    assert verify(room).problems == []


@pytest.mark.promise("lossless-ids")
def test_no_handle_is_given_again_after_a_restore(room: LocalRoom, copy: str) -> None:
    backup(room, copy)
    lost = [room.send("builder", f"lost {n}") for n in range(5)]
    restore(room, copy)
    later = [room.send("builder", f"later {n}") for n in range(5)]
    assert {one.message.handle for one in lost} & {one.message.handle for one in later} == set()
    for one in lost:
        with pytest.raises(UnknownMessage):
            room.receipts(one.message.handle)
    journal.sync(room)
    last = int(room.store.look().last_cursor())
    with LocalRoom(f"{room.home}-2", room.settings, agent="planner", project="p") as another:
        replay.replay(journal.directory(room), another.home)  # the journals know it, too
        assert another.send("builder", "goes on").message.seq == last + 1


def test_a_backup_that_is_ahead_of_the_room_is_restored(room: LocalRoom, copy: str) -> None:
    """The room was restored to an earlier state before."""
    earlier = f"{copy}-earlier"
    backup(room, earlier)
    kept = room.send("builder", "in the later backup")
    backup(room, copy)
    restore(room, earlier)
    between = room.send("builder", "in the second life")
    restore(room, copy)
    assert ids(room) == {kept.id}
    assert room.send("builder", "in the third life").message.seq > between.message.seq
    assert verify(room).problems == []


def test_two_restores_at_once_keep_two_copies(room: LocalRoom, open_room: OpenRoom, copy: str) -> None:
    backup(room, copy)
    sent = room.send("builder", "kept by one of them")
    others = [LocalRoom(room.home, room.settings, agent="planner", project="p") for _ in range(2)]

    def once(one: LocalRoom) -> Restored:
        with one:
            return restore(one, copy)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(once, others))
    assert len({one.kept for one in done}) == 2
    there = [kept_ids(one.kept, f"{room.home}-kept-{n}") for n, one in enumerate(done)]
    assert {sent.id} in there
    assert verify(room).problems == []
