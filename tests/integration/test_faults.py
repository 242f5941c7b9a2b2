"""Disks that are full, read-only, damaged or another's, locks that are held: a clear error, nothing lost."""

import os
import random
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from postroom import host
from postroom.config import Settings
from postroom.errors import (
    PostroomError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreNetworked,
    StoreReadOnly,
)
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests import machine
from tests.conftest import OpenRoom
from tests.process import Child, environment

HASTY = Settings(busy_seconds=0.1)


def mounted(*commands: str) -> list[str]:
    """The words before a command that make it run after these, in a mount namespace of its own."""
    return [*machine.unshare("--mount"), "sh", "-c", " && ".join([*commands, 'exec "$@"']), "sh"]


def play(scene: str, *args: object, prefix: list[str] | None = None) -> Any:
    with Child(scene, *args, module="tests.fault", prefix=prefix or ()) as child:
        return child.hear(60)


# a power cut


def test_what_is_made_durable_is_the_log_that_was_written(
    open_room: OpenRoom, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    """The last connection to close removes the WAL; a thread that comes later writes another."""
    room.close()
    links: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda wal: links.append(os.fstat(wal).st_nlink))
    durable = open_room("planner", settings=Settings(durability="full"))
    for _ in range(2):
        thread = threading.Thread(target=lambda: durable.send("builder", "hello"))
        thread.start()
        thread.join(20)
    assert links == [1, 1]


# a full disk


@pytest.mark.promise("full-disk")
def test_on_a_full_disk_sending_says_so_and_nothing_that_was_told_is_lost(tmp_path: Path):
    said = play("fill", tmp_path / "home", prefix=mounted(f"mount -t tmpfs -o size=16m tmpfs '{tmp_path}'"))
    assert set(said["refusals"].values()) == {"store_full"}
    assert len(said["told"]) > 50
    assert said["looking"] == said["waiting"] == said["told"]
    assert said["taken"] == [*said["told"], said["after"]]
    assert said["sound"]


@pytest.mark.promise("full-disk")
def test_a_room_that_cannot_be_made_for_lack_of_space_is_made_when_there_is_some(tmp_path: Path):
    prefix = mounted(f"mount -t tmpfs -o size=2m tmpfs '{tmp_path}'")
    said = play("open_on_a_full_disk", tmp_path / "home", prefix=prefix)
    assert said == {"refusals": ["store_full", "store_full"], "then": "done"}


def test_a_listener_that_could_not_begin_for_lack_of_space_can_begin_later(tmp_path: Path):
    prefix = mounted(f"mount -t tmpfs -o size=2m tmpfs '{tmp_path}'")
    said = play("listen_on_a_full_disk", tmp_path / "home", prefix=prefix)
    assert set(said["first"]) <= {"done", "store_full"}
    assert said["then"] == ["one"]


# a disk that cannot be written


@pytest.fixture
def furnished(room: LocalRoom) -> LocalRoom:
    """Something waits, something is overdue, and something is held by a process that is gone."""
    room.send("builder", "one")
    room.send("builder", "late", after=0.001)
    room.send("builder", "stale", expires=0.001)
    return room


@pytest.mark.promise("read-only")
@pytest.mark.parametrize("closed", [True, False], ids=["closed-before", "left-open"])
def test_a_room_on_a_read_only_mount_can_be_read_and_says_why_it_cannot_be_written(
    furnished: LocalRoom, home: str, closed: bool
):
    if closed:
        furnished.close()
    prefix = mounted(f"mount --bind '{home}' '{home}'", f"mount -o remount,ro,bind '{home}'")
    said = play("use_read_only", home, prefix=prefix)
    assert set(said["looks"].values()) == {"done"}, said["looks"]
    assert set(said["acts"].values()) == {"store_read_only"}, said["acts"]
    assert "one" in said["waiting"]


def test_no_room_can_be_made_on_a_read_only_mount(tmp_path: Path):
    where = str(tmp_path)
    prefix = mounted(f"mount --bind '{where}' '{where}'", f"mount -o remount,ro,bind '{where}'")
    said = play("try_it", f"{where}/home", prefix=prefix)
    assert said == {"peek": "store_read_only", "send": "store_read_only"}


@pytest.mark.promise("read-only")
def test_a_room_in_a_directory_that_cannot_be_written_can_still_be_read(furnished: LocalRoom, home: str):
    user = machine.other_user()
    furnished.close()
    _give(home, user)
    os.chmod(home, 0o500)
    said = play("as_user", user, "use_read_only", home)
    assert set(said["looks"].values()) == {"done"}, said["looks"]
    assert set(said["acts"].values()) == {"store_read_only"}, said["acts"]


def _give(home: str, user: int) -> None:
    """All of it to another user, who can also get there."""
    for where, _, files in os.walk(home):
        os.chown(where, user, user)
        for name in files:
            os.chown(os.path.join(where, name), user, user)
    above = os.path.dirname(home)
    while above != "/":
        os.chmod(above, os.stat(above).st_mode | 0o011)
        above = os.path.dirname(above)


# another's room


@pytest.mark.promise("foreign")
def test_a_room_of_another_user_is_refused(room: LocalRoom, home: str, open_room: OpenRoom):
    user = machine.other_user()
    room.close()
    os.chown(os.path.join(home, "room.db"), user, user)
    with pytest.raises(StoreForeign) as refusal:
        open_room("planner").peek()
    assert refusal.value.hint


@pytest.mark.promise("foreign")
def test_another_user_is_refused_even_where_the_files_can_be_written(room: LocalRoom, home: str):
    user = machine.other_user()
    room.close()
    _give(home, user)
    os.chown(os.path.join(home, "room.db"), 0, 0)
    os.chmod(os.path.join(home, "room.db"), 0o666)
    assert play("as_user", user, "try_it", home) == {"peek": "store_foreign", "send": "store_foreign"}


@pytest.mark.promise("network-file-system")
def test_no_room_is_made_on_a_network_file_system(home: str, open_room: OpenRoom, monkeypatch):
    table = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n36 27 0:31 / {os.path.dirname(home)} rw - nfs4 s:/ rw\n"
    monkeypatch.setattr(host, "_read", lambda path: table if path.endswith("mountinfo") else "")
    with pytest.raises(StoreNetworked) as refusal:
        open_room("planner").join("planner")
    assert refusal.value.facts["file_system"] == "nfs4"
    assert not os.path.exists(os.path.join(home, "room.db"))


# damage


def _try_everything(open_room: OpenRoom, home: str) -> set[str]:
    """What becomes of each kind of use: `done` or a code. Any other exception fails the test."""
    uses: list[Callable[[LocalRoom], object]] = [
        lambda room: room.peek("builder"),
        lambda room: room.send("builder", "x"),
        lambda room: room.take("builder"),
        lambda room: list(room.events()),
        lambda room: room.agents(),
        lambda room: room.sent(),
        lambda room: room.wait("builder", timeout=0.001),
        lambda room: room.projects(),
        lambda room: room.dead(),
        lambda room: next(room.listen("builder", timeout=0.001), None),
        lambda room: room.sweep(),
        lambda room: room.hush("builder"),
    ]
    found = set()
    for use in uses:
        room = open_room("planner", home=home, settings=HASTY)
        try:
            use(room)
            found.add("done")
        except PostroomError as exc:
            found.add(exc.code)
        finally:
            room.close()
    return found


@pytest.fixture
def whole(room: LocalRoom, home: str) -> bytes:
    """A closed room of a good many pages, as bytes."""
    for n in range(40):
        room.send("builder", f"message {n} " + "x" * 500, payload={"n": n})
    for _ in range(10):
        room.settle(room.take("builder") or pytest.fail("nothing there"))
    room.close()
    with open(os.path.join(home, "room.db"), "rb") as file:
        return file.read()


def _put(tmp_path: Path, name: str, content: bytes) -> str:
    home = tmp_path / name
    home.mkdir()
    (home / "room.db").write_bytes(content)
    return str(home)


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("size", [15, 100, 512, 4096, 100_000])
def test_random_bytes_are_no_room(tmp_path: Path, open_room: OpenRoom, size: int):
    content = random.Random(size).randbytes(size)
    home = _put(tmp_path, "noise", content)
    assert _try_everything(open_room, home) == {"store_corrupt"}
    assert (tmp_path / "noise" / "room.db").read_bytes() == content  # it was not made worse


@pytest.mark.promise("corrupt")
def test_a_room_cut_short_is_called_damaged(tmp_path: Path, open_room: OpenRoom, whole: bytes):
    for part in (0.1, 0.3, 0.5, 0.9):
        home = _put(tmp_path, f"cut-{part}", whole[: int(len(whole) * part)])
        found = _try_everything(open_room, home)
        assert "store_corrupt" in found
        assert found <= {"done", "store_corrupt"}


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_never_end_in_a_traceback(tmp_path: Path, open_room: OpenRoom, whole: bytes, seed: int):
    chance = random.Random(seed)
    damaged = bytearray(whole)
    for _ in range(200):
        damaged[chance.randrange(100, len(damaged))] ^= 1 << chance.randrange(8)
    home = _put(tmp_path, "flipped", bytes(damaged))
    _try_everything(open_room, home)


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("page", range(1, 12))
def test_a_page_of_noise_never_ends_in_a_traceback(
    tmp_path: Path, open_room: OpenRoom, whole: bytes, page: int
):
    noise = random.Random(page).randbytes(4096)
    content = whole[: page * 4096] + noise + whole[(page + 1) * 4096 :]
    found = _try_everything(open_room, _put(tmp_path, "noisy", content))
    assert found <= {"done", "store_corrupt", "store"}


def test_a_damaged_header_is_called_damage(tmp_path: Path, open_room: OpenRoom, whole: bytes):
    home = _put(tmp_path, "header", b"SQLite format 4\0" + whole[16:])
    assert _try_everything(open_room, home) == {"store_corrupt"}


# what stands where the room should


@pytest.mark.parametrize("obstacle", ["directory", "dangling link", "home is a file", "fifo"])
def test_an_obstacle_where_the_room_should_be_is_named(tmp_path: Path, open_room: OpenRoom, obstacle: str):
    home = tmp_path / "home"
    if obstacle == "home is a file":
        home.write_text("not a directory")
    else:
        home.mkdir()
        path = home / "room.db"
        if obstacle == "directory":
            path.mkdir()
        elif obstacle == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / "nowhere" / "room.db")
    with pytest.raises(StoreError) as refusal:
        open_room("planner", home=str(home)).join("planner")
    assert str(home) in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    [
        "with space",
        "100%",
        "what?",
        "a#b",
        "%3f",
        "straße",
        "日本",
        "back\\slash",
        "a&b=c",
        "'quoted\"",
        "//",
    ],
)
def test_a_home_may_have_any_name(tmp_path: Path, open_room: OpenRoom, name: str):
    home = "/" + str(tmp_path) + "/home" if name == "//" else str(tmp_path / name)
    room = open_room("planner", home=home)
    room.join("builder")
    room.send("builder", "hello")
    assert [mail.body for mail in room.wait("builder", timeout=1)] == ["hello"]
    assert os.path.getsize(os.path.join(home, "room.db")) > 0


def test_a_room_may_be_reached_through_a_link(tmp_path: Path, open_room: OpenRoom):
    real = open_room("planner", home=str(tmp_path / "real"))
    real.join("builder")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked = open_room("planner", home=str(tmp_path / "link"))
    linked.send("builder", "hello")
    assert [mail.body for mail in real.peek("builder")] == ["hello"]


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


# bad input, all the way through


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize("text", ["half \udcff of it", "nul \0 here", "x" * 2_000_000])
def test_text_that_cannot_be_stored_is_refused_wherever_it_can_be_said(room: LocalRoom, text: str):
    from postroom.errors import UsageError

    sent = room.send("builder", "one")
    before = list(room.events())
    for act in (
        lambda: room.send("builder", text),
        lambda: room.send("builder", "x", subject=text),
        lambda: room.send("builder", "x", key=text),
        lambda: room.send("builder", "x", type=text),
        lambda: room.send("builder", "x", correlation=text),
        lambda: room.send("builder", "x", payload={"a": text} if len(text) > 99 else {"a": "\ud800"}),
        lambda: room.send("builder", "x", thread=sent.id, reply_to=text),
        lambda: room.send(text, "x"),
        lambda: room.send("builder", "x", sender=text),
        lambda: room.reply(sent.id, text, agent="builder"),
        lambda: room.nack(sent.id, text, agent="builder"),
        lambda: room.join("newcomer", role=text),
        lambda: room.join("newcomer", description=text),
        lambda: room.join("newcomer", capabilities=[text]),
        lambda: room.join(text),
        lambda: room.rename(text),
        lambda: room.receipts(text),
        lambda: room.take("builder", id=text),
        lambda: list(room.events(after=text)),
    ):
        with pytest.raises((UsageError, PostroomError)) as refusal:
            act()
        str(refusal.value).encode()
        str(refusal.value.hint).encode()
    assert list(room.events()) == before


@pytest.mark.parametrize(
    "id", ["", "x", "0", "g" * 8, "-" * 36, "00000000", "0" * 32, "../../etc/passwd", "'; --"]
)
def test_an_id_that_is_none_is_refused(room: LocalRoom, id: str):
    for act in (room.receipts, room.ack, room.withdraw, room.thread, room.retry, room.purge):
        with pytest.raises(PostroomError) as refusal:
            act(id)
        assert refusal.value.code in ("usage", "unknown_message")


def test_a_reply_by_handle_keeps_the_whole_id(room: LocalRoom):
    first = room.send("builder", "one")
    second = room.send("builder", "two", reply_to=first.message.handle)
    assert second.message.reply_to == first.id
    assert second.message.thread == first.message.thread


def test_an_unwritable_marker_stops_the_send_that_it_would_belie(room: LocalRoom, home: str):
    """If the promise of quiet cannot be withdrawn, mail must not become due behind it."""
    room.hush("builder")
    markers = os.path.join(home, "run", "quiet", "a")
    shutil.move(room.quiet.path(room.who("builder").id), markers + ".aside")
    os.mkdir(room.quiet.path(room.who("builder").id))  # cannot be unlinked, not even by root
    with pytest.raises(StoreReadOnly, match="marker"):
        room.send("builder", "one")
    assert room.peek("builder") == []


def test_the_environment_of_children_is_their_own():
    assert not [name for name in environment() if name.startswith("COV")]


def test_a_corrupt_room_says_how_to_go_on(tmp_path: Path, open_room: OpenRoom):
    home = _put(tmp_path, "noise", b"x" * 5000)
    with pytest.raises(StoreCorrupt) as refusal:
        open_room("planner", home=home).peek("planner")
    assert "verify" in refusal.value.hint
