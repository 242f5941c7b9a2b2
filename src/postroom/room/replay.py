"""Replay: a room rebuilt from its journals alone, through the same `apply` that built it.

The journals are merged by seq while they are read. Together they tell every number once, so that a gap, or
two stories about one number, is damage.
"""

import heapq
import os
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from postroom import host
from postroom.errors import JournalBroken, PostroomError, Refused
from postroom.model.message import Event
from postroom.room import blob, digest, file, line, segment, snapshot
from postroom.room.journal import read_head
from postroom.room.segment import Segment
from postroom.store.contract import ReadTx, Store, WriteTx
from postroom.store.sqlite.scratch import ScratchStore

BATCH = 2000  # events a transaction
TRIES = 10


class Replayed(NamedTuple):
    """What a replay did."""

    events: int  # applied, after the snapshot if there was one
    last: int  # the seq the room now stands at
    snapshot: int | None  # the seq it began with
    digest: str


class Line(NamedTuple):
    """One event's line, and where it stands."""

    seq: int
    text: bytes
    path: str
    number: int


@file.tells_of_files
def replay(events: str, target_home: str) -> Replayed:
    """Rebuild the room whose journals are in `events`, in a home that has none; be it the one they are in.

    Attachments are not in the journals: they are copied from beside them.
    """
    path, own = os.path.join(target_home, "room.db"), os.path.join(target_home, "events")
    if os.path.exists(path) or (segment.listed(own) and not os.path.samefile(own, events)):
        hint = "Choose an empty directory: --into NEW_HOME"
        raise Refused(f"{target_home} holds a room already", path=path, hint=hint)
    if not segment.listed(events) and not snapshot.listed(events):
        raise JournalBroken(f"there are no journals in {events}", path=events)
    host.private_directory(target_home)
    made = file.temporary(path)
    try:
        store, done = rebuilt(events, made)
        try:
            with store.write():
                store.whole().rewatch()
            if done.snapshot:  # the new room's log begins where the old one's did, and so will its journals
                snapshot.write(store, own, done.last)
        finally:
            store.close()
        file.sync_file(made)
        blob.fetch(os.path.dirname(events), target_home)
        file.set_aside(path + "-wal")  # of a room that was lost: SQLite would take it for this one's
        file.put(made, path)
    finally:
        file.remove_database(made)
    return done


def rebuilt(events: str, path: str = "") -> tuple[ScratchStore, Replayed]:
    """A store filled from journals, while others may still write, close and rewrite them."""
    for _ in range(TRIES):
        if path:
            file.remove_database(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        store, taken = ScratchStore(path), snapshot.listed(events)
        try:
            return store, _fill(store, events, taken)
        except BaseException as exc:
            store.close()
            # A prune puts its snapshot there before it takes lines away: what is missing now is in that one.
            moved = isinstance(exc, JournalBroken) and snapshot.listed(events) != taken
            if not moved and not isinstance(exc, segment.Moved):
                raise
    raise segment.Moved(f"the journals in {events} were rewritten again and again", hint="Try again.")


def _fill(store: Store, events: str, taken: list[snapshot.Snapshot]) -> Replayed:
    head = read_head(events)  # before the files: all up to it is in them, whatever is written meanwhile
    start = taken[-1].seq if taken else 0
    if taken:
        snapshot.load(taken[-1], store)
    journals = segment.settled(events)
    merged = heapq.merge(*(_stream(files) for files in journals.values()))
    story = _Story(start, head.seq if head else None)
    story.tell((found for found in merged if found.seq > start), store)
    return Replayed(story.count, story.last, start or None, digest.digest(store.whole()))


class _Story:
    """The events of all journals in order, each checked to be the next."""

    def __init__(self, last: int, promised: int | None) -> None:
        self.last = last
        self.count = 0
        self._promised = promised  # up to here nothing may be missing
        self._id = ""
        self._is_torn = False

    def tell(self, lines: Iterator[Line], store: Store) -> None:
        """Apply the lines, many in one transaction."""
        while not self._is_torn and (batch := list(islice(lines, BATCH))):
            found = batch[0]
            try:
                with store.write() as tx:
                    for found in batch:
                        self._take(tx, found)
                        if self._is_torn:
                            break
            except JournalBroken:
                raise
            except (PostroomError, KeyError, TypeError) as exc:
                raise _broken(found, f"this cannot follow what came before it ({exc})") from exc
        if self._promised is not None and self.last < self._promised:
            raise JournalBroken(
                f"the journals end at event {self.last}, but were written up to {self._promised}"
            )

    def _take(self, tx: WriteTx, found: Line) -> None:
        removed = line.is_removed(found.text)
        event = None if removed else _event(found)
        if found.seq > self.last + 1 and (event is None or line.next_after(event) != self.last + 1):
            if self._promised is None or self.last < self._promised:
                raise _broken(found, f"event {self.last + 1} is missing before this line")
            self._is_torn = True  # of the page being written, some files have their part and some do not
            return
        event_id = event.id if event else ""
        if found.seq <= self.last:
            if event_id != self._id and event_id and self._id:
                raise _broken(found, f"event {found.seq} was told before, and differently")
            return
        if event:
            tx.record(event)
        self.last, self._id = found.seq, event_id
        self.count += 1


def _event(found: Line) -> Event:
    try:
        return line.decode(found.text)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise _broken(found, f"not an event ({exc})") from exc


def _broken(found: Line, why: str) -> JournalBroken:
    return JournalBroken(f"{found.path}:{found.number}: {why}", path=found.path, line=found.number)


def _stream(files: list[Segment]) -> Iterator[Line]:
    """The lines of one journal that still count, in the order of their seq."""
    limits = _rewinds(files)
    index = 0
    for found in files:
        for number, text in segment.lines(found):
            index += 1
            while limits and limits[0][0] <= index:
                limits.pop(0)
            if line.rewinds_to(text) is not None:
                continue
            try:
                seq = line.number(text)
            except ValueError as exc:
                raise _broken(Line(0, text, found.path, number), str(exc)) from exc
            if not limits or seq <= limits[0][1]:
                yield Line(seq, text, found.path, number)


def _rewinds(files: list[Segment]) -> list[tuple[int, int]]:
    """Each rewind of a journal: its place, and the lowest seq that it or a later one goes back to."""
    found: list[tuple[int, int]] = []
    index = 0
    for one in files:
        for _, text in segment.lines(one):
            index += 1
            if (to := line.rewinds_to(text)) is not None:
                found.append((index, to))
    lowest = 1 << 62
    for n in reversed(range(len(found))):
        lowest = min(lowest, found[n][1])
        found[n] = (found[n][0], lowest)
    return found


def forward(tx: ReadTx, since: int, store: Store) -> None:
    """Bring a rebuilt store up to what the room itself has recorded meanwhile."""
    while page := tx.events(str(since)):
        with store.write() as target:
            for event in page:
                target.record(event)
        since = page[-1].seq
