"""One file of the search index: the words of the messages in one stretch of numbers.

The files lie beside the room's own, so that to enter words never takes the room's write lock, and so that
words which must go are gone with a file, and not only marked as gone. Any of them can be made anew.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from postroom.model.query import Filter, Query, Term, payload_text
from postroom.store.sqlite import connection as link
from postroom.store.sqlite.statement import Statements

SQL = Statements("volume")
ROWS, BATCH, CHARACTERS = 100, 5000, 16_000_000  # read at once; entered in one transaction
MANY = 64  # recipients of which each is worth a word of its own
FEW, MOST = 32, 2048  # numbers read at first, and at most: who wants the first hits waits for few
_SECONDS = 5.0  # of waiting for another who enters words in the same file

Page = Callable[[int], list[tuple[Any, ...]]]  # the messages after a number


class Stand(NamedTuple):
    """How far a volume goes, and what it covers."""

    position: int
    mark: int | None
    mark_id: str | None
    oldest: int | None  # when its first and its last message were written
    newest: int | None


class Volume:
    """An open file. `close` it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._connection = connection
        self.close = connection.close

    def stand(self) -> Stand:
        return Stand._make(self._execute(SQL["volume_stand"]).fetchone())

    def fill(self, page: Page, until: int, say: Callable[[int], None]) -> None:
        """Enter all messages up to a number, some at a time; others may do the same at once."""
        while self.stand().position < until:
            self._execute("BEGIN IMMEDIATE")
            try:
                say(self._enter(page, until))
                self._execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")
                raise

    def _enter(self, page: Page, until: int) -> int:
        position, entered, characters = self.stand().position, 0, 0
        while entered < BATCH and characters < CHARACTERS and position < until:
            rows = page(position)
            for row in rows:
                words = _words(row)
                self._execute(SQL["words_insert"], words)
                characters += sum(map(len, words[1:]))
            entered += len(rows)
            position = rows[-1][0] if len(rows) == ROWS else until
            self._execute(SQL["volume_advance"], (position, *_covered(rows)))
        return entered

    def pages(self, match: str, before: int) -> Iterator[list[int]]:
        """The numbers of the messages that match, newest first."""
        most = FEW
        while rows := self._execute(SQL["words_find"], (match, before, most)).fetchall():
            yield [row[0] for row in rows]
            if len(rows) < most:
                return
            before, most = rows[-1][0], min(2 * most, MOST)


def is_possible() -> bool:
    """Whether this SQLite has what a volume needs."""
    connection = sqlite3.connect(":memory:")
    try:
        return connection.execute(SQL["has_words"]).fetchone() is not None
    finally:
        connection.close()


def opened(path: str, first: int, *, readonly: bool) -> Volume | None:
    """The volume in a file, which is made unless nothing may be written; None where there is none then."""
    if readonly and not os.path.exists(path):
        return None
    if not readonly:
        link.create(path)
    connection = sqlite3.connect(
        f"file://{link.quote(path)}?mode={'ro' if readonly else 'rw'}", uri=True, timeout=_SECONDS,
        isolation_level=None,
    )  # fmt: skip
    try:
        if not readonly:
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute(SQL["volume_is_made"]).fetchone() is None:
                _make(connection, first)
        return Volume(connection)
    except BaseException:
        connection.close()
        raise


def _make(connection: sqlite3.Connection, first: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in ("volume_create", "words_create"):
        connection.execute(SQL[statement])
    connection.execute(SQL["volume_begin"], (first,))
    connection.execute("COMMIT")


def _covered(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The last of some messages, and the first and last moment at which one was written."""
    if not rows:
        return (None, None, None, None)
    moments = [row[9] for row in rows]
    return rows[-1][0], rows[-1][1], min(moments), max(moments)


def _words(row: tuple[Any, ...]) -> tuple[Any, ...]:
    seq, _, subject, body, payload, sender, recipients, kind, thread, _ = row
    return seq, subject, body, said(payload), " ".join(_facts(sender, json.loads(recipients), kind, thread))


def said(payload: str | None) -> str:
    """What a payload says, as the store keeps it; where it is damaged, as it stands."""
    try:
        return payload_text(json.loads(payload)) if payload else ""
    except (ValueError, RecursionError):
        return payload or ""


def _facts(sender: str, recipients: list[str], kind: str, thread: str) -> Iterator[str]:
    """What filters ask for, as words of their own: a filter costs no more than one word more."""
    yield f"s{sender}"
    yield from (f"r{one}" for one in recipients) if len(recipients) <= MANY else ("rmany",)
    yield f"k{kind.encode().hex()}"
    yield f"h{thread[-8:]}"


def expression(query: Query, wanted: Filter) -> str:
    """A query in the index's own language. It is made of words alone, so that nothing typed can mean more."""
    groups = " AND ".join(f"({' OR '.join(map(_phrase, group))})" for group in query.groups)
    if query.excluded:
        groups = f"({groups}) NOT ({' OR '.join(map(_phrase, query.excluded))})"
    facts: list[str] = []
    if wanted.sender:
        facts.append(f'"s{wanted.sender}"')
    if wanted.recipient:
        facts.append(f'("r{wanted.recipient}" OR "rmany")')
    if wanted.type:
        facts.append(f'"k{wanted.type.encode().hex()}"')
    if wanted.thread:
        facts.append(f'"h{wanted.thread[-8:]}"')
    asked = f"{{subject body payload}} : ({groups})"
    return f"({asked}) AND facts : ({' AND '.join(facts)})" if facts else asked


def _phrase(term: Term) -> str:
    return f'"{" ".join(term.words)}"' + (" *" if term.is_beginning else "")
