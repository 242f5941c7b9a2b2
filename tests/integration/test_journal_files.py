"""The files of the journals: whose they are, what no name and no index makes of them, who writes them."""

import json
import os
import shutil

import pytest

from postroom.cli import main as cli_main
from postroom.config import Settings
from postroom.errors import JournalBroken
from postroom.room import digest, journal, journal_catch_up, replay, segment
from postroom.room.journal_index import Index
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.commandline import CommandLine
from tests.process import eventually
from tests.room_activity import told
from tests.tended import Tended

pytestmark = pytest.mark.timeout(60)


def file_of(room: LocalRoom, name: str) -> str:
    return os.path.relpath(journal.path(room, room.who(name).id), journal.directory(room))


def assert_whole(room: LocalRoom, target: str) -> None:
    journal.sync(room)
    found = verify(room)
    assert found.problems == []
    assert replay.replay(journal.directory(room), target).digest == found.digest


def test_a_file_has_the_name_of_its_agent_and_keeps_it(room: LocalRoom) -> None:
    journal.sync(room)
    assert file_of(room, "planner") == os.path.join("p", "planner.jsonl")
    room.rename("architect", agent="planner")
    room.send("builder", "renamed", sender="architect")
    journal.sync(room)
    assert file_of(room, "architect") == os.path.join("p", "planner.jsonl")


def test_two_agents_of_one_name_have_two_files(room: LocalRoom, tmp_path: os.PathLike[str]) -> None:
    journal.sync(room)
    room.rename("architect", agent="planner")
    room.join("planner")
    room.send("builder", "another", sender="planner")
    journal.sync(room)
    assert file_of(room, "planner") == os.path.join("p", "planner~2.jsonl")
    assert {stem for stem, _ in told(room.home)} >= {room.who("planner").id, room.who("architect").id}
    assert_whole(room, os.path.join(tmp_path, "again"))


def test_an_index_that_is_lost_is_made_again_from_the_lines(room: LocalRoom) -> None:
    journal.sync(room)
    path = os.path.join(journal.directory(room), "index.json")
    with open(path, "rb") as opened:
        before = opened.read()
    os.unlink(path)
    room.send("builder", "on it goes")
    journal.sync(room)
    with open(path, "rb") as opened:
        assert opened.read() == before
    assert verify(room).problems == []


@pytest.mark.parametrize(
    "entry", ["../../x.jsonl", "/tmp/x.jsonl", "p/../../x.jsonl", "p/.x.jsonl", "x.jsonl", 7, "p/B.jsonl"]
)
def test_a_hostile_entry_of_the_index_is_refused(
    room: LocalRoom, tmp_path: os.PathLike[str], entry: object
) -> None:
    journal.sync(room)
    path, party = os.path.join(journal.directory(room), "index.json"), room.who("planner").id
    with open(path, "w", encoding="utf-8") as opened:
        json.dump({party: entry}, opened)
    before = sorted(os.listdir(tmp_path))
    room.send("builder", "where does it go?")
    journal.sync(room)
    assert sorted(os.listdir(tmp_path)) == before
    assert file_of(room, "planner") == os.path.join("p", "planner.jsonl")
    assert_whole(room, os.path.join(tmp_path, "again"))


def test_an_index_that_gives_one_agent_the_file_of_another_is_not_believed(room: LocalRoom) -> None:
    journal.sync(room)
    path = os.path.join(journal.directory(room), "index.json")
    with open(path, encoding="utf-8") as opened:
        known = json.load(opened)
    one, other = known
    with open(path, "w", encoding="utf-8") as opened:
        json.dump({one: known[other], other: known[one]}, opened)
    room.send("builder", "whose?", sender="planner")
    journal.sync(room)
    with open(path, encoding="utf-8") as opened:
        assert json.load(opened) == known


@pytest.mark.parametrize("what", ["file", "directory"])
def test_no_link_is_followed(room: LocalRoom, tmp_path: os.PathLike[str], what: str) -> None:
    journal.sync(room)
    path = journal.path(room, room.who("planner").id)
    victim = os.path.join(tmp_path, "victim")
    if what == "file":
        shutil.move(path, victim)
        os.symlink(victim, path)
    else:
        shutil.move(os.path.dirname(path), victim)
        os.symlink(victim, os.path.dirname(path))
    inside = os.path.join(victim, "planner.jsonl") if what == "directory" else victim
    size = os.path.getsize(inside)
    room.send("builder", "not there")
    with pytest.raises(JournalBroken):
        journal.sync(room)
    assert os.path.getsize(inside) == size


def test_journals_named_by_id_go_on_under_names_and_rebuild_the_room(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    journal.sync(room)
    events = journal.directory(room)
    for name in ("planner", "builder"):
        os.rename(journal.path(room, room.who(name).id), os.path.join(events, f"{room.who(name).id}.jsonl"))
    os.unlink(os.path.join(events, "index.json"))
    os.rmdir(os.path.join(events, "p"))
    room.send("builder", "by name from here on")
    journal.sync(room)
    planner = room.who("planner").id
    assert file_of(room, "planner") == os.path.join("p", "planner.jsonl")
    assert Index(events).every(planner) == [planner, "p/planner"]
    assert [found.is_open for found in segment.of(events, planner)] == [False]
    assert_whole(room, os.path.join(tmp_path, "again"))


@pytest.mark.promise("journals")
def test_a_command_writes_overdue_journals_and_replay_finds_the_mail(
    home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_catch_up, "MOST", 60.0)  # the machine may be busy
    with LocalRoom(home, Settings(sender_rate=0), agent="planner", project="p") as room:
        for name in ("planner", "builder"):
            room.join(name)
        for n in range(205):
            room.send("builder", f"number {n}")
        assert room.has_overdue_journals()
        assert cli_main.run(["inbox", "--home", home, "--as", "p/builder"]) == 0
        assert journal.lag(room) == 0
        state = digest.digest(room.store.whole())
    with open(os.path.join(home, "room.db"), "r+b") as opened:
        opened.write(b"\0" * 4096)
    done = replay.replay(os.path.join(home, "events"), os.path.join(tmp_path, "again"))
    assert done.digest == state


def test_a_command_leaves_journals_that_are_not_overdue(room: LocalRoom) -> None:
    assert not room.has_overdue_journals()
    assert cli_main.run(["inbox", "--home", room.home, "--as", "p/builder"]) == 0
    assert journal.lag(room) == 3


@pytest.mark.promise("journals")
def test_a_daemon_writes_the_journals_as_events_come_and_to_the_end(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    from postroom.daemon.journals import Journals

    follower = Journals(room)
    follower.start()
    room.send("builder", "one")
    while journal.lag(room):
        os.sched_yield()
    room.send("builder", "two")
    assert follower.stop() is None
    assert journal.lag(room) == 0
    state = digest.digest(room.store.whole())
    assert replay.replay(journal.directory(room), os.path.join(tmp_path, "again")).digest == state


@pytest.mark.promise("journals")
@pytest.mark.timeout(120)
def test_a_daemon_process_writes_the_journals_and_they_bring_all_mail_back(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    again = os.path.join(tmp_path, "again")
    with Tended(room) as house:
        house.start()
        for n in range(3):
            assert house.line.process("send", "builder", f"while it runs {n}", "--as", "planner").code == 0
        eventually(lambda: journal.lag(room) == 0)
        for n in range(40):
            room.send("builder", f"at the end {n}")
        done = house.line.process("down")
        assert done.code == 0, done
        eventually(lambda: house.process.poll() is not None)
    assert journal.lag(room) == 0
    bodies = [mail.body for mail in room.peek("builder", limit=100)]
    assert len(bodies) == 43
    room.close()
    with open(os.path.join(room.home, "room.db"), "r+b") as opened:
        opened.write(b"\0" * 8192)
    cli = CommandLine(room.home)
    broken = cli.process("inbox", "--as", "builder")
    assert broken.code != 0
    assert "postroom replay" in broken.err
    done = cli.process("replay", "--into", again)
    assert done.code == 0, done
    with LocalRoom(again, Settings(sender_rate=0), agent="planner", project="p") as rebuilt:
        assert [mail.body for mail in rebuilt.peek("builder", limit=100)] == bodies
