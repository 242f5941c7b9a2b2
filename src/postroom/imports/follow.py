"""Following a queue in SQLite: new rows come into the room, and the table is told how far each of them got.

The rows that nobody is done with are what both sides agree on: each is known in the room by its key. So what
a follower that was killed had not done yet, the next one finds and does. The file of the other program is
written in short transactions that wait for nobody; where it is locked, they are tried again.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from postroom import label
from postroom.bridges.files import counter
from postroom.bridges.files.watch import FileWatch, file_watch
from postroom.errors import PostroomError, StoreBusy, StoreError, StoreReadOnly
from postroom.imports import sqlite_queue
from postroom.imports.sqlite_queue import CLAIMED, Reader, Row, Shape, Table
from postroom.imports.tree import Box, Found
from postroom.model.ladder import State
from postroom.room.imported import Piece, Ref, known, take_in
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE
from postroom.store.contract import ReadTx

_LONGEST = 0.5  # seconds between two looks where nothing tells of changes
_SWEEP = 5.0  # and where something does: a hint may have been missed
_AGAIN, _AT_MOST = 0.05, 1.0  # seconds after which a locked file is tried again, at first and at last
_PATIENCE = 60.0  # seconds for which it may be locked all the time
_BATCH = 100  # rows that are written in one transaction
_CLAIMED, _DONE = 1, 2
_WORDS = {_CLAIMED: "claimed", _DONE: "done"}
_WAITS = "pending"
_AS_MILLISECONDS = 10**11
_LOWEST, _DIGITS = -(1 << 63), 19  # the lowest number of a row, and digits that may be too many for one
_IDENTITY = ("id", "created_at", "from_agent", "to_agent", "sender", "recipient")
_TIMES = ("created_at", "sent_at", "timestamp", "created", "ts")
_MOVED = ("status", "claimed_at")

Key = tuple[str, int]  # a table, and the number of a row


class _Open:
    """A row that nobody is done with."""

    def __init__(self, row: Row) -> None:
        self.row = row._replace(said={name: row.said.get(name) for name in (*_IDENTITY, *_TIMES, *_MOVED)})
        self.identity = _identity(row)
        self.mails: list[tuple[int, str]] = []  # the number of the message, and its recipient
        self.level = _CLAIMED if row.table.shape is Shape.STATUS and row.status in CLAIMED else 0
        self.is_ours = False  # the word `claimed` in it: a follower wrote it
        self.trouble = ""  # why it will not get further, if it was told


class Follower:
    """Use it with `with`, and then `run` it."""

    def __init__(
        self, room: LocalRoom, path: str, renamed: Mapping[str, str], tell: Callable[[str], None]
    ) -> None:
        self._room, self._path, self._tell = room, path, tell
        self._db = sqlite_queue.connect(path, writes=True, patience=0.0)
        try:
            with sqlite_queue.faults(path):
                self._reader = Reader(sqlite_queue.tables(self._db, path), renamed, self._db)
                self._check_writable()
        except BaseException:
            self._db.close()
            raise
        self._last: dict[str, int] = {}  # the last row of each table
        self._open: dict[Key, _Open] = {}
        self._by_message: dict[int, Key] = {}
        self._settled: dict[Key, tuple[Any, ...]] = {}  # what was taken in, or left out, and is open there
        self._unchecked = set[Key]()  # of what is open, what may have moved before we held it
        self._version = -1  # of the file, as SQLite counts
        self._cursor = room.store.look().last_cursor()
        self._place: tuple[int, int] | None = None
        self._busy_since = 0.0
        self._pause = _AGAIN
        self._waiter = room.bell.waiter(EVERYONE)
        self._watch: FileWatch | None = file_watch(path)

    def _check_writable(self) -> None:
        """Better now than when the first row is done."""
        try:
            for table in self._reader.tables:
                column = table.column("status" if table.shape is Shape.STATUS else "read_at")
                name = sqlite_queue.quoted(table.name)
                self._db.execute(f"UPDATE {name} SET {column} = {column} WHERE 0")  # noqa: S608 - quoted
        except sqlite3.OperationalError as exc:
            if not _is_busy(exc):
                raise

    def run(self) -> None:
        """Follow until the process is interrupted."""
        while True:
            self._wait(self.step())

    def step(self) -> float:
        """Do what can be done now; in how many seconds to look again, at the latest."""
        self._check_place()
        if self._watch is not None:
            self._watch.drain()
        self._waiter.drain()
        try:
            with sqlite_queue.faults(self._path):
                self._take_in()
                self._write_back()
        except StoreBusy as exc:
            if exc.facts.get("path") != self._path:
                raise
            return self._later(exc)
        self._busy_since, self._pause = 0.0, _AGAIN
        return _SWEEP if self._watch is not None and self._waiter.fileno() >= 0 else _LONGEST

    def _check_place(self) -> None:
        """Another file may have taken its place, and ours would be one that nobody writes any more."""
        try:
            about = os.stat(self._path)
        except OSError:
            about = None
        now = (about.st_dev, about.st_ino) if about is not None else None
        self._place = self._place or now
        if now is None or now != self._place:
            hint = f"Run it again when it is there: postroom import {self._path} --follow"
            raise StoreReadOnly(f"{self._path} was removed or replaced", hint=hint)

    def _later(self, exc: StoreBusy) -> float:
        now = time.monotonic()
        self._busy_since = self._busy_since or now
        if now - self._busy_since > _PATIENCE:
            raise exc
        pause, self._pause = self._pause, min(_AT_MOST, self._pause * 2)
        return pause

    def _wait(self, seconds: float) -> None:
        watched = -1 if self._watch is None else self._watch.fileno()
        counter.wait([one for one in (self._waiter.fileno(), watched) if one >= 0], seconds)

    # into the room

    def _take_in(self) -> None:
        [version] = self._db.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        is_open = set[Key]()
        for table in self._reader.tables:
            for page in self._pages(table):
                self._take_page(table, page)
                is_open.update(_key(row) for row in page if row.is_open)
        self._settled = {key: one for key, one in self._settled.items() if key in is_open}
        closed = [key for key in self._open if key not in is_open]
        for at in range(0, len(closed), _BATCH):
            some = closed[at : at + _BATCH]
            rows = [row for key in some for row in self._row(key)]
            if rows:
                self._import(rows)
            for key in {*some}.difference(_key(row) for row in rows if row.is_open):
                self._drop(key)
        self._version = version

    def _pages(self, table: Table) -> Iterator[list[Row]]:
        """Read what is open, and what is new, in pages; nothing is locked between two of them."""
        known, last = self._last.get(table.name, _LOWEST), _LOWEST
        condition = f"rowid > ? AND (rowid > ? OR {table.open}) ORDER BY rowid LIMIT ?"
        while page := sqlite_queue.select(self._db, table, condition, last, known, sqlite_queue.PAGE):
            last = page[-1].rowid
            yield page

    def _take_page(self, table: Table, page: list[Row]) -> None:
        """Import what is new of a page, and what has another row's number by now."""
        known = self._last.get(table.name, _LOWEST)
        changed = [
            row for row in page
            if row.rowid > known or self._settled.get(_key(row)) != _identity(row)
        ]  # fmt: skip
        if changed:
            self._import(changed)
        self._last[table.name] = max(known, page[-1].rowid)

    def _row(self, key: Key) -> list[Row]:
        table = next(one for one in self._reader.tables if one.name == key[0])
        return sqlite_queue.select(self._db, table, "rowid = ?", key[1])

    def _import(self, rows: list[Row]) -> None:
        found = [(row, self._reader.found(row)) for row in rows]
        every = [each for _, several in found for each in several]
        self._tell_left()
        try:
            pieces = self._pieces([*self._answered(every), *every])
            take_in(self._room, pieces)
        except StoreError:
            raise
        except PostroomError as exc:
            if len(rows) == 1:
                self._tell(f"left out: {rows[0].where}: {exc}")
                return
            for row in rows:  # one of them keeps no other
                self._import([row])
            return
        if label.armed:
            label.here("follow-taken")
        by_place: dict[str, list[Ref]] = {}
        for piece in pieces:
            about: dict[str, Any] = (piece.draft.metadata or {}).get("imported", {})
            by_place.setdefault(str(about.get("file")), []).append(piece.ref)
        look = self._room.store.look()
        for row, several in found:
            self._hold(look, row, [ref for each in several for ref in by_place.get(each.where, [])])

    def _pieces(self, found: list[Found]) -> list[Piece]:
        """A letter that is there twice is planned once."""
        unique = list({each.where: each for each in found}.values())
        plan = sqlite_queue.planned(self._reader, unique, self._path, self._room.settings, self._room.home)
        return plan.pieces

    def _answered(self, found: list[Found]) -> list[Found]:
        """The rows that these answer: they are here already, and tell in which thread an answer is."""
        needed: list[Found] = []
        wanted = {each.read.letter.reply_to for each in found} - {each.read.letter.id for each in found}
        for ref in filter(None, wanted):
            for table in self._reader.tables:
                column = table.column("id") if "id" in table.columns else "rowid"
                number = int(ref) if ref.isdecimal() and len(ref) < _DIGITS else ref
                for row in sqlite_queue.select(self._db, table, f"{column} IN (?, ?)", ref, number):
                    needed += self._reader.found(row) if row.id == ref else []
        return needed

    def _hold(self, look: ReadTx, row: Row, refs: list[Ref]) -> None:
        mails = [(message.seq, to) for ref in refs for message, to in known(self._room, look, ref)]
        one, key = _Open(row), _key(row)
        self._drop(key)
        if row.is_open:
            self._settled[key] = one.identity
        if not mails or (row.box is Box.DONE and not one.level):
            return
        self._open[key] = one
        self._unchecked.add(key)
        one.mails = mails
        every = [mail.delivery for seq, to in mails if (mail := look.mail(seq, to)) is not None]
        one.is_ours = one.level == _CLAIMED and all(each.attempts for each in every)
        for seq, _ in mails:
            self._by_message[seq] = _key(row)

    def _drop(self, key: Key) -> None:
        one = self._open.pop(key, None)
        for seq, _ in one.mails if one is not None else ():
            self._by_message.pop(seq, None)

    def _tell_left(self) -> None:
        for one in self._reader.left if self._version != -1 else ():  # at first, the import has told
            self._tell(f"left out: {one.what}: {one.why}")
        self._reader.left.clear()

    # back into the table

    def _write_back(self) -> None:
        look = self._room.store.look()
        moved, cursor = self._moved(look)
        due = [
            (one, level)
            for key in moved
            if (one := self._open.get(key)) and (level := self._level(look, one)) != one.level
        ]
        for at in range(0, len(due), _BATCH):
            some = due[at : at + _BATCH]
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for one, level in some:
                    self._update(one, level)
                if label.armed:
                    label.here("follow-updated")
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            for one, level in some:
                one.level, one.is_ours = level, one.is_ours and level == _CLAIMED
                if level == _DONE or one.row.table.shape is Shape.READ:
                    self._drop(_key(one.row))
        self._cursor = cursor
        self._unchecked.clear()

    def _moved(self, look: ReadTx) -> tuple[list[Key], str]:
        """The rows about which something has happened."""
        cursor, seen = self._cursor, set(self._unchecked)
        while page := look.events(cursor):
            for event in page:
                message = look.message(str(event.refs.get("message"))) if event.refs.get("message") else None
                if message is not None and message.seq in self._by_message:
                    seen.add(self._by_message[message.seq])
            cursor = look.cursor(page[-1])
        return sorted(seen), cursor

    def _level(self, look: ReadTx, one: _Open) -> int:
        """Tell how far all of its readers are."""
        found = [mail for seq, to in one.mails if (mail := look.mail(seq, to)) is not None]
        states = [mail.delivery.state for mail in found]
        if one.row.table.shape is Shape.READ:
            return _DONE if states and all(one in (State.SEEN, State.ACKED) for one in states) else 0
        if states and all(one is State.ACKED for one in states):
            return _DONE
        for mail in found:
            if mail.delivery.state in (State.BOUNCED, State.EXPIRED, State.DEAD, State.WITHDRAWN):
                why = f"{mail.delivery.state}: {mail.delivery.reason or 'no reason was given'}"
                if why != one.trouble:
                    one.trouble = why
                    self._tell(f"{one.row.where} will not be marked done: {why}")
        if any(one in (State.OFFERED, State.SEEN, State.ACKED) for one in states):
            return _CLAIMED
        is_back = one.is_ours and states and all(one is State.STORED for one in states)
        return 0 if is_back else one.level

    def _update(self, one: _Open, level: int) -> None:
        """Update a row only while it is as it was: a program that has taken it since has the last word."""
        table, said = one.row.table, one.row.said
        now = _as_before(said)
        if table.shape is Shape.READ:
            column = table.column("read_at")
            self._do(table, f"{column} = ?", f"{column} IS NULL", (now, one.row.rowid))
            return
        if level == 0:
            self._unclaim(one)
            return
        sets, values = [f"{table.column('status')} = ?"], [_WORDS[level]]
        for name in ("claimed_at", "done_at")[:level]:
            if name in table.columns:
                sets.append(f"{table.column(name)} = coalesce({table.column(name)}, ?)")
                values.append(now)
        condition = table.open if level == _DONE else table.waits
        done = self._do(table, ", ".join(sets), condition, (*values, one.row.rowid))
        one.is_ours = level == _CLAIMED and done > 0  # or a program there was quicker

    def _unclaim(self, one: _Open) -> None:
        """Let a row wait again, as its message does, whose reader is gone: if it says what we wrote."""
        table, said = one.row.table, one.row.said
        was = said.get("status") if one.row.status not in CLAIMED else _WAITS
        sets, values = [f"{table.column('status')} = ?"], [was]
        if "claimed_at" in table.columns:
            sets.append(f"{table.column('claimed_at')} = ?")
            values.append(said.get("claimed_at") if one.row.status not in CLAIMED else None)
        condition = f"{table.column('status')} = '{_WORDS[_CLAIMED]}'"
        self._do(table, ", ".join(sets), condition, (*values, one.row.rowid))

    def _do(self, table: Table, sets: str, condition: str, values: tuple[Any, ...]) -> int:
        """Update a row; how many that were: none where another program was quicker."""
        return self._db.execute(
            f"UPDATE {sqlite_queue.quoted(table.name)} SET {sets} WHERE rowid = ? AND {condition}",  # noqa: S608
            values,
        ).rowcount

    def close(self) -> None:
        self._waiter.close()
        if self._watch is not None:
            self._watch.close()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


def _key(row: Row) -> Key:
    return row.table.name, row.rowid


def _identity(row: Row) -> tuple[Any, ...]:
    """Give what tells a row from another that has its number by now."""
    return tuple(row.said.get(name) for name in _IDENTITY)


def _is_busy(exc: sqlite3.Error) -> bool:
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _as_before(said: Mapping[str, Any]) -> Any:
    """Now, as the row writes its times: in seconds, in milliseconds, or as ISO text."""
    value = next((said[name] for name in _TIMES if said.get(name)), 0)
    now = time.time()
    if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
        separator = " " if " " in value.strip() else "T"
        moment = datetime.fromtimestamp(now, tz=UTC)
        text = moment.isoformat(separator, "milliseconds" if "." in value else "seconds")
        return text.replace("+00:00", "Z" if value.endswith("Z") else "+00:00" if "+" in value else "")
    number = float(value)
    if number > _AS_MILLISECONDS:
        return int(now * 1000)
    return now if isinstance(value, float) else int(now)
