"""What a store has lost and its journals have: it is named, nothing is changed, it can be brought back."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.room import digest, journal, keep, loss, replay
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import START
from tests.commandline import CommandLine
from tests.conftest import UNLIMITED
from tests.room_activity import Steps, busy_room, reopened

pytestmark = [pytest.mark.timeout(60), pytest.mark.promise("verify")]

# A program that is killed leaves the latest of its messages in the WAL alone. The journals have them.
KILLED = """
import os, signal, sys
from postroom.config import Settings
from postroom.room import journal
from postroom.room.local import LocalRoom
home = sys.argv[1]
with LocalRoom(home, Settings(sender_rate=0), agent="planner", project="p") as room:
    for agent in ("planner", "builder"):
        room.join(agent)
    for n in range(20):
        room.send("builder", f"kept {n}")
    journal.sync(room)
    room.store.upkeep()._empty_wal()
    for n in range(30):
        room.send("builder", f"lost {n}")
        room.take("builder")
    journal.sync(room)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def remove(wal: str) -> None:
    os.unlink(wal)


def cut(wal: str) -> None:
    os.truncate(wal, os.path.getsize(wal) // 3)


def damage(wal: str) -> None:
    with open(wal, "r+b") as file:
        file.seek(os.path.getsize(wal) // 4)
        file.write(os.urandom(64))


HARMS = {"removed": remove, "cut": cut, "damaged": damage}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The home of a room whose program was killed when its journals were up to date."""
    home = str(tmp_path_factory.mktemp("killed") / "home")
    done = subprocess.run([sys.executable, "-c", KILLED, home], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert os.path.getsize(os.path.join(home, "room.db-wal")) > 100_000
    return home


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def whole(killed: str, home: str) -> str:
    """A copy of it."""
    shutil.copytree(killed, home)
    for name in os.listdir(home):
        if name.endswith("-shm"):
            os.unlink(os.path.join(home, name))
    return home


@pytest.fixture(params=HARMS)
def harmed(whole: str, request: pytest.FixtureRequest) -> str:
    """The same with a WAL that was harmed."""
    HARMS[request.param](os.path.join(whole, "room.db-wal"))
    return whole


def bodies(home: str) -> set[str]:
    with LocalRoom(home, UNLIMITED, agent="planner", project="p") as room:
        return {row["body"] for row in room.store.whole().rows("message")}


ALL = {f"kept {n}" for n in range(20)} | {f"lost {n}" for n in range(30)}


def contents(home: str) -> dict[str, bytes]:
    """All files but those that SQLite writes by itself when a room is opened."""
    files = [path for path in Path(home).rglob("*") if path.is_file() and not path.name.startswith("room.db")]
    return {str(path): path.read_bytes() for path in files}


def rows(home: str) -> list[object]:
    with LocalRoom(home, UNLIMITED, agent="planner", project="p") as room:
        whole = room.store.whole()
        tables = [list(whole.rows(table)) for table in (*digest.TABLES, "event")]
        return [*tables, room.store.look().position(journal.FOLLOWER)]


def test_what_the_store_has_lost_is_named_and_nothing_is_changed(harmed: str, tmp_path: Path) -> None:
    before, state = contents(harmed), rows(harmed)
    for deep in (None, False):
        with LocalRoom(harmed, UNLIMITED, agent="planner", project="p") as room:
            found = verify(room, deep=deep)
        [lost] = found.lost
        assert not lost.voided
        assert 0 < lost.messages <= 30
        assert lost.events > lost.messages
        assert found.problems[0].endswith("; to bring it back: postroom replay --into NEW_HOME")
        assert f"{lost.events} events from {lost.first} to {lost.last}" in found.problems[0]
        assert (contents(harmed), rows(harmed)) == (before, state)
    replay.replay(os.path.join(harmed, "events"), str(tmp_path / "rebuilt"))
    assert bodies(str(tmp_path / "rebuilt")) == ALL


def test_the_command_line_says_so_and_brings_it_back(harmed: str, cli: CommandLine, tmp_path: Path) -> None:
    told = cli("verify", "--json")
    assert told.code == 1
    assert json.loads(told.out)["lost"][0]["messages"] > 0
    told = cli("verify")
    assert (told.code, "postroom replay --into NEW_HOME" in told.out) == (1, True)
    assert "lost events" in cli("status").out
    told = cli("replay", "--into", str(tmp_path / "rebuilt"))
    assert told.code == 0
    assert bodies(str(tmp_path / "rebuilt")) == ALL


def test_what_was_voided_is_named_and_brought_back_until_that_is_accepted(
    harmed: str, cli: CommandLine, tmp_path: Path
) -> None:
    assert cli("send", "builder", "in the second life", "--as", "planner").code == 0
    told = cli("journal")  # which writes the rewind
    assert "lost from the store" in told.out
    for _ in range(2):
        told = cli("verify")
        assert told.code == 1
        assert "postroom replay --voided --into NEW_HOME" in told.out
        assert "postroom journal accept" in told.out
        assert "the store has lost what the journals have" in cli("status").out
    again = str(tmp_path / "again")
    told = cli("replay", "--into", again)
    assert "postroom replay --voided" in told.out
    assert "in the second life" in bodies(again)
    assert not bodies(again) >= ALL
    rebuilt = str(tmp_path / "rebuilt")
    told = cli("replay", "--voided", "--into", rebuilt)
    assert "left out: " in told.out
    assert bodies(rebuilt) == ALL
    with LocalRoom(rebuilt, UNLIMITED, agent="planner", project="p") as room:
        room.send("builder", "goes on")
        assert verify(room).problems == []
    assert "accepted as lost: " in cli("journal", "accept").out
    assert cli("verify").code == 0
    assert "lost" not in cli("status").out
    assert cli("replay", "--voided", "--into", str(tmp_path / "later")).code == 0


def test_a_sound_room_has_lost_nothing(whole: str, cli: CommandLine) -> None:
    assert cli("verify").code == 0
    assert cli("journal", "accept").out == "the store has lost nothing that the journals have\n"
    told = cli("replay", "--voided", "--into", f"{whole}-2")
    assert told.code != 0
    assert "nothing was voided" in told.err


def test_a_store_that_was_lost_and_made_anew_is_not_taken_for_the_room(
    whole: str, cli: CommandLine, tmp_path: Path
) -> None:
    for name in ("room.db", "room.db-wal"):
        os.unlink(os.path.join(whole, name))
    told = cli("verify")
    assert told.code != 0
    assert "postroom replay --into" in told.err
    with LocalRoom(whole, UNLIMITED, agent="planner", project="p") as room:
        room.join("planner")
        [problem, *_] = verify(room).problems
        assert "with 50 messages" in problem
    assert cli("replay", "--into", str(tmp_path / "rebuilt")).code == 0
    assert bodies(str(tmp_path / "rebuilt")) == ALL


@pytest.mark.parametrize("rotate", [700, 1 << 23])
def test_a_process_killed_while_it_voids_lines_leaves_all_of_them_to_be_brought_back(
    home: str, tmp_path: Path, rotate: int
) -> None:
    with busy_room(home, steps=60, seed=2, rotate=rotate) as room:
        journal.sync(room)
        room.store.upkeep().copy(os.path.join(tmp_path, "older.db"))
        for n in range(5):
            for sender in ("planner", "builder", "reviewer"):
                room.send("reviewer" if sender == "planner" else "planner", f"lost {n}", sender=sender)
            journal.sync(room)
        ids = {row["id"] for row in room.store.whole().rows("message")}
        state = digest.digest(room.store.whole())
    for name in ("room.db", "room.db-wal", "room.db-shm"):
        Path(home, name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "older.db", os.path.join(home, "room.db"))
    with reopened(home) as room:
        room.send("builder", "in the second life")
    places = Steps(home, "sync", rotate=rotate).killed_at_each(most=4)
    assert any(place.startswith("journal-before-rewind") for place in places)
    for n, (place, copy) in enumerate(places.items()):
        with reopened(copy, journal_rotate_bytes=rotate) as room:
            journal.sync(room)
            [lost] = verify(room).lost
            assert lost.messages == 15, place
        done = replay.replay(os.path.join(copy, "events"), f"{home}-rebuilt-{n}", voided=True)
        assert done.digest == state, place
        with reopened(f"{home}-rebuilt-{n}") as room:
            assert {row["id"] for row in room.store.whole().rows("message")} == ids


def test_a_second_loss_is_brought_back_alone(home: str, tmp_path: Path) -> None:
    busy_room(home, steps=40).close()
    for life in ("first", "second"):
        with reopened(home) as room:
            journal.sync(room)
            room.store.upkeep().copy(str(tmp_path / "older.db"))
            room.send("builder", f"of the {life} life")
            journal.sync(room)
            state = digest.digest(room.store.whole())
        for name in ("room.db", "room.db-wal", "room.db-shm"):
            Path(home, name).unlink(missing_ok=True)
        shutil.copy(tmp_path / "older.db", os.path.join(home, "room.db"))
        with reopened(home) as room:
            room.send("builder", f"after the {life} life")
            journal.sync(room)
            [lost] = verify(room).lost
            assert lost.messages == (1 if life == "first" else 2)
        done = replay.replay(os.path.join(home, "events"), str(tmp_path / life), voided=True)
        assert done.digest == state


def test_what_was_pruned_is_not_lost(home: str) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        keep.prune(room, START + 150_000)
        assert loss.find(journal.directory(room), room.store) == []
