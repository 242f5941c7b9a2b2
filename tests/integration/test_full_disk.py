"""A full disk, a quota, a lack of descriptors: what frees space goes on, and the errors name the cause."""

import errno
import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroom import errors
from postroom.cli.commands.status import gather
from postroom.config import Settings
from postroom.room import file, journal, keep, reserve
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.store.sqlite import connection as link
from postroom.store.sqlite.store import SqliteStore
from tests.commandline import CommandLine
from tests.integration.test_bell import _without_descriptors as without_descriptors
from tests.integration.test_faults import mounted, play
from tests.relayed import linked
from tests.room_activity import Activity, busy_room
from tests.served import served

SIZE = Settings().reserve_bytes
pytestmark = pytest.mark.promise("full-disk-reserve")


@pytest.mark.timeout(120)
def test_on_a_disk_without_a_free_byte_mail_is_read_and_forgotten_and_status_says_why(tmp_path: Path):
    prefix = mounted(f"mount -t tmpfs -o size=96m tmpfs '{tmp_path}'")
    said = play("go_on_on_a_full_disk", tmp_path / "home", prefix=prefix)
    assert said["kept"] == SIZE
    assert said["sending"] == ["store_full", "store_full"]
    assert said["order"]
    assert (said["full"], said["healthy"]) == (True, False)
    assert len(said["warned"]) == 1
    assert said["pruned"] >= 100
    assert said["problems"] == []
    assert said["then"] == SIZE
    assert said["sound"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("is_long", ["", "long"])
def test_a_prune_whose_journals_are_behind_gives_the_reserve_back(tmp_path: Path, is_long: str):
    prefix = mounted(f"mount -t tmpfs -o size=48m tmpfs '{tmp_path}'")
    said = play("prune_with_journals_behind", tmp_path / "home", is_long, prefix=prefix)
    assert said["behind"] > said["sent"]
    assert said["held"] > SIZE // 2  # what was read while the disk was filled is in the log
    assert all(held >= said["held"] for _, held in said["steps"])
    if not is_long:
        assert [held for _, held in said["steps"]] == [SIZE] * 3
        assert {how for how, _ in said["steps"]} == {"done"}
        assert sum(said["pruned"]) > said["sent"] // 3
    assert said["read"] == ["done"] * 5
    assert said["problems"] == []
    assert said["sound"]


@pytest.mark.parametrize("seed", range(3))
def test_a_prune_that_leaves_the_journals_behind_leaves_a_room_that_they_rebuild(
    home: str, monkeypatch: pytest.MonkeyPatch, seed: int
):
    with busy_room(home, steps=150, seed=seed, rotate=3000) as room:
        journal.sync(room)
        Activity(room, room.store.clock, seed + 10).run(150)  # type: ignore[arg-type]
        sync = journal.sync

        def full(room: LocalRoom) -> int:
            raise errors.StoreFull("no space left")

        monkeypatch.setattr(journal, "sync", full)
        pruned = keep.prune(room, room.now() - 20_000)
        monkeypatch.setattr(journal, "sync", sync)
        assert pruned.messages
        assert journal.lag(room)
        assert verify(room, deep=True).problems == []
        journal.sync(room)
        assert verify(room, deep=True).problems == []
        again = keep.prune(room, room.now())
        assert again.snapshot
        assert verify(room, deep=True).problems == []


@pytest.mark.parametrize(("held", "words"), [(True, "mail can be read"), (False, "mail may not be read")])
def test_status_says_of_a_full_disk_what_can_still_be_done(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch, held: bool, words: str
):
    monkeypatch.setattr(reserve, "free", lambda _: 1 << 30)
    if held:
        reserve.keep(room)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(link, "obstacle", lambda _: full)
    [warning] = [one for one in gather(room)["warnings"] if "full" in one]
    assert words in warning


class Disk:
    """A disk that is full as long as the reserve is on it; what was stored is counted."""

    def __init__(self, room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reserve, "free", lambda _: 1 << 30)
        reserve.keep(room)
        self.refused, commit = 0, SqliteStore.commit

        def full(store: SqliteStore) -> None:
            if reserve.held(room.home):
                self.refused += 1
                store.rollback()
                raise errors.StoreFull("no space left")
            commit(store)

        monkeypatch.setattr(SqliteStore, "commit", full)


@pytest.fixture
def old(room: LocalRoom) -> list[str]:
    return [room.send("builder", f"{n}").id for n in range(3)]


def takes(room: LocalRoom) -> Any:
    mail = room.take("builder", handed=False)
    assert mail is not None
    return room.settle(mail)


def listens(room: LocalRoom) -> Any:
    listening = room.listen("builder", timeout=0)
    found = [mail.id for mail in listening]
    assert len(found) == 3


ACTS: dict[str, Callable[[LocalRoom, list[str]], Any]] = {
    "read": lambda room, _: takes(room),
    "ack": lambda room, old: room.ack(old[0], agent="builder"),
    "nack": lambda room, old: room.nack(old[0], "no", agent="builder"),
    "bundle": lambda room, _: room.take_bundle("builder"),
    "listen": lambda room, _: listens(room),
    "prune": lambda room, _: keep.prune(room, room.now() + 1),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_frees_space_is_done_with_the_reserve_which_is_there_again_after_it(
    room: LocalRoom, old: list[str], monkeypatch: pytest.MonkeyPatch, act: str
):
    if act == "prune":
        for one in old:
            room.ack(one, agent="builder")
    disk = Disk(room, monkeypatch)
    ACTS[act](room, old)
    assert disk.refused  # it was full
    assert reserve.held(room.home) == SIZE
    monkeypatch.undo()
    assert verify(room).problems == []


def test_a_client_of_the_relay_is_pushed_its_mail_and_what_it_has_seen_is_noted(
    room: LocalRoom, old: list[str], monkeypatch: pytest.MonkeyPatch
):
    with served(room) as web:
        disk = Disk(room, monkeypatch)
        with linked(web, "builder") as builder:
            frames = [builder.mail() for _ in old]
            assert builder.ask("seen", cursor=frames[-1]["cursor"])["ok"] == {"seen": 3}
        monkeypatch.undo()
        assert disk.refused
        assert [room.receipts(one).deliveries[0].state for one in old] == ["seen"] * 3


def test_a_message_is_no_reason_to_spend_the_reserve(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    Disk(room, monkeypatch)
    with pytest.raises(errors.StoreFull) as caught:
        room.send("builder", "x")
    assert "postroom prune" in caught.value.hint
    assert reserve.held(room.home) == SIZE


def test_without_a_reserve_it_is_still_said_that_the_disk_is_full(
    room: LocalRoom, old: list[str], monkeypatch: pytest.MonkeyPatch
):
    def full(store: SqliteStore) -> None:
        store.rollback()
        raise errors.StoreFull("no space left")

    monkeypatch.setattr(SqliteStore, "commit", full)
    with pytest.raises(errors.StoreFull):
        room.ack(old[0], agent="builder")


def test_a_small_disk_is_not_filled_with_a_reserve(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reserve, "free", lambda _: SIZE)
    reserve.keep(room)
    assert reserve.held(room.home) == 0


def test_the_reserve_is_private_and_follows_no_link(room: LocalRoom, tmp_path: Path):
    target = tmp_path / "target"
    target.write_text("somebody's")
    os.symlink(target, reserve.path(room.home))
    reserve.keep(room)
    assert target.read_text() == "somebody's"
    os.unlink(reserve.path(room.home))
    reserve.keep(room)
    assert os.stat(reserve.path(room.home)).st_mode & 0o777 == 0o600


def test_who_makes_a_room_by_command_makes_its_reserve(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("POSTROOM_RESERVE_BYTES")
    cli = CommandLine(home)
    cli.ok("join", "planner")
    assert reserve.held(home) == SIZE
    store = cli.ok("status", "--json").json["store"]
    assert (store["full"], store["reserve_bytes"]) == (False, SIZE)
    assert store["free_bytes"] > 0


# what the cause is called

QUOTA = getattr(errno, "EDQUOT", errno.ENOSPC)
CAUSES = [
    (errno.ENOSPC, errors.StoreFull), (QUOTA, errors.StoreFull), (errno.EMFILE, errors.TooManyFiles),
    (errno.ENFILE, errors.TooManyFiles), (errno.EROFS, errors.StoreReadOnly),
    (errno.EACCES, errors.StoreReadOnly),
]  # fmt: skip


@pytest.mark.parametrize(("number", "kind"), CAUSES)
def test_a_systems_error_about_a_file_is_called_what_it_is(number: int, kind: type[errors.StoreError]):
    @file.tells_of_files
    def act() -> None:
        raise OSError(number, os.strerror(number), "/room/x")

    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert caught.value.hint


@pytest.mark.parametrize(("number", "kind"), CAUSES[:4])
@pytest.mark.parametrize("code", [10, 14])
def test_where_sqlite_does_not_say_why_the_system_is_asked(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[errors.StoreError], code: int
):
    exc: Any = RuntimeError("disk I/O error")
    exc.sqlite_errorcode = code
    usual = errors.StoreReadOnly if code == 14 else errors.StoreError
    assert type(link.explain(exc, room.store.path)) is usual
    assert [name for name in os.listdir(room.home) if "tried" in name] == []
    monkeypatch.setattr(link, "obstacle", lambda _: OSError(number, os.strerror(number)))
    assert type(link.explain(exc, room.store.path)) is kind


def test_a_quota_is_a_full_disk_in_status(home: str, monkeypatch: pytest.MonkeyPatch):
    cli = CommandLine(home)
    cli.ok("join", "planner")
    monkeypatch.setattr(link, "obstacle", lambda _: OSError(QUOTA, "Disk quota exceeded"))
    assert cli.ok("status", "--json").json["store"]["full"]
    assert "the disk is full" in " ".join(cli.ok("status").out.split())


@pytest.mark.parametrize("can_be_unnamed", [True, False])
def test_a_kill_while_the_disk_is_tried_leaves_nothing(
    home: str, monkeypatch: pytest.MonkeyPatch, can_be_unnamed: bool
):
    cli = CommandLine(home)
    cli.ok("join", "planner")
    if not can_be_unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    before = sorted(os.listdir(home))
    if (pid := os.fork()) == 0:
        monkeypatch.setattr(os, "write", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        link.obstacle(os.path.join(home, "room.db"))
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    left = sorted(os.listdir(home))
    if can_be_unnamed:
        assert left == before
    else:
        assert any(link.TRIED in name for name in left)
    cli.ok("status", "--json")
    assert [name for name in os.listdir(home) if link.TRIED in name] == []


def test_status_writes_nothing_where_the_system_says_that_the_disk_is_full(
    home: str, monkeypatch: pytest.MonkeyPatch
):
    cli = CommandLine(home)
    cli.ok("join", "planner")
    monkeypatch.setattr(reserve, "free", lambda _: 0)
    monkeypatch.setattr(link, "obstacle", lambda _: pytest.fail("it was tried"))
    assert cli.ok("status", "--json").json["store"]["full"]


def test_without_a_descriptor_to_spare_a_room_is_not_called_read_only(open_room: Any, room: LocalRoom):
    other = open_room("builder")
    with pytest.raises(errors.TooManyFiles) as caught:
        without_descriptors(other.peek)
    assert "ulimit" in caught.value.hint
    assert other.peek() == []


def test_nor_by_the_command(home: str):
    cli = CommandLine(home)
    cli.ok("join", "planner")
    result = cli.shell("ulimit -n 5; postroom inbox --as planner --json")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft > 5
    if result.code:  # how many it needs is not fixed
        assert json.loads(result.err.splitlines()[-1])["error"] == "too_many_files"
