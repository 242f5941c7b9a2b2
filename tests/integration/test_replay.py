"""Replay: the journals alone rebuild the room, and say where they cannot."""

import gzip
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.errors import JournalBroken, Refused, UnknownMessage
from postroom.room import digest, journal, keep, line, replay, segment, snapshot
from postroom.room.local import LocalRoom
from postroom.room.refusal import refused
from postroom.room.verify import verify
from postroom.runtimes.contract import Failure
from tests.clockwork import START
from tests.room_activity import busy_room, reopened, told

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def target(tmp_path: os.PathLike[str]) -> str:
    return os.path.join(tmp_path, "rebuilt")


def events_of(room: LocalRoom) -> str:
    journal.sync(room)
    return journal.directory(room)


def state(room: LocalRoom) -> str:
    return digest.digest(room.store.whole())


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), rotate=st.sampled_from([1, 2000, 1 << 23]))
def test_whatever_happened_in_a_room_its_journals_rebuild_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rotate: int
) -> None:
    home = str(tmp_path_factory.mktemp("home"))
    with busy_room(f"{home}/a", seed=seed, rotate=rotate) as room:
        done = replay.replay(events_of(room), f"{home}/b")
        with reopened(f"{home}/b") as rebuilt:
            assert state(rebuilt) == state(room) == done.digest
            assert list(rebuilt.events()) == list(room.events())
            assert done.last == int(room.store.look().last_cursor())
            assert verify(rebuilt).problems == []


def test_each_file_is_read_once_for_rewinds_and_once_for_lines(
    home: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, read = Counter[str](), segment.lines

    def counted(found: segment.Segment) -> Iterator[tuple[int, bytes]]:
        count[found.path] += 1
        return read(found)

    with busy_room(home, rotate=2000) as room:
        events = events_of(room)
        monkeypatch.setattr(segment, "lines", counted)
        replay.replay(events, target)
        assert len(count) == len(journal.paths(room)) > 3
        assert set(count.values()) == {2}
        count.clear()
        assert verify(room, deep=True).problems == []
        assert set(count.values()) == {4}


def test_a_rebuilt_room_goes_on(home: str, target: str) -> None:
    with busy_room(home) as room:
        done = replay.replay(events_of(room), target)
    with reopened(target) as rebuilt:
        sent = rebuilt.send("builder", "after the rebuild")
        assert sent.message.seq > done.last
        assert rebuilt.take("builder", id=sent.id)
        assert verify(rebuilt).problems == []


def test_a_home_that_holds_a_room_is_refused(home: str) -> None:
    with busy_room(home, steps=10) as room:
        events, before = events_of(room), state(room)
        with pytest.raises(Refused):
            replay.replay(events, home)
        assert state(room) == before


def test_a_home_with_another_rooms_journals_is_refused(home: str, target: str) -> None:
    for one in (home, target):
        with busy_room(one, steps=10) as room:
            journal.sync(room)
    os.unlink(os.path.join(target, "room.db"))
    with pytest.raises(Refused):
        replay.replay(os.path.join(home, "events"), target)


@pytest.mark.parametrize("pruned", [False, True])
def test_a_room_whose_file_was_lost_is_rebuilt_where_it_was(home: str, pruned: bool) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        if pruned:
            keep.prune(room, START + 100_000)
        room.send("builder", "the last")
        journal.sync(room)
        before = state(room)
        connection = sqlite3.connect(room.store.path)  # as of a process that still has it open: the WAL stays
        connection.execute("SELECT * FROM meta").fetchall()
    os.unlink(os.path.join(home, "room.db"))
    assert os.path.exists(os.path.join(home, "room.db-wal"))
    assert replay.replay(os.path.join(home, "events"), home).digest == before
    connection.close()
    with reopened(home) as room:
        room.send("builder", "and on")
        assert verify(room).problems == []
        seqs = [document["seq"] for _, document in told(home)]
        assert len(seqs) == len(set(seqs))


def test_a_home_without_journals_is_refused(home: str, target: str) -> None:
    with pytest.raises(JournalBroken, match="no journals"):
        replay.replay(os.path.join(home, "events"), target)
    assert not os.path.exists(os.path.join(target, "room.db"))


def test_a_replay_that_fails_leaves_nothing_behind(
    home: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with busy_room(home, steps=30) as room:
        events = events_of(room)

    def out_of_order(_: Any) -> str:
        raise MemoryError

    monkeypatch.setattr(digest, "digest", out_of_order)
    with pytest.raises(MemoryError):
        replay.replay(events, target)
    assert os.listdir(target) == []


# Damage


def live(room: LocalRoom, name: str) -> str:
    """The journal of an agent, up to date."""
    events_of(room)
    return journal.path(room, room.who(name).id)


def parent(path: str) -> str:
    """The directory of the journals, of which a project's has this one."""
    return os.path.dirname(os.path.dirname(path))


def damaged(home: str, change: Callable[[list[bytes]], Iterator[bytes] | list[bytes]]) -> str:
    """The journals of a room after one of them, the builder's, was changed; its path and theirs."""
    with busy_room(home, steps=100, seed=1) as room:
        path = live(room, "builder")
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    assert len(lines) > 8
    with open(path, "wb") as file:
        file.writelines(change(lines))
    return path


def test_a_missing_line_is_named_by_the_one_after_it(home: str, target: str) -> None:
    path = damaged(home, lambda lines: lines[:4] + lines[5:])
    with pytest.raises(JournalBroken, match=r"\.jsonl:\d+: event \d+ is missing before this line"):
        replay.replay(parent(path), target)


def test_a_line_that_is_no_event_is_named(home: str, target: str) -> None:
    path = damaged(home, lambda lines: [*lines[:4], b"{oops\n", *lines[5:]])
    with pytest.raises(JournalBroken) as broken:
        replay.replay(parent(path), target)
    assert str(broken.value).startswith(f"{path}:5: ")
    assert broken.value.facts["line"] == 5


def test_a_line_that_is_half_an_event_is_named(home: str, target: str) -> None:
    path = damaged(home, lambda lines: [*lines[:4], lines[4][:-30] + b"\n", *lines[5:]])
    with pytest.raises(JournalBroken, match=f"{path}:5: not an event"):
        replay.replay(parent(path), target)


def test_another_event_of_the_same_number_is_named(home: str, target: str) -> None:
    def twice(lines: list[bytes]) -> list[bytes]:
        event = line.decode(lines[4])
        return [*lines[:5], line.encode(event._replace(id="another")), *lines[5:]]

    path = damaged(home, twice)
    with pytest.raises(JournalBroken, match="was told before, and differently"):
        replay.replay(parent(path), target)


def test_an_event_of_an_unknown_type_is_named(home: str, target: str) -> None:
    def strange(lines: list[bytes]) -> list[bytes]:
        event = line.decode(lines[4])
        return [*lines[:4], line.encode(event._replace(type="delivery.vanished", message=None)), *lines[5:]]

    path = damaged(home, strange)
    with pytest.raises(JournalBroken, match=f"{path}:5: "):
        replay.replay(parent(path), target)


def test_a_move_that_the_ladder_does_not_have_is_named(room: LocalRoom, target: str) -> None:
    room.send("builder", "hello")
    room.ack(room.send("builder", "hello").id, agent="builder")
    path = live(room, "builder")
    with open(path, "rb") as file:
        last = file.read().splitlines()[-1]
    event = line.decode(last)
    seen = event._replace(seq=event.seq + 1, id="other", type="delivery.seen", status="seen")
    segment.append(path, line.encode(seen), durable=False)
    with pytest.raises(JournalBroken, match=r":\d+: this cannot follow"):
        replay.replay(journal.directory(room), target)


def test_the_same_line_twice_is_taken_once(home: str, target: str) -> None:
    path = damaged(home, lambda lines: [*lines[:5], lines[4], *lines[5:]])
    done = replay.replay(parent(path), target)
    with reopened(home) as room:
        assert done.digest == state(room)


def test_a_last_line_that_was_never_finished_counts_for_nothing(home: str, target: str) -> None:
    path = damaged(home, lambda lines: [*lines, b'{"seq":99999,"id":'])
    done = replay.replay(parent(path), target)
    with reopened(home) as room:
        assert done.digest == state(room)


def test_journals_that_end_too_early_are_noticed(room: LocalRoom, target: str) -> None:
    room.send("builder", "the last")
    path = live(room, "planner")
    os.truncate(path, os.path.getsize(path) - 10)
    with pytest.raises(JournalBroken, match="end at event 3, but were written up to 4"):
        replay.replay(journal.directory(room), target)


@pytest.mark.parametrize("harm", ["cut", "flip"])
def test_a_damaged_compressed_journal_is_noticed(home: str, target: str, harm: str) -> None:
    with busy_room(home, rotate=1000) as room:
        path = next(
            path for path in map(str, (events_of(room), *journal.paths(room))) if path.endswith(".gz")
        )
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if harm == "cut":
            file.truncate(size - 9)
        else:
            file.seek(size // 2)
            byte = file.read(1)[0]
            file.seek(size // 2)
            file.write(bytes([byte ^ 0x55]))
    with pytest.raises(JournalBroken, match=os.path.basename(path)):
        replay.replay(os.path.join(home, "events"), target)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b'"format":3', b'"format":4'), ":1: not a snapshot that this version reads"),
        ((b'"state":"seen"', b'"state":"acked"'), "its digest is not that of its rows"),
        ((b'"state":"stored"', b'"state":"acked"'), "cannot be put back"),
        ((b'{"table":"lease"', b'{"table:"lease"'), ":"),
        ((b'{"table":"lease"', b'{"table":"sqlite_master"'), "cannot be put back"),
        ((b'{"digest"', b'{"seq"'), "cannot be put back"),
    ],
)
def test_a_damaged_snapshot_is_noticed(
    home: str, target: str, change: tuple[bytes, bytes], said: str
) -> None:
    with busy_room(home, steps=100) as room:
        keep.prune(room, START + 50_000)
        [taken] = snapshot.listed(journal.directory(room))
    with gzip.open(taken.path) as file:
        content = file.read()
    assert change[0] in content
    with gzip.open(taken.path, "wb") as file:
        file.write(content.replace(*change))
    with pytest.raises(JournalBroken) as broken:
        replay.replay(os.path.join(home, "events"), target)
    assert taken.path in str(broken.value)
    assert said in str(broken.value)


# What is no damage


def test_a_message_removed_before_it_was_told_leaves_a_gap_that_is_explained(
    room: LocalRoom, target: str
) -> None:
    room.join("brief/one")
    room.send("brief/one", "never told", sender="brief/one")
    room.delete_project("brief")
    done = replay.replay(events_of(room), target)
    assert done.digest == state(room)


def test_a_page_that_is_being_written_does_not_disturb(home: str, target: str) -> None:
    with busy_room(home, steps=60) as room:
        events = events_of(room)
        before = state(room)
        for n in range(8):
            room.send("builder", f"new {n}", sender="planner" if n % 2 else "reviewer")
        head, last = journal.read_head(events), journal.path(room, room.who("planner").id)
        assert head
        size = os.path.getsize(last)
        journal.drain(room, room.store.begin())
        room.store.rollback()  # as when it was killed here, and one of the files was not finished
        os.truncate(last, size + 100)
        journal.write_head(events, head)
        done = replay.replay(events, target)
        assert done.last == head.seq + 1
        journal.sync(room)
        assert verify(room).problems == []
        assert before != state(room)


@pytest.mark.parametrize("reused", [False, True])
def test_journals_closed_while_they_are_read_are_read_again(
    home: str, target: str, reused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with busy_room(home) as room:
        events = events_of(room)
        settled, moved = segment.settled, []
        path = live(room, "planner")

        def settled_then_moved(directory: str) -> dict[str, list[segment.Segment]]:
            found = settled(directory)
            if not moved:
                moved.append(path)
                os.rename(path, path.replace(".jsonl", f".1-{segment.mend(path).seq}.jsonl"))
                if reused:  # another file takes its name
                    room.send("builder", "the first of a new file")
                    journal.sync(room)
            return found

        monkeypatch.setattr(segment, "settled", settled_then_moved)
        assert replay.replay(events, target).digest == state(room)
        assert moved


def test_journals_pruned_while_they_are_read_are_read_again(
    home: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with busy_room(home, steps=200, rotate=3000) as room:
        events = events_of(room)
        listed, pruned = snapshot.listed, []

        def listed_then_pruned(directory: str) -> list[snapshot.Snapshot]:
            found = listed(directory)
            if not pruned:
                pruned.append(True)
                keep.prune(room, START + 100_000)
            return found

        monkeypatch.setattr(snapshot, "listed", listed_then_pruned)
        assert replay.replay(events, target).digest == state(room)


def test_more_journals_than_open_files_are_allowed(room: LocalRoom, target: str) -> None:
    for n in range(150):
        room.join(f"agent-{n}")
    events = events_of(room)
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = os.dup(0)
    os.close(in_use)
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 30, hard))
    try:
        assert replay.replay(events, target).digest == state(room)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# The digest


class Rows:
    """A room as a whole that is only its rows."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        self.tables = tables

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        return iter(self.tables[table])


def test_every_column_of_the_state_enters_the_digest(home: str) -> None:
    with busy_room(home, seed=6) as room:
        with room.write() as tx:
            payload = {"id": "s1", "runtime": "test", "process": "1", "epoch": 1}
            tx.append("session.started", room.who("builder").id, payload=payload)
            refused(tx, room.who("builder").id, Failure("429 Too Many Requests"))
        room.subscribe("of-its-own", agent="builder")
        room.decide(room.send("builder", "?", type="decision_gate").id, "approve", agent="builder")
        tables = {table: list(room.store.whole().rows(table)) for table in digest.TABLES}
        before = state(room)
    assert digest.digest(Rows(tables)) == before  # type: ignore[arg-type]
    for table, rows in tables.items():
        for column in rows[0]:
            if column != "redacted":
                changed = [{**rows[0], column: '"changed"'}, *rows[1:]]
                assert digest.digest(Rows({**tables, table: changed})) != before, (table, column)  # type: ignore[arg-type]
        assert digest.digest(Rows({**tables, table: rows[1:]})) != before, table  # type: ignore[arg-type]


def test_redaction_does_not_change_the_digest(room: LocalRoom) -> None:
    sent = room.send("builder", "secret", subject="s", payload={"a": [1.5, "ü"]}, metadata={"b": None})
    bare = room.send("builder", "only a body")
    before = state(room)
    for ref in (sent.id, bare.id):
        keep.redact(room, ref)
        assert state(room) == before
    with pytest.raises(UnknownMessage):
        keep.redact(room, "00000000")
