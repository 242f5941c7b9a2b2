"""Every store back end, one after the other. A new one is added to `BACK_ENDS`, and to nothing else."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom import host
from postroom.config import NOTHING_DECLARED, Declared, Settings
from postroom.room.local import LocalRoom
from postroom.store.contract import Store
from postroom.store.sqlite.store import SqliteStore
from tests.clockwork import Clock

Enter = Callable[..., LocalRoom]


class Sqlite:
    """Rooms in a SQLite file."""

    def __init__(self, home: str, durability: str, *, shares: bool = False) -> None:
        self.home = home
        self.durability = durability
        self._shares = shares

    def open(self, tenant: str, clock: Clock, patience: float = 5.0) -> Store:
        path = os.path.join(self.home, "room.db")
        store = SqliteStore(path, tenant=tenant, clock=clock, durability=self.durability, patience=patience)
        if self._shares:
            store.share()
        return store

    # What a newer Postroom does behind the backs of processes that run.

    def set_meta(self, **values: int) -> None:
        for name, value in values.items():
            self._administer(f"UPDATE meta SET {name} = {value}")  # noqa: S608 - our own words

    def set_version(self, number: int) -> None:
        self._administer(f"PRAGMA user_version = {number}")

    def version(self) -> int:
        return self._administer("PRAGMA user_version")[0][0]

    def _administer(self, statement: str) -> list[Any]:
        connection = sqlite3.connect(os.path.join(self.home, "room.db"), isolation_level=None, timeout=10)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()


BackEnd = Sqlite
BACK_ENDS: dict[str, Callable[[str], BackEnd]] = {
    "sqlite-normal": lambda home: Sqlite(home, "normal"),
    "sqlite-full": lambda home: Sqlite(home, "full"),
    "sqlite-shared": lambda home: Sqlite(home, "normal", shares=True),  # as the daemon has it
}


@pytest.fixture(params=BACK_ENDS)
def back_end(request: pytest.FixtureRequest, home: str) -> BackEnd:
    return BACK_ENDS[request.param](home)


@pytest.fixture
def enter(back_end: BackEnd, clock: Clock) -> Iterator[Enter]:
    """Opens the one room under test, each time as another process would: by a store of its own."""
    opened: list[LocalRoom] = []

    def open_one(
        agent: str | None = None,
        *,
        tenant: str = "local",
        patience: float = 5.0,
        declared: Declared = NOTHING_DECLARED,
        **settings: Any,
    ):
        usual = {"durability": back_end.durability, "busy_seconds": patience, "sender_rate": 0}
        chosen = Settings(**(usual | settings))
        room = LocalRoom(back_end.home, chosen, agent=agent, project="p", clock=clock, declared=declared)
        room.store = back_end.open(tenant, clock, patience)
        opened.append(room)
        return room

    yield open_one
    for room in opened:
        room.close()


@pytest.fixture
def room(enter: Enter) -> LocalRoom:
    """The room, in which `planner` and `builder` have addresses."""
    room = enter("planner")
    room.join("planner")
    room.join("builder")
    return room


class Others:
    """Who this process, or one thread of it, pretends to be, and which of its former selves are gone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._thread = threading.local()
        self._gone: set[str] = set()
        monkeypatch.setattr(host, "identity", lambda: getattr(self._thread, "me", "1.1.boot.ns"))
        monkeypatch.setattr(host, "is_gone", lambda process: process in self._gone)

    def become(self, pid: int) -> None:
        self._thread.me = f"{pid}.1.boot.ns"

    def die(self, pid: int) -> None:
        self._gone.add(f"{pid}.1.boot.ns")


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Others:
    return Others(monkeypatch)


def everything(store: Store) -> dict[str, Any]:
    """All that can be seen of a tenant's part of a room, to be compared before and after."""
    with store.read() as tx:
        agents = tx.agents()
        events = tx.events()
        seqs = sorted({event.refs["seq"] for event in events if event.refs})
        return {
            "agents": agents,
            "projects": tx.projects(),
            "events": events,
            "messages": [tx.message_at(seq) for seq in seqs],
            "deliveries": [tx.deliveries(seq) for seq in seqs],
            "ready": [tx.ready(agent.id, 500) for agent in agents],
            "leases": [tx.lease(agent.id) for agent in agents],
            "cursor": tx.last_cursor(),
        }
