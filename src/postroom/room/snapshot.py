"""A snapshot: everything a room holds at one seq, in one file, so that older journals may go.

`_snapshot.<seq>.jsonl.gz`: a header, each row of each table, and the digest of the state. A replay begins
with the latest and goes on with the events after its seq.
"""

import json
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from postroom import host, label
from postroom.errors import JournalBroken, StoreError
from postroom.model.message import Json
from postroom.room import digest, file, journal, loss, segment
from postroom.store.contract import ReadTx, Store, Whole
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

FORMAT = 3
_EARLIER = (1, 2)  # in 2, notes of who was introduced are missing
_MIXED = 1  # what was taken by another lay among what is held until its time
_TABLES = (*digest.TABLES, "event", "follower")
_NAME = re.compile(r"_snapshot\.(\d+)\.jsonl\.gz", re.ASCII)
_BATCH = 2000


class Snapshot(NamedTuple):
    """One snapshot's file."""

    seq: int
    path: str


def listed(events: str) -> list[Snapshot]:
    """All snapshots, oldest first."""
    names = os.listdir(events) if os.path.isdir(events) else []
    found = [
        Snapshot(int(match[1]), os.path.join(events, match[0]))
        for n in names
        if (match := _NAME.fullmatch(n))
    ]
    return sorted(found)


def sync(room: "LocalRoom") -> int:
    """Bring the journals up to date, as `journal.sync` does; and take a snapshot where they alone cannot
    rebuild the room: it was pruned, and its snapshot is lost, or ends before its log begins.
    """
    mirrored = journal.sync(room)
    if room.store.readonly or (first := room.store.whole().first()) <= 1:
        return mirrored
    taken = listed(journal.directory(room))
    if not taken or taken[-1].seq < first - 1:
        take(room)
    return mirrored


def take(room: "LocalRoom") -> Snapshot:
    """Put a snapshot of the room as it is beside its journals; older ones go."""
    events = journal.directory(room)
    while (taken := _take(room, events)) is None:
        pass
    if loss.noted(events):
        return taken  # what was lost is brought back from an older one
    for older in listed(events):
        if older.seq < taken.seq:
            file.remove(older.path)
            label.here("snapshot-older-gone")
    return taken


def _take(room: "LocalRoom", events: str) -> Snapshot | None:
    """The latest snapshot, made now or by another meanwhile; None when one must be made again."""
    made = file.temporary(os.path.join(events, "_snapshot"))
    try:
        with room.store.read() as tx:
            seq = int(tx.last_cursor())
            file.write_whole(made, _content(room.store, seq), compressed=True)
        label.here("snapshot-written")
        # What a snapshot tells must survive in the store, and be in the journals, before it is believed.
        room.store.upkeep().flush()
        with room.store.write() as tx:
            journal.drain(room, tx)
            if (others := listed(events)) and others[-1].seq >= seq:
                return others[-1]
            if _redacted_since(tx, seq):
                return None
            file.put(made, path(events, seq))
            label.here("snapshot-put")
    finally:
        file.remove(made)
    return Snapshot(seq, path(events, seq))


def write(store: Store, events: str, seq: int) -> None:
    """Write a snapshot of a store that nobody else uses."""
    host.private_directory(events)
    made = file.temporary(path(events, seq))
    file.write_whole(made, _content(store, seq), compressed=True)
    file.put(made, path(events, seq))


def path(events: str, seq: int) -> str:
    return os.path.join(events, f"_snapshot.{seq}.jsonl.gz")


def _redacted_since(tx: ReadTx, seq: int) -> bool:
    """Whether content has been taken away that a snapshot of that seq would bring back."""
    while page := tx.events(str(seq)):
        if any(event.type == "message.redacted" for event in page):
            return True
        seq = page[-1].seq
    return False


def _content(store: Store, seq: int) -> Iterator[bytes]:
    whole = store.whole()
    yield _line({"type": "journal.snapshot", "format": FORMAT, "seq": seq})
    for table in _TABLES:
        for row in whole.rows(table):
            yield _line({"table": table, "row": row})
    yield _line({"digest": digest.digest(whole)})


def _line(document: Json) -> bytes:
    return encode(document).encode() + b"\n"


def load(snapshot: Snapshot, store: Store) -> None:
    """Fill an empty store with what a snapshot holds; `JournalBroken` if that is not what was written."""
    documents = (_document(snapshot, number, text) for number, text in segment.lines(_as_segment(snapshot)))
    header = next(documents, Json())
    if header.get("type") != "journal.snapshot" or header.get("format") not in (*_EARLIER, FORMAT):
        raise JournalBroken(f"{snapshot.path}:1: not a snapshot that this version reads", path=snapshot.path)
    expected, total = "", digest.Total()
    while batch := list(islice(documents, _BATCH)):
        try:
            with store.write():
                whole = store.whole()
                for document in batch:
                    if "digest" in document:
                        expected = document["digest"]
                    else:
                        _put_back(document, whole, total)
        except (StoreError, KeyError, TypeError, ValueError) as exc:
            raise JournalBroken(
                f"{snapshot.path}: a row cannot be put back ({exc})", path=snapshot.path
            ) from exc
    if expected != total.end():
        raise JournalBroken(f"{snapshot.path}: its digest is not that of its rows", path=snapshot.path)
    if header["format"] == _MIXED:
        with store.write():
            store.whole().renew()


def _put_back(document: Json, whole: Whole, total: digest.Total) -> None:
    """One row. The digest is of what was written, whatever this version adds to it."""
    table, row = document["table"], document["row"]
    whole.load(table, row)
    if table in digest.TABLES:
        total.add(table, row)


def _document(snapshot: Snapshot, number: int, text: bytes) -> Json:
    try:
        return json.loads(text)
    except ValueError as exc:
        raise JournalBroken(f"{snapshot.path}:{number}: {exc}", path=snapshot.path) from exc


def _as_segment(snapshot: Snapshot) -> segment.Segment:
    return segment.Segment("_snapshot", snapshot.seq, snapshot.seq, snapshot.path)


def redact(snapshot: Snapshot, message_id: str, hashes: Json) -> int:
    """Take a message's content out of a snapshot; how many rows held it."""
    emptied = dict.fromkeys(digest.CONTENT[2:]) | {"subject": "", "body": "", "redacted": encode(hashes)}

    def line_without(text: bytes) -> bytes:
        document: Json = json.loads(text)
        if document.get("table") != "message" or document["row"]["id"] != message_id:
            return text
        return _line({"table": "message", "row": document["row"] | emptied})[:-1]

    return segment.rewrite(_as_segment(snapshot), line_without)
