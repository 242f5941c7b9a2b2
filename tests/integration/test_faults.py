"""Disks that are full, read-only or another's, and input that is bad: a clear error, nothing lost."""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from postroom import host
from postroom.config import Settings
from postroom.errors import (
    PostroomError,
    StoreForeign,
    StoreNetworked,
    StoreReadOnly,
)
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


@pytest.mark.promise("durability")
def test_what_is_promised_waits_for_the_disk_and_a_claim_does_not(
    open_room: OpenRoom, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    """A power cut ends the program that took it, and then its claim is worth nothing anyway."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    durable = open_room("planner", settings=Settings(durability="full"))
    waits: dict[str, int] = {}

    def count(what: str) -> None:
        waits[what] = len(synced)
        synced.clear()

    durable.send("builder", "hello")
    count("send")
    taken = durable.take("builder")
    count("take")
    assert taken is not None
    durable.settle(taken)
    count("settle")
    durable.ack(taken)
    count("ack")
    durable.send("builder", "for a hook")
    count("send again")
    assert durable.take("builder", handed=False) is not None
    count("claim of one that has to write it out")
    assert waits == {
        "send": 1, "take": 0, "settle": 1, "ack": 1, "send again": 1,
        "claim of one that has to write it out": 1,
    }  # fmt: skip


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


@pytest.mark.promise("hook-full-disk")
def test_hooks_on_a_full_disk_leave_the_agent_alone_and_what_they_did_not_show_is_shown_later(tmp_path: Path):
    disk, work = tmp_path / "disk", tmp_path / "work"
    disk.mkdir()
    work.mkdir()
    prefix = mounted(f"mount -t tmpfs -o size=8m tmpfs '{disk}'")
    said = play("hooks_on_a_full_disk", disk / "home", work, prefix=prefix)
    told = said["told"]
    assert said["sound"]
    assert {one["at_once"] for one in told} == {True, False}, "the disk was never full, or always"
    for one in told:
        assert one["then"] == "seen", one
        assert one["at_once"] or one["full"] == "stored", one
        assert one["labels"][:1] == [False], one
        assert all(one["labels"][1:]), one


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
