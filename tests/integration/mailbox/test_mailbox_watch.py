"""Noticing what an agent does in its mailbox: told by the system, by `watchfiles`, or by looking."""

import os
import select
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from postroom import host
from postroom.bridges.files import carrier, watch
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.bridges.files.watch import Inotify, Notices, Side
from postroom.config import Settings
from postroom.room.local import LocalRoom
from tests.postal import Agent, Postal
from tests.process import BOUND, until


def wakes(descriptor: int, seconds: float = BOUND) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def test_an_agent_is_woken_by_what_comes_and_its_host_by_what_goes_or_others_write(
    tmp_path: os.PathLike[str],
) -> None:
    host_side, own = (LocalShelf(os.fspath(tmp_path), "bob", side) for side in (Side.HOST, Side.AGENT))
    host_side.make()
    for each in (host_side, own):
        each.changes()
    host_side.write(Folder.INBOX, "2-0000000001-0000000a.json", b"x")
    assert host_side.changes() == frozenset(), "it is its own"
    assert not wakes(host_side.fileno(), 0.0)
    assert own.changes() == {Folder.INBOX}
    own.move(Folder.INBOX, "2-0000000001-0000000a.json", Folder.READ, "1.json")
    assert host_side.changes() == {Folder.INBOX}
    own.write(Folder.INBOX, "1-of-another.json", b"x")
    assert host_side.changes() == {Folder.INBOX}
    own.changes()
    host_side.write(Folder.RECEIPTS, "1.json", b"x")
    assert own.changes() == {Folder.RECEIPTS}
    for each in (host_side, own):
        each.close()


def test_where_there_is_no_inotify_another_library_tells(
    shelf: LocalShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_libc", lambda: None)
    assert not shelf.is_blind
    assert isinstance(shelf._watch, Notices)
    Agent(shelf.place).put("a.json", {"id": "1"})
    assert wakes(shelf.fileno())
    assert Folder.OUTBOX in shelf.changes()


def test_where_nothing_tells_one_looks_now_and_then(
    home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "watch", lambda *_: None)
    monkeypatch.setattr("postroom.bridges.files.local.watch", lambda *_: None)
    monkeypatch.setattr(carrier, "BLIND", 0.01)
    with LocalRoom(home, Settings(sender_rate=0), agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        assert (bob.shelf.is_blind, bob.shelf.fileno()) == (True, -1)
        bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi"})

        def has_come() -> bool:
            assert (bob.carrier.step() or 0.0) <= 0.01
            return bool(room.peek("alice"))

        until(has_come)
        bob.close()


SHARES = ["nfs4", "9p", "virtiofs", "fakeowner", "fuse.sshfs", ""]
MOST = 5.0  # seconds in which what an agent wrote is taken in, whoever tells of it or not


@pytest.mark.parametrize("kind", SHARES)
def test_where_nothing_tells_an_outbox_is_looked_into_within_five_seconds(
    kind: str, home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a share a watch can be had, and hears of nothing that is done elsewhere; `""`: there is none."""
    tree = os.path.join(os.path.realpath(tmp_path), "tree")
    mounts = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:9 / {tree} rw - {kind or 'ext4'} share rw\n"
    now, read = 1_000.0, host._read
    monkeypatch.setattr(host, "_read", lambda path: mounts if path.endswith("mountinfo") else read(path))
    monkeypatch.setattr(carrier, "time", SimpleNamespace(monotonic=lambda: now))
    deaf = SimpleNamespace(is_blind=False, fileno=lambda: -1, changes=frozenset, close=lambda: None)
    monkeypatch.setattr("postroom.bridges.files.local.watch", lambda *_: deaf if kind else None)
    with LocalRoom(home, Settings(sender_rate=0), agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, tree)
        for n in range(3):
            bob.put(f"{n}.json", {"id": f"{n}", "to": "alice", "payload": f"{n}"})
            pause = bob.carry()
            assert pause is not None
            assert 0.0 < pause <= MOST
            assert len(room.peek("alice")) == n, "it is not looked at before"
            now += pause
            bob.carry()
            assert len(room.peek("alice")) == n + 1
        bob.close()


def test_a_watch_that_goes_blind_is_looked_after_within_five_seconds(
    home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "no space left")

    with LocalRoom(home, Settings(sender_rate=0), agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        assert (bob.carry() or 0.0) > MOST, "it is told"
        monkeypatch.setattr(watch, "_call", full)
        os.rename(bob.path("outbox"), bob.path("away"))
        os.mkdir(bob.path("outbox"))
        assert (bob.carry() or 0.0) <= MOST
        bob.close()


def test_a_library_that_stops_telling_says_so_at_once(
    shelf: LocalShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> Iterator[None]:
        raise OSError(28, "no space left")
        yield

    monkeypatch.setattr(watch, "_libc", lambda: None)
    monkeypatch.setattr("watchfiles.watch", fails)
    assert wakes(shelf.fileno())
    assert shelf.is_blind


def test_a_file_system_of_which_nobody_tells_is_looked_at(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "unsafe_file_system", lambda _: "nfs4")
    shelf = LocalShelf(os.fspath(tmp_path), "bob")
    shelf.make()
    assert (shelf.is_blind, shelf.is_slow) == (True, True)
    shelf.close()


def test_when_too_much_happens_at_once_everything_is_looked_at(
    shelf: LocalShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.changes()
    monkeypatch.setattr(Inotify, "_events", lambda _: [(-1, 0x4000)])
    assert shelf.changes() == {Folder.INBOX, Folder.OUTBOX}


def test_a_machine_that_has_no_watch_left_is_looked_at(
    shelf: LocalShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "no space left")

    shelf.changes()
    with monkeypatch.context() as patch:
        patch.setattr(watch, "_call", full)
        os.rename(os.path.join(shelf.place, "outbox"), os.path.join(shelf.place, "away"))
        os.mkdir(os.path.join(shelf.place, "outbox"))
        shelf.changes()
        assert shelf.is_blind


def test_a_tree_that_was_replaced_is_watched_where_it_is_now(tmp_path: os.PathLike[str]) -> None:
    tree = os.path.join(tmp_path, "tree")
    os.mkdir(tree)
    shelf = LocalShelf(tree, "bob")
    shelf.make()
    shelf.changes()
    os.rename(tree, tree + ".away")
    os.mkdir(tree)
    fresh = LocalShelf(tree, "bob")
    fresh.make()
    fresh.close()
    assert shelf.changes() == {Folder.INBOX, Folder.OUTBOX}, "they may have changed before"
    assert shelf.changes() == frozenset()
    Agent(shelf.place).put("a.json", {"id": "1"})
    assert wakes(shelf.fileno())
    assert shelf.changes() == {Folder.OUTBOX}
    shelf.close()
