"""Locks that are held too long, and the write-ahead log that others keep growing."""

import itertools
import os
import signal
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from postroom.config import Settings
from postroom.errors import (
    StoreBusy,
)
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.conftest import OpenRoom
from tests.process import Child

HASTY = Settings(busy_seconds=0.1)


# locks


@pytest.mark.promise("locked")
def test_a_lock_held_longer_than_patience_says_busy_and_stores_nothing(
    room: LocalRoom, home: str, open_room: OpenRoom
):
    hasty = open_room("planner", settings=HASTY)
    with Child("hold_the_lock", home) as child:
        assert child.hear() == "locked"
        for act in (
            lambda: hasty.send("builder", "x"),
            lambda: hasty.take("builder"),
            lambda: hasty.join("new"),
        ):
            with pytest.raises(StoreBusy) as refusal:
                act()
            assert "try again" in refusal.value.hint
        assert hasty.peek("builder") == []  # looking goes on
        assert child.end() == 0
    assert hasty.send("builder", "now").deliveries[0].state is State.STORED
    assert [mail.body for mail in room.peek("builder")] == ["now"]


@pytest.mark.promise("locked")
def test_a_stopped_process_that_holds_the_lock_loses_nothing(room: LocalRoom, home: str, open_room: OpenRoom):
    hasty = open_room("planner", settings=HASTY)
    with Child("stop_with_the_lock", home, module="tests.fault") as child:
        child.hear()
        child.tell("go")
        os.waitpid(child.pid, os.WUNTRACED)
        with pytest.raises(StoreBusy):
            hasty.send("builder", "meanwhile")
        assert hasty.peek("builder") == []
        child.signal(signal.SIGCONT)
        sent = child.hear()
    later = hasty.send("builder", "afterwards")
    assert [mail.id for mail in room.peek("builder")] == [sent, later.id]


@pytest.mark.promise("locked")
def test_a_stopped_process_that_is_killed_leaves_the_lock_free(room: LocalRoom, home: str):
    with Child("stop_with_the_lock", home, module="tests.fault") as child:
        child.hear()
        child.tell("go")
        os.waitpid(child.pid, os.WUNTRACED)
        child.kill()
    room.send("builder", "afterwards")
    assert [mail.body for mail in room.peek("builder")] == ["afterwards"]


@pytest.mark.promise("never-busy-without-cause")
def test_who_was_stopped_while_it_waited_has_not_used_up_its_patience(
    room: LocalRoom, home: str, monkeypatch: pytest.MonkeyPatch
):
    """A paused container, a suspended machine: hours have passed, and the lock is still held."""
    hours, naps = itertools.count(0, 3600), 0
    with closing(sqlite3.connect(os.path.join(home, "room.db"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def nap(_: float) -> None:
            nonlocal naps
            naps += 1
            if naps == 3:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "monotonic", lambda: next(hours))
        monkeypatch.setattr(time, "sleep", nap)
        room.send("builder", "patiently")
    assert naps == 3
    assert [mail.body for mail in room.peek("builder")] == ["patiently"]


@pytest.mark.promise("never-busy-without-cause")
def test_opening_and_closing_at_once_is_never_refused(room: LocalRoom, home: str):
    """The last to close a room, and the first to open it after a crash, lock all others out for a moment."""
    room.send("builder", "one")
    room.close()
    children = [Child("open_and_close", home, 60) for _ in range(4)]
    try:
        for child in children:
            child.hear()
        for child in children:
            child.tell("go")
        assert [child.hear(60) for child in children] == [60] * 4
    finally:
        for child in children:
            child.__exit__(None, None, None)


# the log that is written ahead


def wal(home: str) -> int:
    return os.path.getsize(os.path.join(home, "room.db-wal"))


@pytest.mark.promise("wal")
def test_under_load_and_with_readers_the_log_does_not_grow_without_bound(room: LocalRoom, home: str):
    largest, total = 0, 0
    with Child("wait", home, "planner"), Child("peek_for_ever", home, "builder") as reader:
        reader.hear()
        for n in range(2500):
            room.ack(room.send("builder", f"{n} " + "x" * 20_000).id, agent="builder")
            largest = max(largest, wal(home))
            total += 30_000
    assert total > 64 << 20, "too little was written to prove anything"
    assert largest < 64 << 20


@pytest.mark.promise("wal")
def test_long_messages_fill_the_log_no_further_than_short_ones(room: LocalRoom, home: str):
    largest = 0
    for _ in range(250):
        room.send("builder", "x" * 1_000_000)
        largest = max(largest, wal(home))
    assert largest < 64 << 20, largest


@pytest.mark.promise("wal")
def test_short_lives_beside_a_long_one_do_not_let_the_log_grow_either(room: LocalRoom, home: str, open_room):
    for _ in range(60):
        short = open_room("planner")
        for n in range(40):
            short.send("builder", f"{n} " + "x" * 20_000)
        short.close()
    assert wal(home) < 16 << 20


@pytest.mark.promise("wal")
def test_nothing_a_room_answers_keeps_a_cursor_open(room: LocalRoom, home: str):
    for n in range(30):
        room.reply(room.send("builder", str(n), key=str(n)).id, "thanks", agent="builder")
    first = room.sent()[0][0]
    looks = [
        lambda: room.peek("builder", limit=3),
        lambda: room.receipts(first.id),
        lambda: room.sent(limit=2),
        lambda: room.thread(first.id),
        lambda: next(room.events()),
        room.agents,
        room.projects,
        lambda: room.wait("planner", timeout=0.001, limit=2),
        lambda: room.store.look().events("", 3),
        lambda: room.store.look().agent(room.who().id),
        room.sweep,
        lambda: room.send("builder", "0", key="0"),
    ]
    with closing(sqlite3.connect(os.path.join(home, "room.db"))) as other:
        for number, look in enumerate(looks):
            look()
            busy, left, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            assert (busy, left) == (0, 0), f"look {number} left something open"


def test_a_thread_that_ends_takes_its_connection_with_it(room: LocalRoom):
    def look() -> None:
        room.peek("builder")

    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 3
