"""Queues in SQLite, imported: rows that waited wait, others are history, and the table is told of it."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import label
from postroom.config import Settings
from postroom.imports import follow
from postroom.imports.follow import Follower
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, is_told_well
from tests.process import ROOT, environment, eventually

STATUS = """CREATE TABLE jobs (id INTEGER PRIMARY KEY, from_agent TEXT, to_agent TEXT, type TEXT,
    correlation_id TEXT, payload TEXT, status TEXT DEFAULT 'pending',
    created_at, claimed_at, done_at, cost REAL)"""
READ = """CREATE TABLE post (id INTEGER PRIMARY KEY, sender TEXT, recipient TEXT, body TEXT, reply_to INTEGER,
    created_at, read_at, colour TEXT)"""


class Queue:
    """Another program's, in whatever file."""

    def __init__(self, path: Path, table: str) -> None:
        self.path, self.table = path, table.split()[2]
        self.db = sqlite3.connect(path, isolation_level=None, timeout=0)
        self.db.execute(table)

    def put(self, **said: Any) -> int:
        names, marks = ", ".join(said), ", ".join("?" * len(said))
        sql = f"INSERT INTO {self.table} ({names}) VALUES ({marks})"  # noqa: S608 - ours
        done = self.db.execute(sql, list(said.values()))
        return done.lastrowid or 0

    def ask(self, text: str, **more: Any) -> int:
        said = {"from_agent": "planner", "to_agent": "builder", "type": "request", "payload": text}
        return self.put(**{"created_at": 1772445600, **said, **more})

    def write(self, text: str, **more: Any) -> int:
        said = {"sender": "planner", "recipient": "builder", "body": text, "created_at": 1772445600.5}
        return self.put(**{**said, **more})

    def get(self, id: int, column: str) -> Any:
        sql = f"SELECT {column} FROM {self.table} WHERE id = ?"  # noqa: S608 - ours
        [found] = self.db.execute(sql, [id]).fetchone()
        return found


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    found = Queue(tmp_path / "anything.bin", STATUS)
    yield found
    found.db.close()


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Queue]:
    found = Queue(tmp_path / "post.db", READ)
    yield found
    found.db.close()


def imported(cli: CommandLine, queue: Queue) -> dict[str, Any]:
    return cli.ok("import", str(queue.path), "--apply", "--json").json


def waiting(cli: CommandLine, name: str = "builder") -> list[dict[str, Any]]:
    return cli.ok("inbox", "--as", name, "--json").json["messages"]


def sent(cli: CommandLine, name: str) -> dict[str, dict[str, Any]]:
    messages = cli.ok("sent", "--as", name, "--json").json["messages"]
    return {one["metadata"]["imported"]["id"]: one | cli.receipt(one["id"]) for one in messages}


@pytest.mark.promise("import")
def test_rows_with_a_status_come_in_once_and_only_what_waits_waits(
    cli: CommandLine, queue: Queue, home: str
) -> None:
    queue.ask('{"text": "How many?", "n": 7}', correlation_id="c1", status="done", cost=1.5)
    queue.put(
        from_agent="builder", to_agent="planner", type="response", correlation_id="c1", payload="Forty.",
        status="done", created_at=1772445601,
    )  # fmt: skip
    queue.ask("in hand", status="claimed")
    queue.ask("next")
    queue.ask("To all.", type="broadcast", to_agent=None)
    shown = cli.ok("import", str(queue.path))
    assert "5 messages to take in" in shown.err
    assert not os.path.exists(home)
    assert imported(cli, queue)["messages"]["new"] == 5
    assert [one["body"] for one in waiting(cli)] == ["next", "To all."]
    said, told = sent(cli, "planner"), sent(cli, "builder")
    assert (said["1"]["state"], said["1"]["evidence"], said["1"]["type"]) == ("acked", "imported", "request")
    assert said["1"]["metadata"]["imported"]["rest"]["cost"] == 1.5
    assert said["1"]["metadata"]["imported"]["timestamp"] == "2026-03-02T10:00:00.000Z"
    assert told["2"]["reply_to"] == said["1"]["id"]
    assert said["3"]["state"] == "seen"
    assert imported(cli, queue)["state"] == "nothing_to_do"
    assert cli.ok("verify", "--json").json["problems"] == []


@pytest.mark.parametrize(
    "at", [1772445600, 1772445600000, 1772445600.0, "2026-03-02T10:00:00Z", "2026-03-02 10:00:00"]
)
def test_rows_with_a_time_of_reading_come_in_whatever_times_they_have(
    cli: CommandLine, post: Queue, at: object
) -> None:
    asked = post.write("How many?", created_at=at, read_at=at, colour="red")
    post.write("Forty.", sender="builder", recipient="planner", reply_to=asked, created_at=at, read_at=at)
    post.write("Fifty.", created_at=at)
    imported(cli, post)
    assert [one["body"] for one in waiting(cli)] == ["Fifty."]
    assert waiting(cli, "planner") == []
    said = sent(cli, "planner")
    assert said["1"]["metadata"]["imported"]["timestamp"] == "2026-03-02T10:00:00.000Z"
    assert said["1"]["metadata"]["imported"]["rest"]["colour"] == "red"
    assert sent(cli, "builder")["2"]["reply_to"] == said["1"]["id"]


def test_another_shape_is_called_one(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE orders (id, price)")
    refused = cli("import", str(path))
    assert (refused.code, is_told_well(refused)) == (2, True)
    assert "is a SQLite file, but not of a shape Postroom knows: tables orders" in refused.err


def test_a_file_that_is_damaged_locked_or_read_only_is_called_that(cli: CommandLine, queue: Queue) -> None:
    queue.ask("one")
    queue.db.execute("BEGIN EXCLUSIVE")
    locked = cli("import", str(queue.path), "--json")
    assert (locked.error["error"], is_told_well(cli("import", str(queue.path)))) == ("store_busy", True)
    queue.db.execute("ROLLBACK")
    data = queue.path.read_bytes()
    queue.path.write_bytes(data[:100] + b"\xff" * 400 + data[500:])
    assert cli("import", str(queue.path), "--json").error["error"] == "store_corrupt"


def test_what_can_only_be_read_is_not_followed(
    queue: Queue, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postroom.errors import StoreReadOnly
    from postroom.imports import sqlite_queue as module

    real = module.connect
    monkeypatch.setattr(module, "connect", lambda path, **_: real(path))
    with pytest.raises(StoreReadOnly):
        Follower(room, str(queue.path), {}, print)


def test_only_a_sqlite_file_is_followed(cli: CommandLine, tmp_path: Path) -> None:
    refused = cli("import", str(tmp_path), "--follow")
    assert (refused.code, "cannot be followed" in refused.err) == (2, True)


# following


@pytest.fixture
def room(home: str) -> Iterator[LocalRoom]:
    with LocalRoom(home, Settings(sender_rate=0), agent="human:ana", project="p") as room:
        room.join("builder")
        yield room


def test_new_rows_are_taken_in_and_the_table_is_told_how_far_they_got(room: LocalRoom, queue: Queue) -> None:
    with Follower(room, str(queue.path), {}, print) as follower:
        follower.step()
        first, second = queue.ask("one", created_at=1772445600000), queue.ask("two")
        follower.step()
        mail = room.take("builder")
        assert mail is not None
        room.settle(mail)
        follower.step()
        assert (queue.get(first, "status"), queue.get(second, "status")) == ("claimed", "pending")
        assert queue.get(first, "claimed_at") > 10**12, "in the unit of its other times"
        room.reply(mail.id, "done", agent="builder")
        follower.step()
        assert (queue.get(first, "status"), queue.get(second, "status")) == ("done", "pending")
        assert queue.get(first, "done_at") >= queue.get(first, "claimed_at")


def test_a_time_of_reading_is_written_when_it_is_seen(room: LocalRoom, post: Queue) -> None:
    with Follower(room, str(post.path), {}, print) as follower:
        first, second = post.write("one"), post.write("two", created_at="2026-03-02T10:00:00Z")
        follower.step()
        for _ in range(2):
            mail = room.take("builder")
            assert mail is not None
            follower.step()
            assert post.get(int((mail.message.metadata or {})["imported"]["id"]), "read_at") is None
            room.settle(mail)
        follower.step()
        assert isinstance(post.get(first, "read_at"), float)
        assert post.get(second, "read_at").endswith("Z")


def test_what_an_old_program_does_with_a_row_counts_here(room: LocalRoom, queue: Queue) -> None:
    with Follower(room, str(queue.path), {}, print) as follower:
        id = queue.ask("one")
        follower.step()
        queue.db.execute("UPDATE jobs SET status = 'done' WHERE id = ?", [id])
        follower.step()
        assert room.take("builder") is None
        [(_, [delivery])] = room.sent("planner")
        assert (delivery.state.value, delivery.evidence) == ("seen", "imported")


def test_an_answer_that_comes_later_is_in_the_thread(room: LocalRoom, queue: Queue) -> None:
    with Follower(room, str(queue.path), {}, print) as follower:
        queue.ask("which?", correlation_id="c")
        follower.step()
        queue.put(
            from_agent="builder", to_agent="planner", type="response", correlation_id="c", payload="this"
        )
        follower.step()
        [answer] = room.peek("planner")
        [(asked, _)] = room.sent("planner")
        assert answer.message.reply_to == asked.id


def test_a_row_for_all_is_for_those_who_were_named_before(room: LocalRoom, queue: Queue) -> None:
    queue.ask("one")
    queue.ask("all", to_agent="*", type="broadcast")
    for _ in range(2):
        with Follower(room, str(queue.path), {}, print) as follower:
            follower.step()
            queue.ask("late", to_agent="late", from_agent="builder")
            follower.step()
    assert "all" not in [one.body for one in room.peek("late")]
    assert [one.body for one in room.peek("builder")] == ["one", "all"]


def test_a_locked_file_is_tried_again_and_then_named(
    room: LocalRoom, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postroom.errors import StoreBusy

    with Follower(room, str(queue.path), {}, print) as follower:
        id = queue.ask("one")
        follower.step()
        mail = room.take("builder")
        assert mail is not None
        queue.db.execute("BEGIN IMMEDIATE")
        assert follower.step() <= follow._AGAIN
        queue.db.execute("COMMIT")
        follower.step()
        assert queue.get(id, "status") == "claimed"
        room.ack(mail.id, agent="builder")
        queue.db.execute("BEGIN IMMEDIATE")
        follower.step()
        monkeypatch.setattr(follow, "_PATIENCE", -1.0)
        with pytest.raises(StoreBusy, match="locked by another program"):
            follower.step()


def test_open_rows_are_read_and_imported_in_pages(
    room: LocalRoom, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow.sqlite_queue, "PAGE", 10)
    taken, import_ = list[int](), Follower._import

    def counted(self: Follower, rows: list[follow.Row]) -> None:
        taken.append(len(rows))
        import_(self, rows)

    monkeypatch.setattr(Follower, "_import", counted)
    ids = [queue.ask(f"number {n}", status="claimed" if n % 7 == 6 else "pending") for n in range(35)]
    with Follower(room, str(queue.path), {}, print) as follower:
        follower.step()
        assert taken == [10, 10, 10, 5]
        queue.db.execute("UPDATE jobs SET status = 'done' WHERE id <= 12")
        last = queue.ask("the last one")
        follower.step()
        assert taken[4:] == [1, 12]
        assert [one.body for one in room.peek("builder")] == [
            *(f"number {n}" for n in range(12, 35) if n % 7 != 6), "the last one",
        ]  # fmt: skip
        queue.db.execute("UPDATE jobs SET status = 'done' WHERE id = ?", [last])
        queue.db.execute("DELETE FROM jobs WHERE id = ?", [ids[20]])
        follower.step()
        assert taken[6:] == [1]
        assert {key[1] for key in follower._open} == {*ids[12:]} - {ids[20]} - {
            id for n, id in enumerate(ids) if n % 7 == 6 and n not in (13, 20, 27, 34)
        }
        assert {*follower._settled} == {*follower._open}


def test_what_answers_what_is_looked_up_where_it_is_not_remembered(
    room: LocalRoom, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow.sqlite_queue, "_REMEMBERED", 2)
    with Follower(room, str(queue.path), {}, print) as follower:
        for n in range(9):
            queue.ask(f"question {n}", correlation_id=f"c{n}")
        follower.step()
        assert len(follower._reader._asked) <= 3
        queue.ask("answer", correlation_id="c0", from_agent="builder", to_agent="planner", type="response")
        follower.step()
        [answer] = room.peek("planner")
        assert answer.message.reply_to in {
            one.id for one, _ in room.sent("planner") if one.body == "question 0"
        }


@pytest.mark.parametrize("restarts", [False, True])
def test_a_row_whose_reader_here_is_gone_waits_again(
    home: str, room: LocalRoom, queue: Queue, restarts: bool
) -> None:
    """And a program that polls the table, or a reader here, gets it."""

    def import_anew(follower: Follower | None) -> Follower:
        if follower is not None:
            follower.close()
        cli = CommandLine(home)
        cli.ok("import", str(queue.path), "--apply")
        return Follower(room, str(queue.path), {}, print)

    id = queue.ask("one", status="queued")
    follower = import_anew(None)
    follower.step()
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        with LocalRoom(home, Settings(sender_rate=0), agent="builder", project="p") as own:
            mail = own.take("builder")
            os.write(writing, b"x" if mail is not None else b"")
            signal.pause()
        os._exit(1)
    try:
        assert os.read(reading, 1) == b"x"
        follower.step()
        assert queue.get(id, "status") == "claimed"
        assert queue.get(id, "claimed_at")
        if restarts:
            follower.close()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    room.sweep()
    if restarts:
        follower = import_anew(None)
    follower.step()
    assert queue.get(id, "status") == ("pending" if restarts else "queued")
    assert queue.get(id, "claimed_at") is None
    mail = room.take("builder")
    assert mail is not None
    assert mail.shown_before
    follower.step()
    assert queue.get(id, "status") == "claimed"
    follower.close()


def test_a_row_that_an_old_program_has_claimed_stays_claimed(room: LocalRoom, queue: Queue) -> None:
    with Follower(room, str(queue.path), {}, print) as follower:
        id = queue.ask("one", status="claimed")
        follower.step()
        assert room.take("builder") is None
        assert queue.get(id, "status") == "claimed"


@pytest.mark.parametrize("step", ["follow-taken", "follow-updated", "after-import", "after-commit"])
def test_a_follower_that_is_killed_neither_loses_nor_repeats(
    home: str, room: LocalRoom, queue: Queue, step: str
) -> None:
    taken, left = queue.ask("one"), queue.ask("two")

    def follow_on() -> None:
        own = LocalRoom(home, Settings(sender_rate=0), agent="human:ana", project="p")
        with own, Follower(own, str(queue.path), {}, print) as follower:
            follower.step()

    if step == "follow-updated":
        follow_on()
        assert room.take("builder") is not None
    if (pid := os.fork()) == 0:
        label.armed, label.here = (
            True,
            lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == step else None,
        )
        follow_on()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    if step == "follow-updated":
        assert queue.get(taken, "status") == "pending", "none of it"
    for _ in range(2):
        follow_on()
    assert len(room.sent("planner")) == 2
    assert queue.get(taken, "status") == ("claimed" if step == "follow-updated" else "pending")
    assert queue.get(left, "status") == "pending"


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_follower_notices_new_rows_and_ends_when_it_is_interrupted(
    cli: CommandLine, queue: Queue, home: str, mode: str
) -> None:
    queue.db.execute(f"PRAGMA journal_mode = {mode}")
    queue.ask("before")
    process = subprocess.Popen(
        [sys.executable, "-m", "postroom", "import", str(queue.path), "--follow"],
        cwd=ROOT, env=environment() | cli.environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("Following" in line for line in said)
        put(queue, "while it runs")
        eventually(lambda: bodies(cli) == ["before", "while it runs"])
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


def bodies(cli: CommandLine) -> list[str]:
    return [one["body"] for one in cli("inbox", "--as", "builder", "--json").json["messages"]]


def put(queue: Queue, text: str) -> None:
    def is_put() -> bool:
        try:
            queue.ask(text)
        except sqlite3.OperationalError:
            return False
        return True

    eventually(is_put)


@pytest.mark.promise("correlation")
def test_a_row_keeps_its_correlation_and_its_sender_can_wait_for_the_answer(
    cli: CommandLine, queue: Queue
) -> None:
    queue.ask("How far?", correlation_id="c-11")
    queue.ask("And this?", correlation_id=12)
    queue.put(
        from_agent="builder", to_agent="planner", type="response", correlation_id="12", payload="Half.",
    )  # fmt: skip
    imported(cli, queue)
    said, told = sent(cli, "planner"), sent(cli, "builder")
    assert {id: one["correlation"] for id, one in (said | told).items()} == {
        "1": "c-11",
        "2": "12",
        "3": "12",
    }
    assert told["3"]["reply_to"] == said["2"]["id"]
    cli.ok("reply", said["1"]["id"], "All.", "--as", "builder")
    said = ("wait", "--correlation", "c-11", "--timeout", "0", "--as", "planner", "--json")
    [found] = cli.ok(*said).json["messages"]
    assert (found["body"], found["correlation"]) == ("All.", "c-11")
    assert imported(cli, queue)["state"] == "nothing_to_do"
    assert cli.ok("verify", "--deep", "--json").json["problems"] == []


@pytest.mark.promise("correlation")
def test_a_row_that_is_followed_keeps_its_correlation(room: LocalRoom, queue: Queue) -> None:
    with Follower(room, str(queue.path), {}, print) as follower:
        queue.ask("which?", correlation_id="c")
        follower.step()
        queue.put(
            from_agent="builder", to_agent="planner", type="response", correlation_id="c", payload="this"
        )
        follower.step()
        [answer], [(asked, _)] = room.peek("planner"), room.sent("planner")
        assert (asked.correlation, answer.correlation, answer.message.reply_to) == ("c", "c", asked.id)


def test_what_cannot_be_a_correlation_stays_beside_the_message(cli: CommandLine, queue: Queue) -> None:
    queue.ask("How far?", correlation_id="two\nlines")
    imported(cli, queue)
    said = sent(cli, "planner")["1"]
    assert said["correlation"] is None
    assert said["metadata"]["imported"]["rest"]["correlation_id"] == "two\nlines"
