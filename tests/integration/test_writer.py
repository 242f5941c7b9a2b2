"""Many threads that write by one connection: together, and each for itself when something goes wrong."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.bridges.files import tree as trees
from postroom.config import Settings
from postroom.daemon.loop import Daemon
from postroom.errors import PostroomError, StoreBusy, StoreFull, UnknownRecipient
from postroom.room import glance
from postroom.room.local import LocalRoom
from postroom.store.sqlite.writer import Writer
from tests.conftest import UNLIMITED, OpenRoom
from tests.process import eventually, until
from tests.relayed import linked
from tests.served import BOUND, served

THREADS = 8


@pytest.fixture
def shared(room: LocalRoom) -> LocalRoom:
    room.store.share()
    return room


def writer(room: LocalRoom) -> Writer:
    store: Any = room.store
    return store._writer


@contextmanager
def locked(room: LocalRoom) -> Iterator[None]:
    """Another process has the write lock."""
    other = sqlite3.connect(room.store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def together(room: LocalRoom, acts: list[Callable[[], Any]]) -> "list[Future[Any]]":
    """Have them done by as many threads, all of which wait before the first can begin."""
    with ThreadPoolExecutor(len(acts)) as pool:
        with locked(room):
            found = [pool.submit(act) for act in acts]
            until(lambda: writer(room)._waiting == len(acts) - 1)
        return found


def bodies(room: LocalRoom) -> set[str]:
    return {mail.body for mail in room.peek("builder")}


@pytest.mark.promise("shared-commit")
def test_what_threads_do_at_once_is_one_transaction(shared: LocalRoom):
    acts = [lambda n=n: shared.send("builder", str(n)) for n in range(THREADS)]
    before = writer(shared).commits
    sent = [one.result(BOUND) for one in together(shared, acts)]
    assert writer(shared).commits == before + 1
    assert bodies(shared) == {str(n) for n in range(THREADS)}
    assert len({one.message.seq for one in sent}) == THREADS


@pytest.mark.promise("shared-commit")
@pytest.mark.parametrize("failing", [1, THREADS - 1, THREADS])
def test_who_fails_harms_nobody_else(shared: LocalRoom, failing: int):
    def act(n: int) -> Any:
        return shared.send("nobody" if n < failing else "builder", str(n))

    found = together(shared, [lambda n=n: act(n) for n in range(THREADS)])
    for n, one in enumerate(found):
        assert isinstance(one.exception(BOUND), UnknownRecipient if n < failing else type(None))
    assert bodies(shared) == {str(n) for n in range(failing, THREADS)}


class Failing:
    """A connection on which one statement fails, with a code of SQLite's."""

    def __init__(self, connection: sqlite3.Connection, statement: str, code: int) -> None:
        self._connection, self._statement, self._code = connection, statement, code

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == self._statement:
            exc = sqlite3.OperationalError("no")
            exc.sqlite_errorcode = self._code
            raise exc
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.promise("shared-commit")
def test_where_the_commit_fails_each_is_told_and_nothing_is_stored(
    shared: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    real = Writer._commit

    def commit(self: Writer, execute: Any, batch: Any) -> None:
        real(self, Failing(self.connection, "COMMIT", 13).execute, batch)

    acts = [lambda n=n: shared.send("builder", str(n)) for n in range(THREADS)]
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_commit", commit)
        found = together(shared, acts)
        assert all(isinstance(one.exception(BOUND), StoreFull) for one in found)
    assert bodies(shared) == set()
    shared.send("builder", "again")
    assert bodies(shared) == {"again"}


@pytest.mark.promise("shared-commit")
def test_where_the_disk_is_full_no_thread_believes_that_it_stored_anything(shared: LocalRoom):
    """SQLite itself gives up the whole transaction then, with what others had written in it."""
    link = writer(shared).connection
    [pages] = link.execute("PRAGMA page_count").fetchone()
    link.execute(f"PRAGMA max_page_count = {pages + 8}")
    acts = [lambda n=n: shared.send("builder", f"{n} {'x' * 10_000}") for n in range(THREADS)]
    found = together(shared, acts)
    errors = [one.exception(BOUND) for one in found]
    assert any(isinstance(one, StoreFull) for one in errors)
    assert all(one is None or isinstance(one, PostroomError) for one in errors)
    stored = {f"{n} {'x' * 10_000}" for n, one in enumerate(errors) if one is None}
    assert bodies(shared) == stored
    link.execute("PRAGMA max_page_count = 1000000")
    shared.send("builder", "again")
    assert bodies(shared) == {*stored, "again"}


def test_a_lock_that_is_never_free_is_told_to_all_who_wait(open_room: OpenRoom, room: LocalRoom):
    hasty = open_room("planner", settings=UNLIMITED._replace(busy_seconds=0.1))
    hasty.store.share()
    with locked(room), ThreadPoolExecutor(THREADS) as pool:
        found = [pool.submit(hasty.send, "builder", "x") for _ in range(THREADS)]
        assert all(isinstance(one.exception(BOUND), StoreBusy) for one in found)
    hasty.send("builder", "again")
    assert bodies(room) == {"again"}


def test_who_must_not_see_what_is_not_committed_waits_for_none_of_it(shared: LocalRoom):
    """What it does outside the store must not rest on what may still be undone."""
    looked, sent, party = Future[Any](), Future[Any](), shared.who("builder").id

    def look() -> None:
        tx = shared.store.begin()
        try:
            looked.set_result(tx.ready(party, 1))
            sent.result(BOUND)  # it was told that it is done, though this is not
        finally:
            shared.store.rollback()

    threads = [threading.Thread(target=lambda: sent.set_result(shared.send("builder", "x"))),
               threading.Thread(target=look)]  # fmt: skip
    with locked(shared):
        threads[0].start()
        until(lambda: writer(shared)._owner == threads[0].ident)
        threads[1].start()
        until(lambda: writer(shared)._waiting == 1)
    for thread in threads:
        thread.join(BOUND)
    assert [mail.body for mail in looked.result(0)] == ["x"]


class Lockstep:
    """Threads that write in rounds: none may in one before all of them would, and all wait for their turn
    when the first gets it. So nothing rests on who is faster.
    """

    def __init__(self, own: Writer, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._own, self._threads = own, threads
        self._held = threading.Semaphore(0)
        self.acts = 0
        all_here = threading.Barrier(threads, self._hold)
        begin = Writer.begin

        def together(writer: Writer, *words: Any, **more: Any) -> None:
            if writer is own:
                all_here.wait(BOUND)
            begin(writer, *words, **more)

        monkeypatch.setattr(Writer, "begin", together)

    def _hold(self) -> None:
        assert self._own._turn.acquire(timeout=BOUND)
        self.acts += self._threads
        self._held.release()

    def round(self) -> None:
        """Let each of them do one act."""
        assert self._held.acquire(timeout=BOUND)
        until(lambda: self._own._waiting == self._threads)
        self._own._turn.release()


@pytest.mark.promise("shared-commit")
def test_a_message_to_fifty_mailboxes_is_brought_in_a_few_transactions_and_not_in_a_hundred(
    home: str, room: LocalRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By the keepers of a daemon, each of which claims it, writes its letter, and marks it as handed over."""
    names, tree = [f"box{n}" for n in range(50)], tmp_path / "tree"
    tree.mkdir()
    for name in names:
        trees.add(room, str(tree), name, room.scope)
    daemon = Daemon(home)
    own = writer(daemon.room)
    try:
        daemon.reconcile()
        eventually(lambda: all(glance.get(home, agent) for agent in daemon.keepers))  # each has looked once
        assert len(daemon.keepers) == len(names)
        before = own.commits
        with monkeypatch.context() as patch:
            step = Lockstep(own, len(names), patch)
            room.send("@all", "hello", confirm=True)
            step.round()
            step.round()
            eventually(lambda: not (own._waiting or own._turn.locked() or own._batch))
        assert all(list((tree / name / "inbox").glob("*.json")) for name in names)
        assert step.acts == 2 * len(names)
        assert own.commits - before <= 6
    finally:
        daemon._let_go()
        daemon.room.close()
        daemon._instance.close()


def test_a_child_of_the_process_has_a_connection_of_its_own(shared: LocalRoom):
    pid = os.fork()
    if not pid:
        try:
            shared.send("builder", "from the child")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    shared.send("builder", "from the parent")
    assert bodies(shared) == {"from the child", "from the parent"}


@pytest.mark.promise("relay-ladder")
def test_a_relay_that_must_wait_for_the_lock_holds_nobody_up(shared: LocalRoom):
    with served(shared) as web, linked(web, "planner") as planner, linked(web, "builder") as builder:
        with locked(shared):
            planner.say(op="send", to="builder", body="late")
            assert builder.ask("ping")["ok"] == {}
        assert builder.mail()["mail"]["body"] == "late"


@pytest.mark.promise("relay-ladder")
def test_what_could_not_be_committed_is_pushed_to_nobody(shared: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    real = Writer._commit

    def commit(self: Writer, execute: Any, batch: Any) -> None:
        real(self, Failing(self.connection, "COMMIT", 13).execute, batch)

    with (
        served(shared) as web,
        linked(web, "planner") as planner,
        linked(web, "builder", window=1) as builder,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "_commit", commit)
            assert planner.ask("send", to="builder", body="never")["error"] == "store_full"
        assert "ok" in planner.ask("send", to="builder", body="stored")
        assert builder.mail()["mail"]["body"] == "stored"  # and its window has room for it
        assert [one["type"] for one in builder.has_heard_all() if one["type"] == "mail"] == []


@pytest.mark.promise("relay-ladder")
def test_a_room_that_waits_for_its_disk_is_relayed_too(open_room: OpenRoom, room: LocalRoom):
    durable = open_room("planner", settings=Settings(durability="full", sender_rate=0))
    with served(durable) as web, linked(web, "planner") as planner, linked(web, "builder") as builder:
        planner.say(op="send", to="builder", body="lasting")
        frame = builder.mail()
        assert frame["mail"]["body"] == "lasting"
        assert builder.ask("seen", cursor=frame["cursor"])["ok"] == {"seen": 1}
