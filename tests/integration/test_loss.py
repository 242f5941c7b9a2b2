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
from tests.conftest import UNLIMITED, OpenRoom
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
    events = os.path.join(whole, "events")
    os.rename(events, tmp_path / "events")  # an earlier version made a room beside them
    with LocalRoom(whole, UNLIMITED, agent="planner", project="p") as room:
        room.join("planner")
    os.rename(tmp_path / "events", events)
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


# what deletes, while a loss is open


@pytest.mark.parametrize("is_first", [True, False])
def test_a_prune_deletes_nothing_while_a_loss_is_neither_brought_back_nor_accepted(
    harmed: str, cli: CommandLine, tmp_path: Path, is_first: bool
) -> None:
    if not is_first:
        for n in range(15):
            assert cli("send", "builder", f"in the second life {n}", "--as", "planner").code == 0
        assert cli("journal").code == 0
    before = contents(harmed)
    for _ in range(2):
        told = cli("prune", "--before", "0s", "--yes", "--json")
        assert told.code not in (0, None)
        said = json.loads(told.err)
        assert said["error"] == "loss_open"
        assert "postroom journal accept" in said["hint"]
        assert f"postroom replay {'' if is_first else '--voided '}--into NEW_HOME" in said["hint"]
        assert {k: v for k, v in contents(harmed).items() if "events" in k} == {
            k: v for k, v in before.items() if "events" in k
        }
    assert cli("verify").code == 1
    rebuilt = str(tmp_path / "rebuilt")
    assert cli("replay", *([] if is_first else ["--voided"]), "--into", rebuilt).code == 0
    assert bodies(rebuilt) == ALL
    assert cli("journal", "accept").code == 0
    assert cli("prune", "--before", "0s", "--yes").code == 0
    assert cli("verify").code == 0


def test_a_redaction_and_a_restore_during_an_open_loss_leave_the_rest_to_be_brought_back(
    harmed: str, cli: CommandLine, tmp_path: Path
) -> None:
    assert cli("send", "builder", "in the second life", "--as", "planner").code == 0
    assert cli("journal").code == 0
    with LocalRoom(harmed, UNLIMITED, agent="planner", project="p") as room:
        taken = next(row["id"] for row in room.store.whole().rows("message") if row["body"] == "kept 3")
    assert cli("redact", taken, "--yes").code == 0
    assert cli("replay", "--voided", "--into", str(tmp_path / "one")).code == 0
    assert bodies(str(tmp_path / "one")) == (ALL - {"kept 3"}) | {""}
    kept = str(tmp_path / "kept.db")
    assert cli("backup", kept).code == 0
    home = json.loads(cli("restore", kept, "--yes", "--json").out)["kept"]
    assert cli("replay", "--voided", "--from", home, "--into", str(tmp_path / "two")).code == 0
    assert bodies(str(tmp_path / "two")) == (ALL - {"kept 3"}) | {""}


# a young room, all of whose mail is in the write-ahead log

YOUNG = """
import os, signal, sys
from postroom.config import Settings
from postroom.room.local import LocalRoom
with LocalRoom(sys.argv[1], Settings(sender_rate=0), agent="planner", project="p") as room:
    for agent in ("planner", "builder"):
        room.join(agent)
    for n in range(60):
        room.send("builder", f"young {n}")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def young(home: str) -> str:
    """The home of a room whose program was killed: no journals are written yet."""
    done = subprocess.run([sys.executable, "-c", YOUNG, home], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    Path(home, "room.db-shm").unlink()
    return home


def flip(path: str, at: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        [byte] = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def files(home: str) -> dict[str, bytes]:
    """The room's own files, but the one that SQLite makes beside them in memory."""
    return {path.name: path.read_bytes() for path in Path(home).glob("room.db*") if path.suffix != ".db-shm"}


def without_schema(home: str) -> None:
    """Leave the store as earlier versions made it: all of the schema is in the log."""
    header = bytearray(Path(home, "room.db").read_bytes()[:4096])
    header[28:32] = (1).to_bytes(4, "big")  # pages
    header[60:64] = header[68:72] = bytes(4)  # the version of the schema; the program
    header[40:44] = bytes(4)
    header[100:] = b"\x0d" + bytes(7) + bytes(4096 - 108)
    header[105:107] = (4096).to_bytes(2, "big")
    Path(home, "room.db").write_bytes(header)


EVERY = {
    "verify": ["verify"], "quick": ["verify", "--quick"], "inbox": ["inbox", "--as", "p/builder"],
    "send": ["send", "p/builder", "x", "--as", "p/planner"], "join": ["join", "planner"],
    "status": ["status"], "journal": ["journal"], "prune": ["prune", "--before", "1d", "--yes"], "up": ["up"],
}  # fmt: skip


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("at", [0, 3, 9, 17, 24, 31])
def test_no_command_opens_a_room_over_a_log_with_a_damaged_header(
    young: str, cli: CommandLine, command: str, at: int
) -> None:
    wal = os.path.join(young, "room.db-wal")
    flip(wal, at)
    before = files(young)
    told = cli(*EVERY[command])
    assert told.code not in (0, None)
    assert "is damaged" in told.err + told.out
    assert "room.db-wal" in told.err + told.out
    assert files(young) == before
    flip(wal, at)
    assert len(bodies(young)) == 60


@pytest.mark.parametrize("command", EVERY)
def test_no_command_makes_a_room_over_a_log_that_has_another_one(
    young: str, cli: CommandLine, command: str
) -> None:
    os.unlink(os.path.join(young, "room.db"))
    before = files(young)
    told = cli(*EVERY[command])
    assert told.code not in (0, None)
    assert files(young) == before


def test_a_store_without_a_schema_is_not_taken_for_a_new_room(young: str, cli: CommandLine) -> None:
    wal = os.path.join(young, "room.db-wal")
    without_schema(young)
    flip(wal, 32 + 24 + 100)  # in the first page: SQLite reads none of the log
    before = files(young)
    for command in EVERY.values():
        told = cli(*command)
        assert told.code not in (0, None)
        assert "is damaged" in told.err + told.out
        assert files(young) == before


def test_a_page_of_the_log_that_is_damaged_is_found_where_no_journals_tell(
    young: str, cli: CommandLine
) -> None:
    wal = os.path.join(young, "room.db-wal")
    flip(wal, 32 + 10 * (24 + 4096) + 24 + 100)
    told = cli("verify")
    assert told.code == 1
    assert "cannot be read" in told.out
    assert "postroom replay" in told.out
    assert cli("verify").code == 1  # it is still there
    flip(wal, 32 + 10 * (24 + 4096) + 24 + 100)
    assert cli("verify").code == 0


def test_a_new_room_has_its_schema_in_its_own_file(home: str, open_room: OpenRoom) -> None:
    with open_room("planner") as room:
        room.store.look().last_cursor()
        assert os.path.getsize(room.store.path) > 4096
        with open(room.store.path, "rb") as file:
            assert b"CREATE TABLE" in file.read()


def test_a_lost_room_is_not_made_anew_beside_its_journals_and_a_backup_takes_its_place(
    whole: str, cli: CommandLine, tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept.db")
    assert cli("backup", kept).code == 0
    for name in ("room.db", "room.db-wal"):
        Path(whole, name).unlink(missing_ok=True)
    before = contents(whole)
    for command in EVERY.values():
        told = cli(*command)
        assert told.code not in (0, None)
        assert "postroom replay --into NEW_HOME" in told.err + told.out
        assert not os.path.exists(os.path.join(whole, "room.db"))
    assert {path: text for path, text in contents(whole).items() if "events" in path} == {
        path: text for path, text in before.items() if "events" in path
    }
    assert cli("restore", kept, "--yes").code == 0
    assert bodies(whole) == ALL
    assert cli("verify").code == 0


def test_a_room_that_was_being_made_by_a_killed_process_is_made(home: str, open_room: OpenRoom) -> None:
    with open_room("planner", home=home) as room:
        room.join("planner")
    without_schema(home)
    for name in ("room.db-wal", "room.db-shm"):
        Path(home, name).unlink(missing_ok=True)
    with open_room("planner", home=home) as room:
        room.join("planner")
        assert verify(room).problems == []


def test_status_does_not_say_that_the_store_has_all_that_it_lost(harmed: str, cli: CommandLine) -> None:
    told = cli("status")
    assert "the store has lost events" in " ".join(told.out.split())
    assert "the store has them all" not in " ".join(told.out.split())
    assert cli("send", "builder", "x", "--as", "planner").code == 0
    assert cli("journal").code == 0
    assert cli("send", "builder", "y", "--as", "planner").code == 0
    assert "the store has them all" not in " ".join(cli("status").out.split())


def test_a_directory_in_the_place_of_the_index_is_named(whole: str, cli: CommandLine) -> None:
    index = Path(whole, "events", "index.json")
    index.unlink()
    index.mkdir()
    assert cli("join", "reviewer").code == 0
    told = cli("journal", "--json")
    said = json.loads(told.err)
    assert said["error"] == "journal_broken"
    assert said["message"] == f"{index} is a directory"
    assert "Move it away" in said["hint"]
    index.rmdir()
    assert cli("journal").code == 0
    assert cli("verify").code == 0


def test_a_restore_removes_what_a_killed_one_has_left(whole: str, cli: CommandLine, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept.db")
    assert cli("backup", kept).code == 0
    gone = "4711.1.long-ago.1"
    other = Path(whole, "before-restore-7")
    other.mkdir()
    left = [Path(whole, f".restored.db.abcdef.{gone}"), other / f".room.db.abcdef.{gone}"]
    for one in left:
        one.write_text("half")
    assert cli("restore", kept, "--yes").code == 0
    assert not any(one.exists() for one in left)
