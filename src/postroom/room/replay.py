"""Replay: a room rebuilt from its journals alone, through the same `apply` that built it.

The journals are merged by seq while they are read. Together they tell every number once, so that a gap, or
two stories about one number, is damage.
"""

import os
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from postroom import host
from postroom.errors import JournalBroken, PostroomError, Refused
from postroom.model.message import Event
from postroom.room import blob, digest, file, journal_lines, line, segment, snapshot
from postroom.room.journal import read_head
from postroom.room.journal_lines import Line, broken
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
    left_out: int = 0  # events that were voided, or with `voided`, those that were stored after the loss


@file.tells_of_files
def replay(events: str, target_home: str, *, voided: bool = False) -> Replayed:
    """Rebuild the room whose journals are in `events`, in a home that has none; be it the one they are in.

    Attachments are not in the journals: they are copied from beside them. `voided`: rebuild it as it was
    before its store lost events the last time, without what was stored after that.
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
        store, done = rebuilt(events, made, voided=voided)
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


def rebuilt(
    events: str, path: str = "", *, limit: int | None = None, written: int | None = None, voided: bool = False
) -> tuple[ScratchStore, Replayed]:
    """A store filled from journals, while others may still write, close and rewrite them.

    `limit`: up to this event. `written`: up to here nothing may be missing, where the journals do not say.
    """
    for _ in range(TRIES):
        if path:
            file.remove_database(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        store, taken = ScratchStore(path), snapshot.listed(events)
        try:
            return store, _fill(store, events, taken, limit, written, voided=voided)
        except BaseException as exc:
            store.close()
            # A prune puts its snapshot there before it takes lines away: what is missing now is in that one.
            moved = isinstance(exc, JournalBroken) and snapshot.listed(events) != taken
            if not moved and not isinstance(exc, segment.Moved):
                raise
    raise segment.Moved(f"the journals in {events} were rewritten again and again", hint="Try again.")


def _fill(
    store: Store,
    events: str,
    taken: list[snapshot.Snapshot],
    limit: int | None,
    written: int | None,
    *,
    voided: bool,
) -> Replayed:
    head = read_head(events)  # before the files: all up to it is in them, whatever is written meanwhile
    promised = head.seq if head else written
    journals = journal_lines.Journals(events)
    lost = journals.voided()
    left_out = len({found.seq for found in lost})
    if voided:
        if not lost:
            hint = "Replay what counts: postroom replay --into NEW_HOME"
            raise Refused(f"nothing was voided in {events}", path=events, hint=hint)
        promised = lost[0].seq - 1
    elif limit is not None:
        promised = limit if promised is None else min(limit, promised)
    if voided or limit is not None:
        taken = [one for one in taken if promised is None or one.seq <= promised]
    start = taken[-1].seq if taken else 0
    if taken:
        snapshot.load(taken[-1], store)
    lines = journals.lines()
    if voided:
        counting = list(lines)
        left_out = sum(found.seq > (promised or 0) for found in counting)
        lines = iter([*(found for found in counting if found.seq < lost[0].seq), *lost])
    story = _Story(start, promised)
    story.tell(
        (found for found in lines if found.seq > start and (limit is None or found.seq <= limit)), store
    )
    return Replayed(story.count, story.last, start or None, digest.digest(store.whole()), left_out)


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
                raise broken(found, f"this cannot follow what came before it ({exc})") from exc
        if self._promised is not None and self.last < self._promised:
            raise JournalBroken(
                f"the journals end at event {self.last}, but were written up to {self._promised}"
            )

    def _take(self, tx: WriteTx, found: Line) -> None:
        removed = line.is_removed(found.text)
        event = None if removed else _event(found)
        if found.seq > self.last + 1 and (event is None or line.next_after(event) != self.last + 1):
            if self._promised is None or self.last < self._promised:
                raise broken(found, f"event {self.last + 1} is missing before this line")
            self._is_torn = True  # of the page being written, some files have their part and some do not
            return
        event_id = event.id if event else ""
        if found.seq <= self.last:
            if event_id != self._id and event_id and self._id:
                raise broken(found, f"event {found.seq} was told before, and differently")
            return
        if event:
            tx.record(event)
        self.last, self._id = found.seq, event_id
        self.count += 1


def _event(found: Line) -> Event:
    try:
        return line.decode(found.text)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise broken(found, f"not an event ({exc})") from exc


def forward(tx: ReadTx, since: int, store: Store) -> None:
    """Bring a rebuilt store up to what the room itself has recorded meanwhile."""
    while page := tx.events(str(since)):
        with store.write() as target:
            for event in page:
                target.record(event)
        since = page[-1].seq
