"""One number for the whole state of a room: equal for two rooms exactly when their state is.

Content enters by its hash, and a redacted message keeps the hashes of what was taken away: redaction does
not change the digest. Neither do followers, schema versions or pruned events, which are no state.
"""

import hashlib
import json
from typing import Any

from postroom.model.message import Json, Message
from postroom.store.contract import Whole
from postroom.text import encode

_FIRST_TABLES = ("project", "agent", "session", "message", "delivery", "lease")
TABLES = (*_FIRST_TABLES, "subscription", "decision", "refusal")
CONTENT = ("subject", "body", "payload", "metadata", "attachments")


def digest(whole: Whole) -> str:
    """The digest of all state. Consistent when the caller reads inside one transaction."""
    total = Total()
    for table in TABLES:
        for row in whole.rows(table):
            total.add(table, row)
    return total.end()


class Total:
    """The digest of rows that come one by one: the tables in the order of `TABLES`, each by its key."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._ahead = list(TABLES)  # whose rows may still come

    def add(self, table: str, row: Json) -> None:
        if table in self._ahead:
            self._enter(table)
        state = hashed(row) if table == "message" else row
        self._hash.update(encode(list(state.values())).encode() + b"\n")

    def _enter(self, table: str) -> None:
        """A later table that is empty leaves the digests of older rooms alone."""
        while self._ahead:
            name = self._ahead.pop(0)
            if name in _FIRST_TABLES or name == table:
                self._hash.update(f"{name}\n".encode())
            if name == table:
                return

    def end(self) -> str:
        self._enter("")
        return self._hash.hexdigest()


def hashed(row: Json) -> Json:
    """A message's row with hashes in the place of its content."""
    hashes = json.loads(row["redacted"]) if row["redacted"] is not None else _hashes_of_row(row)
    return {name: value for name, value in row.items() if name not in CONTENT and name != "redacted"} | hashes


def _hashes_of_row(row: Json) -> Json:
    content = {name: row[name] for name in CONTENT[:2]}
    content |= {name: None if row[name] is None else json.loads(row[name]) for name in CONTENT[2:]}
    return _hashes(row["id"], content)


def hashes(message: Message) -> Json:
    """What a message keeps when its content goes."""
    return _hashes(message.id, {name: getattr(message, name) for name in CONTENT})


def _hashes(message_id: str, content: Json) -> Json:
    return {name: _hash(message_id, name, value) for name, value in content.items()}


def _hash(message_id: str, name: str, value: Any) -> str | None:
    # Bound to the message, so that equal content elsewhere does not show.
    return None if value is None else hashlib.sha256(encode([message_id, name, value]).encode()).hexdigest()
