"""A queue of messages that programs keep in a table of SQLite: its rows as letters.

A table is known by its columns, whatever it and its file are called. Two kinds are usual: one with a status
(`from_agent, to_agent, type, correlation_id, payload, status`), and one with the time at which a row was read
(`sender, recipient, body, reply_to, created_at, read_at`). Nothing is written here.
"""

import json
import os
import pathlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple, cast

from postroom.bridges.files import dialect, naming
from postroom.bridges.files.dialect import names_everyone
from postroom.config import Settings
from postroom.errors import (
    InvalidLetter,
    InvalidValue,
    PostroomError,
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from postroom.imports import mailbox
from postroom.imports.plan import Kind, LeftOut, Mail
from postroom.imports.tree import Box, Found, Tree
from postroom.model.message import Json
from postroom.text import storable

_MAGIC = b"SQLite format 3\0"
_PATIENCE = 5.0  # seconds for which another program may have the file locked
PAGE = 1000  # rows that are read at a time
_MOST = 200_000  # rows
_REMEMBERED = 50_000  # correlations that a follower remembers; it looks up the others in the table
WAITING = ("", "pending", "new", "queued", "unread", "waiting", "sent", "open")
CLAIMED = ("claimed", "processing", "in_progress", "in-progress", "taken", "running")
_WORDS = ("ack", "nack")  # types that say something of another message


class Shape(Enum):
    """Names the columns that a table must have to be a queue."""

    STATUS = frozenset(("from_agent", "to_agent", "payload", "status"))
    READ = frozenset(("sender", "recipient", "body", "read_at"))


class Table(NamedTuple):
    """One that is a queue."""

    name: str
    shape: Shape
    columns: dict[str, str]  # as they are called there, by their names in lower case

    def column(self, name: str) -> str:
        return quoted(self.columns[name])

    @property
    def open(self) -> str:
        """Give the SQL that is true of a row that nobody is done with."""
        if self.shape is Shape.READ:
            return f"{self.column('read_at')} IS NULL"
        return self._is_one_of(*WAITING, *CLAIMED)

    @property
    def waits(self) -> str:
        """Give the SQL that is true of a row, of a table with a status, that nobody has in hand."""
        return self._is_one_of(*WAITING)

    def _is_one_of(self, *statuses: str) -> str:
        words = ", ".join(f"'{word}'" for word in statuses)
        return f"lower(coalesce({self.column('status')}, '')) IN ({words})"


class Row(NamedTuple):
    """One row of a table."""

    table: Table
    rowid: int
    said: Json  # by the names of the columns, in lower case

    @property
    def where(self) -> str:
        return f"{self.table.name}/{self.rowid:010d}"

    @property
    def id(self) -> str:
        value = self.said.get("id")
        return str(self.rowid if value is None else value)

    @property
    def box(self) -> Box:
        """Tell whether it waits. Nobody is given again what does not say that it waits."""
        if self.said.get("read_at") is not None or self.said.get("done_at") is not None:
            return Box.DONE
        if self.table.shape is Shape.READ:
            return Box.WAITING
        return Box.WAITING if self.status in WAITING else Box.CLAIMED if self.status in CLAIMED else Box.DONE

    @property
    def status(self) -> str:
        return str(self.said.get("status") or "").lower()

    @property
    def is_open(self) -> bool:
        """Tell in Python what `Table.open` tells in SQL."""
        if self.table.shape is Shape.READ:
            return self.said.get("read_at") is None
        return self.status in (*WAITING, *CLAIMED)


def is_queue(path: str) -> bool:
    """Tell whether a file is one of SQLite, whatever is in it."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def plan(path: str, settings: Settings, home: str, renamed: Mapping[str, str]) -> Mail:
    """Plan all that would be taken in."""
    with closing(connect(path)) as db, faults(path):
        reader = Reader(tables(db, path), renamed)
        found = [each for row in rows(db, reader.tables) for each in reader.found(row)]
    return planned(reader, found, path, settings, home)


def planned(reader: "Reader", found: list[Found], path: str, settings: Settings, home: str) -> Mail:
    """Plan the same of some of its rows."""
    owners = sorted({each.owner for each in found})
    tree = Tree(owners, found, reader.left)
    return mailbox.plan(tree, path, settings, home, reader.renamed)._replace(kind=Kind.QUEUE)


def connect(path: str, *, writes: bool = False, patience: float = _PATIENCE) -> sqlite3.Connection:
    """Open it; nothing is made where there is none."""
    with faults(path):
        uri = f"{pathlib.Path(os.path.abspath(path)).as_uri()}?mode={'rw' if writes else 'ro'}"
        db = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
        db.text_factory = _decoded
        return db


def _decoded(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


class faults:
    """Names what is wrong with the file of another program."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, exc: BaseException | None, __: object) -> None:
        if isinstance(exc, sqlite3.Error):
            raise fault(exc, self._path) from exc


def fault(exc: sqlite3.Error, path: str) -> StoreError:
    code, why = getattr(exc, "sqlite_errorcode", 0) & 0xFF, f"{path}: {exc}"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = "Try again when the program that has it locked is done."
        return StoreBusy(f"{path} is locked by another program", hint=hint, path=path)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        hint = "Check it with SQLite itself: PRAGMA integrity_check"
        return StoreCorrupt(f"{path} is damaged: {exc}", hint=hint, path=path)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        hint = "Look at the permissions of the file and of its directory: SQLite keeps files beside it."
        return StoreReadOnly(f"{path} cannot be used: {exc}", hint=hint, path=path)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"the disk with {path} is full", hint="Free some space, and try again.", path=path)
    return StoreError(why, hint="Look at the file with SQLite itself.", path=path)


def tables(db: sqlite3.Connection, path: str) -> list[Table]:
    """Find the tables that are a queue; raise `InvalidValue` where none is."""
    names = [
        str(name)
        for (name,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY name"
        )
    ]
    found: list[Table] = []
    for name in names:
        columns = {
            str(row[1]).lower(): str(row[1]) for row in db.execute(f"PRAGMA table_info({quoted(name)})")
        }
        for shape in Shape:
            if shape.value <= columns.keys() and _has_rowid(db, name):
                found.append(Table(name, shape, columns))
                break
    if not found:
        listed = ", ".join(names[:10]) + (" …" if len(names) > 10 else "") if names else "none"
        shapes = " or ".join(f"({', '.join(sorted(shape.value))})" for shape in Shape)
        raise InvalidValue(
            f"{path} is a SQLite file, but not of a shape Postroom knows: tables {listed}",
            path=path, hint=f"A table of messages has the columns {shapes}, and may have more.",
        )  # fmt: skip
    return found


def _has_rowid(db: sqlite3.Connection, name: str) -> bool:
    try:
        db.execute(f"SELECT rowid FROM {quoted(name)} LIMIT 0").close()  # noqa: S608 - quoted
    except sqlite3.OperationalError:
        return False
    return True


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def rows(
    db: sqlite3.Connection, of: Iterable[Table], after: Mapping[str, int] | None = None
) -> Iterator[Row]:
    """Read all rows, or those after one, in their order; nothing is locked between two pages."""
    count = 0
    for table in of:
        last = (after or {}).get(table.name, -(1 << 63))
        while page := select(db, table, "rowid > ? ORDER BY rowid LIMIT ?", last, PAGE):
            last, count = page[-1].rowid, count + len(page)
            if count > _MOST:
                raise Refused(
                    f"there are more than {_MOST:,} rows", hint="Move old rows to another file first."
                )
            yield from page


def select(db: sqlite3.Connection, table: Table, condition: str, *values: Any) -> list[Row]:
    columns = ", ".join(quoted(name) for name in table.columns.values())
    sql = f"SELECT rowid, {columns} FROM {quoted(table.name)} WHERE {condition}"  # noqa: S608 - quoted
    found = db.execute(sql, values).fetchall()
    return [Row(table, row[0], dict(zip(table.columns, row[1:], strict=True))) for row in found]


class Reader:
    """Reads rows as letters, in their order: it knows who was named before, and what answers what."""

    def __init__(
        self, of: list[Table], renamed: Mapping[str, str], db: sqlite3.Connection | None = None
    ) -> None:
        """`db`: where to look up what answers what, once there is too much of it to remember."""
        self.tables, self.renamed, self._db = of, renamed, db
        self.left: list[LeftOut] = []
        self._names: dict[str, None] = {}
        self._asked: dict[tuple[str, str, str, str], tuple[int, str]] = {}  # by correlation and the two
        self._has_forgotten = False  # some of these
        self._everybody: dict[tuple[str, int, str], int] = {}  # how many were named before a row for all

    def found(self, row: Row) -> list[Found]:
        """A row for each of its readers; none, and it is left out, where it is not a letter."""
        said = row.said
        sender, to = (_text(said.get(name)) for name in _PARTIES[row.table.shape])
        is_all = names_everyone(to) or (row.table.shape is Shape.STATUS and not to)
        known = list[str]()
        if is_all:  # who is named later was not meant then
            count = self._everybody.setdefault((row.table.name, row.rowid, sender), len(self._names))
            known = [name for name in islice(self._names, count) if name != sender]
        self._names |= dict.fromkeys(name for name in (sender, "" if is_all else to) if name)
        try:
            for name in (sender, *(() if is_all else (to,))):
                if not name or not naming.address(name, self.renamed):
                    why = f"{name!r} cannot be an agent's name"
                    raise InvalidLetter(why if name else "sender or recipient is empty")
            readers = known if is_all else [to]
            if not readers:
                raise InvalidLetter("it is a broadcast, and no earlier row names a recipient")
            return [self._one(row, sender, reader, is_all=is_all) for reader in readers]
        except PostroomError as exc:
            self.left.append(LeftOut(row.where, str(exc)))
            return []

    def _one(self, row: Row, sender: str, reader: str, *, is_all: bool) -> Found:
        said = {name: _plain(value) for name, value in row.said.items() if value is not None}
        item: Json = {name: value for name, value in said.items() if name not in _OURS}
        written = next((name for name in _WRITTEN if name in item), "")
        item |= {"id": row.id, "from": sender, "to": reader, "timestamp": item.pop(written, None)}
        if row.table.shape is Shape.STATUS:
            item |= _content(said.get("payload"))
            correlation, type = _text(said.get("correlation_id")), _text(said.get("type"))
            answers = self._answers(row, correlation, sender, reader)
            item["thread"] = item["correlation_id"] = correlation or None
        else:
            item["body"], type = _text(said.get("body")), _text(said.get("type"))
            answers = _text(said.get("reply_to"))
        item["replyTo"] = answers or None
        if type.lower() not in _WORDS or answers:
            item["type"] = type or None
        if not item.get("body") and not item.get("payload"):
            item["body"] = "(empty)"
        where = f"{row.where}@{reader}" if is_all else row.where
        return Found(where, reader, row.box, dialect.read(item, row.id, reader))

    def _answers(self, row: Row, correlation: str, sender: str, reader: str) -> str:
        """The first row of that correlation that went the other way, before this one; read again, too."""
        if not correlation:
            return ""
        self._asked.setdefault((row.table.name, correlation, sender, reader), (row.rowid, row.id))
        found = self._asked.get((row.table.name, correlation, reader, sender))
        if self._db is not None and len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
            self._has_forgotten = True
        if found is None and self._db is not None and self._has_forgotten:
            found = self._look_up(self._db, row.table, correlation, reader, sender)
        rowid, id = found or (row.rowid, "")
        return id if rowid < row.rowid else ""

    def _look_up(
        self, db: sqlite3.Connection, table: Table, correlation: str, sender: str, reader: str
    ) -> tuple[int, str] | None:
        """Find the first row of a correlation that went from one to the other."""
        columns = [table.column(name) for name in ("correlation_id", "from_agent", "to_agent")]
        where = " AND ".join(f"{column} = ?" for column in columns)
        found = select(db, table, f"{where} ORDER BY rowid LIMIT 1", correlation, sender, reader)
        return (found[0].rowid, found[0].id) if found else None


_PARTIES = {Shape.STATUS: ("from_agent", "to_agent"), Shape.READ: ("sender", "recipient")}
_OURS = (
    "id",
    "from_agent",
    "to_agent",
    "sender",
    "recipient",
    "body",
    "payload",
    "reply_to",
    "type",
    "to",
    "from",
)
_WRITTEN = ("created_at", "sent_at", "timestamp", "created", "time", "ts")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    return storable(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip() if not isinstance(value, str) else value


def _content(value: Any) -> Json:
    """Read what a payload says: an object, or else its text."""
    if isinstance(value, str):
        try:
            found: Any = json.loads(value)
        except (ValueError, RecursionError):
            return {"body": value}
        if isinstance(found, dict):
            return {"payload": cast("Json", found)}
        return {"body": found if isinstance(found, str) else value}
    return {"body": _text(value)}
