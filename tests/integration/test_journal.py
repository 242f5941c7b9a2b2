"""The journals: every event once, in its agent's file, whatever happens to the processes that write them."""

import errno
import gzip
import json
import os
import re
import shutil
import sqlite3
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import clock
from postroom.config import Settings
from postroom.errors import JournalBroken, StoreFull
from postroom.room import digest, journal, keep, line, loss, replay, segment, snapshot
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import START, Clock
from tests.room_activity import Steps, busy_room, files, reopened, told

pytestmark = pytest.mark.timeout(60)


def assert_told_once(room: LocalRoom) -> None:
    """Every event the store knows stands in exactly one journal, exactly once, and in the right one."""
    events = {event.seq: event for event in room.events()}
    lines = [(stem, document) for stem, document in told(room.home) if document["type"] != "journal.rewind"]
    counted = Counter(document["seq"] for _, document in lines)
    assert {seq for seq, n in counted.items() if n > 1} == set()
    assert set(events) <= set(counted)
    for stem, document in lines:
        if event := events.get(document["seq"]):
            assert (document["id"], stem) == (event.id, event.agent_id or "_room")


@pytest.mark.parametrize("rotate", [1, 3000, 1 << 23])
def test_every_event_is_told_once_in_its_agents_journal(home: str, rotate: int) -> None:
    with busy_room(home, rotate=rotate) as room:
        journal.sync(room)
        assert_told_once(room)
        assert journal.lag(room) == 0


def test_people_and_the_room_itself_share_a_journal(room: LocalRoom) -> None:
    room.join("human:ana")
    room.send("builder", "hello", sender="human:ana")
    journal.sync(room)
    types = Counter(document["type"] for stem, document in told(room.home) if stem == "_room")
    assert types == {"project.created": 1, "agent.joined": 1, "message.sent": 1}


@pytest.mark.parametrize("rotate", [1, 1 << 23])
def test_a_room_in_which_a_subagent_ran_is_verified_and_rebuilt(
    home: str, tmp_path: Path, rotate: int
) -> None:
    settings = Settings(journal_rotate_bytes=rotate)
    with LocalRoom(home, settings, agent="planner", project="p", clock=Clock()) as room:
        for name in ("planner", "planner.explore", "planner.explore.deeper"):
            room.join(name)
        for n in range(3):
            room.send("planner", f"found {n}", sender="planner.explore")
            room.send("planner.explore", f"look again {n}", sender="planner.explore.deeper")
            journal.sync(room)
        assert {stem.count(".") for stem, _ in told(home)} == {0, 1, 2}
        assert_told_once(room)
        found = verify(room)
        assert found.problems == []
        done = replay.replay(journal.directory(room), str(tmp_path / "rebuilt"))
        assert done.digest == found.digest


def test_a_line_tells_the_whole_message(room: LocalRoom) -> None:
    sent = room.send(
        "builder", "body\u2028 ü", subject="s", payload={"n": 1}, metadata={"k": "v"}, key="once"
    )
    journal.sync(room)
    [document] = [document for _, document in told(room.home) if document["type"] == "message.sent"]
    message = document["payload"]["message"]
    assert (message["id"], message["body"], message["payload"]) == (sent.id, "body\u2028 ü", {"n": 1})
    assert (message["subject"], message["metadata"], message["key"]) == ("s", {"k": "v"}, "once")


def test_every_event_survives_being_a_line(home: str) -> None:
    with busy_room(home, seed=3) as room:
        for event in room.events():
            assert line.decode(line.encode(event)) == event


@given(st.integers(min_value=-62_000_000_000_000, max_value=250_000_000_000_000))
def test_a_moment_survives_being_text_to_the_millisecond(at: int) -> None:
    assert line.milliseconds(clock.iso(at)) == at


def test_lag_says_how_many_events_are_behind(room: LocalRoom) -> None:
    assert journal.lag(room) == 3
    assert journal.sync(room) == 3
    room.send("builder", "one")
    room.send("builder", "two")
    assert journal.lag(room) == 2
    assert journal.sync(room) == 2
    assert journal.sync(room) == 0


def test_more_events_than_a_page_take_several_transactions(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 20)
    monkeypatch.setattr(journal, "_CHUNK", 7)
    with busy_room(home) as room:
        assert journal.sync(room) == len(list(room.events()))
        assert_told_once(room)


def test_a_journal_that_has_grown_is_closed_and_compressed_under_the_range_it_covers(home: str) -> None:
    with busy_room(home, rotate=2000) as room:
        journal.sync(room)
        closed = [path for path in files(room.home) if path.endswith(".gz")]
        assert closed
        for path in closed:
            with gzip.open(path) as file:
                seqs = [json.loads(text)["seq"] for text in file]
            assert path.split(".")[-3] == f"{seqs[0]}-{seqs[-1]}"
        assert len(closed) < len(journal.paths(room))


def test_journals_are_for_their_owner_only(home: str) -> None:
    with busy_room(home, steps=30, rotate=500) as room:
        journal.sync(room)
        assert stat.S_IMODE(os.stat(journal.directory(room)).st_mode) == 0o700
        for path in files(room.home):
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_process_killed_at_any_step_leaves_nothing_untold_and_nothing_told_twice(home: str) -> None:
    with busy_room(home, steps=120, rotate=1500, seed=5) as room:
        journal.sync(room)
    with reopened(home) as room:
        for n in range(12):
            room.send("builder", f"later {n}")
            room.take("builder")
        room.join("latecomer")  # whose journal begins: the index is written
        room.send("builder", "the last one", sender="latecomer")
    places = Steps(home, "sync", rotate=1500).killed_at_each()
    assert len(places) > 20
    assert {"journal-before-index:1", "journal-after-index:1"} <= places.keys()
    for place, copy in places.items():
        with reopened(copy, journal_rotate_bytes=1500) as room:
            journal.sync(room)
            assert_told_once(room)
            assert verify(room).problems == [], place
            assert os.path.basename(journal.path(room, room.who("latecomer").id)) == "latecomer.jsonl", place
            names = [os.path.basename(path) for path in files(room.home)]
            assert not [name for name in names if name.startswith(".")], place
            assert not [name for name in names if re.search(r"\.\d+-\d+\.jsonl$", name)], place


def test_a_last_line_that_was_never_finished_is_cut_off_and_told_again(room: LocalRoom) -> None:
    room.send("builder", "a" * 200_000)
    journal.sync(room)
    path = journal.path(room, room.who("planner").id)
    whole = os.path.getsize(path)
    with open(path, "ab") as file:
        file.write(b'{"seq":5,"id":"0')
    room.send("builder", "b")
    journal.sync(room)
    assert os.path.getsize(path) > whole
    assert_told_once(room)


def test_many_who_mirror_at_once_tell_everything_once(home: str) -> None:
    with busy_room(home, rotate=2000) as room:

        def mirror(_: int) -> int:
            with reopened(home, journal_rotate_bytes=2000, busy_seconds=30) as another:
                return journal.sync(another)

        with ThreadPoolExecutor(4) as pool:
            mirrored = sum(pool.map(mirror, range(8)))
        journal.sync(room)
        assert mirrored == len(list(room.events()))
        assert_told_once(room)


def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes, *, durable: bool) -> None:
        with open(path, "ab") as file:
            file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    with monkeypatch.context() as patch:
        patch.setattr(segment, "append", full)
        with pytest.raises(StoreFull):
            journal.sync(room)
    assert journal.lag(room) == 3
    journal.sync(room)
    assert_told_once(room)


def test_full_durability_waits_for_the_disk_before_the_cursor_moves(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = 0
    real = os.fsync

    def counting(descriptor: int) -> None:
        nonlocal synced
        synced += 1
        real(descriptor)

    for durability, expected in (("normal", False), ("full", True)):
        with busy_room(f"{home}-{durability}", steps=5, durability=durability) as room:
            synced = 0
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", counting)
                journal.sync(room)
            assert (synced > 0) == expected


# After a power loss


def rewound(home: str, more: int = 40) -> LocalRoom:
    """A room whose store lost its latest events, while the journals kept them."""
    busy_room(home, steps=80, seed=2, rotate=2500).close()
    with reopened(home, journal_rotate_bytes=2500) as room:
        journal.sync(room)
        room.store.upkeep().copy(os.path.join(home, "older.db"))
    with reopened(home, journal_rotate_bytes=2500) as room:
        room.join("latecomer")
        for n in range(more):
            room.send("builder", f"lost {n}")
            room.send("planner", f"lost {n}", sender="latecomer")
            journal.sync(room)
    older, store = (sqlite3.connect(os.path.join(home, name)) for name in ("older.db", "room.db"))
    older.backup(store)
    older.close()
    store.close()
    return reopened(home, journal_rotate_bytes=2500)


def assert_only_a_loss(room: LocalRoom) -> None:
    """All that is wrong with a room is what its store has lost; once that is accepted, nothing is."""
    [problem] = verify(room).problems
    assert "the journals have what the store has lost" in problem
    assert loss.accept(room)
    assert verify(room).problems == []


def test_journals_ahead_of_the_store_are_rewound_and_go_on(home: str) -> None:
    with rewound(home) as room:
        known = {event.seq: event.id for event in room.events()}
        room.send("builder", "after the loss")
        journal.sync(room)
        rewinds = [document for _, document in told(home) if document["type"] == "journal.rewind"]
        assert rewinds
        assert all(document["to"] in {0, *known} for document in rewinds)
        assert_only_a_loss(room)
        journal.sync(room)
        assert len(rewinds) == sum(document["type"] == "journal.rewind" for _, document in told(home))


def test_a_process_killed_while_it_rewinds_leaves_that_to_the_next(home: str) -> None:
    with rewound(home, more=6) as room:
        room.send("builder", "after the loss")
    for place, copy in Steps(home, "sync", rotate=2500).killed_at_each(most=4).items():
        with reopened(copy, journal_rotate_bytes=2500) as room:
            journal.sync(room)
            assert loss.noted(journal.directory(room)), place
            assert_only_a_loss(room)


def test_a_second_loss_rewinds_further(home: str) -> None:
    with rewound(home) as room:
        for n in range(5):
            room.send("builder", f"second life {n}")
        journal.sync(room)
        last = int(room.store.look().last_cursor())
    with sqlite3.connect(os.path.join(home, "room.db")) as store:
        store.execute("DELETE FROM delivery WHERE seq > ?", (last - 3,))
        store.execute("DELETE FROM message WHERE seq > ?", (last - 3,))
        store.execute("UPDATE follower SET position = ?", (last - 4,))
    store.close()
    with reopened(home) as room:
        room.send("reviewer", "third life")
        journal.sync(room)
        assert_only_a_loss(room)


def test_what_the_files_lost_in_a_power_loss_is_told_again(home: str) -> None:
    with busy_room(home, seed=4) as room:
        journal.sync(room)
        events = journal.directory(room)
        for n, path in enumerate(journal.paths(room)):
            with open(path, "r+b") as file:
                size = file.seek(0, os.SEEK_END)
                if n % 3 == 0:
                    file.truncate(size * 2 // 3)  # the end was never written
                elif n % 3 == 1:
                    file.seek(size // 2)
                    file.write(b"\0" * (size - size // 2))  # the block was never written
        head = journal.read_head(events)
        assert head
        journal.write_head(events, head._replace(boot="an earlier one"))
        journal.sync(room)
        assert_told_once(room)
        assert verify(room).problems == []


def test_journals_that_were_deleted_are_written_anew(home: str) -> None:
    with busy_room(home) as room:
        journal.sync(room)
        shutil.rmtree(journal.directory(room))
        journal.sync(room)
        assert_told_once(room)


@pytest.mark.promise("keep")
@pytest.mark.parametrize("lost", ["all", "the snapshot"])
def test_a_pruned_room_whose_journals_were_deleted_verifies_when_they_are_written_anew(
    home: str, tmp_path: os.PathLike[str], lost: str
) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        keep.prune(room, START + 150_000)
        assert room.store.whole().first() > 1
        if lost == "all":
            shutil.rmtree(journal.directory(room))
        else:
            [taken] = snapshot.listed(journal.directory(room))
            os.unlink(taken.path)
        assert verify(room).problems != []
        snapshot.sync(room)
        assert verify(room).problems == []
        state = digest.digest(room.store.whole())
        assert replay.replay(journal.directory(room), os.path.join(tmp_path, "again")).digest == state
        room.send("builder", "and on it goes")
        journal.sync(room)
        assert verify(room).problems == []


def test_damage_at_the_end_of_a_journal_is_mended_from_the_store(room: LocalRoom) -> None:
    journal.sync(room)
    path = journal.path(room, room.who("planner").id)
    with open(path, "r+b") as file:
        file.write(b"???")
    room.send("builder", "more")
    journal.sync(room)
    assert_told_once(room)


def test_journals_of_another_room_are_refused_and_left_alone(home: str, tmp_path: os.PathLike[str]) -> None:
    with busy_room(home, steps=30) as room:
        journal.sync(room)
        before = told(home)
    for name in ("room.db", "room.db-wal", "room.db-shm"):
        if os.path.exists(os.path.join(home, name)):
            os.unlink(os.path.join(home, name))
    events = os.path.join(home, "events")
    os.rename(events, os.path.join(tmp_path, "away"))  # no room is made beside them
    with reopened(home) as room:
        room.join("somebody-new")
        os.rename(os.path.join(tmp_path, "away"), events)
        with pytest.raises(JournalBroken, match="another room"):
            journal.sync(room)
        assert told(home) == before
    assert replay.replay(os.path.join(home, "events"), os.path.join(tmp_path, "rescued")).events == len(
        before
    )
