"""A room with very many messages, made in a minute: real ones, lived through the API, copied by SQL.

A few hundred messages are sent, taken and acknowledged with the product itself, and some are left waiting.
All rows they wrote (messages, deliveries, events) are then copied with shifted numbers and fresh
ids until there are enough, so that every row is one the product would write.
"""

import sqlite3
from collections.abc import Callable

TABLES = ("message", "delivery", "event")
NUMBERED = {("event", "message"), ("event", "prev"), ("delivery", "last")}
"""Columns that hold the seq of another row."""


ODD = 2654435761
SPACE = 2**32
"""A message's id ends in its number times ODD modulo SPACE (postroom.model.ids)."""

MAILBOXES = """tenant = 'local' AND recipient IN (SELECT id FROM agent)
    AND place IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) AND """
"""The whole key of a delivery but its seq: else every copy would be a scan."""


def fill(database: str, copies: int, live: Callable[[], None], body: str = "body") -> None:
    """Let the room `live`, then copy what that wrote this many times; `body` is SQL for a copy's body."""
    store = sqlite3.connect(database, isolation_level=None)
    store.execute("PRAGMA synchronous = OFF")
    store.execute("PRAGMA cache_size = -500000")
    after = _last_seq(store)
    live()
    last = _last_seq(store)
    span = last - after
    statements = [_copy(store, table, body) for table in TABLES]
    for number in range(1, copies + 1):
        store.execute("BEGIN IMMEDIATE")
        for statement in statements:
            store.execute(statement, {"after": after, "last": last, "shift": number * span})
        store.execute("COMMIT")
    store.execute("UPDATE follower SET position = ?", (_last_seq(store),))
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def _last_seq(store: sqlite3.Connection) -> int:
    rows = store.execute("SELECT max(seq) FROM event UNION ALL SELECT max(seq) FROM message").fetchall()
    return max(row[0] or 0 for row in rows)


def _copy(store: sqlite3.Connection, table: str, body: str) -> str:
    columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
    values = [body if column == "body" else _value(table, column) for column in columns]
    which = MAILBOXES if table == "delivery" else ""
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) "  # noqa: S608 - all names are the schema's own
        f"SELECT {', '.join(values)} FROM {table} WHERE {which}seq > :after AND seq <= :last ORDER BY seq"
    )


def _value(table: str, column: str) -> str:
    if column == "seq" or (table, column) in NUMBERED:
        return f"{column} + :shift"
    match table, column:
        case ("message", "id" | "thread") | ("event", "id"):
            return _fresh(column, "seq")
        case "event", "conversation_id":
            return _fresh(column, "message")
        case _:
            return column


def _fresh(column: str, number: str) -> str:
    """An id with another handle; a thread bears the id of its first message, and here has no other."""
    handle = f"printf('%08x', (({number} + :shift) * {ODD}) % {SPACE})"
    return f"substr({column}, 1, length({column}) - 8) || {handle}"
