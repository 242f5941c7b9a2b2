"""A room as a whole: every row of its state in key order, the ends of its log, and what must always hold.

Loaded only by what keeps history (journal, digest, snapshot, verify), never on a message's way.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from postroom.store.sqlite.statement import Statements

SQL = Statements("state")
AUDIT = Statements("audit")

# Each table's key below the tenant, with a value that lies before all others.
_KEYS: dict[str, dict[str, int | str]] = {
    "project": {"name": ""},
    "agent": {"id": ""},
    "session": {"id": ""},
    "message": {"seq": -1},
    "delivery": {"recipient": "", "place": -1, "seq": -1},
    "lease": {"agent": ""},
    "subscription": {"project": "", "topic": "", "agent": ""},
    "decision": {"gate": -1},
    "refusal": {"scope": ""},
    "event": {"seq": -1},
}


class Whole:
    """See `postroom.store.contract.Whole`. Works inside whatever transaction its thread has open."""

    def __init__(self, connection: sqlite3.Connection, tenant: str) -> None:
        self._execute = connection.execute
        self._tenant = tenant
        self._inserts: dict[tuple[str, frozenset[str]], str] = {}

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        statement, key = SQL[f"{table}_rows"], _KEYS[table]
        after = tuple(key.values())
        while True:
            cursor = self._execute(statement, (self._tenant, *after))
            names = [column[0] for column in cursor.description]
            page = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
            if not page:
                return
            yield from page
            after = tuple(page[-1][column] for column in key)

    def load(self, table: str, row: dict[str, Any]) -> None:
        self._execute(self._insert(table, frozenset(row)), row)

    def _insert(self, table: str, given: frozenset[str]) -> str:
        """Built, not written, so that no column is forgotten; of names that the schema itself gives."""
        if (table, given) not in self._inserts:
            known = self._execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            names = [name for (name,) in known if name in given and _KEYS[table]]
            marks = ", ".join(f":{name}" for name in names)
            self._inserts[table, given] = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608
        return self._inserts[table, given]

    def renew(self) -> None:
        self._execute(SQL["delivery_renew"], (self._tenant,))

    def replace(self) -> None:
        for name in SQL.names():
            statement = SQL[name]
            if name.endswith(("_clear", "_copy")):
                self._execute(statement)

    def rewatch(self) -> None:
        self._execute(SQL["watch_copy"])

    def first(self) -> int:
        return self._execute(SQL["log_first"], (self._tenant,)).fetchone()[0] or 0

    def tails(self, until: int) -> dict[str, int]:
        rows = self._execute(SQL["log_tails"], (self._tenant, until)).fetchall()
        return {party or "": seq for party, seq in rows}

    def cut(self, before: int, most: int, end: int) -> int:
        return self._execute(SQL["log_cut"], (self._tenant, before, most, end)).fetchone()[0]

    def attached(self, *, everyone: bool = False) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        after, tenant = -1, None if everyone else self._tenant
        while page := self._execute(SQL["messages_attached"], (after, tenant)).fetchall():
            yield from ((message, json.loads(text)) for _, message, text in page)
            after = page[-1][0]

    def is_attached(self, sha256: str) -> bool:
        return self._execute(SQL["message_with"], (self._tenant, sha256)).fetchone() is not None

    def audit(self) -> Iterator[tuple[str, list[str]]]:
        for fact in AUDIT.names():
            statement = AUDIT[fact]
            yield fact, [row[0] for row in self._execute(statement, (self._tenant,)).fetchall()]
