"""Keeping a room: `prune` forgets what is over, `redact` takes one message's content away for good.

Both leave a room whose journals still rebuild it to the same digest, wherever they are interrupted: what was
begun is finished by calling them again.
"""

import functools
import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import label
from postroom.errors import StoreFull
from postroom.model.message import Message
from postroom.room import blob, digest, file, journal, line, loss, reserve, segment, snapshot, spill
from postroom.room.journal_index import Index
from postroom.room.unit import EVERYONE
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

MESSAGES, EVENTS = 500, 5000  # removed in one transaction
FEW_MESSAGES, FEW_EVENTS = 20, 200  # the same where the disk is full
_SAMPLE, _SHORTEST = 48, 12


class Pruned(NamedTuple):
    """What `prune` removed."""

    messages: int
    first: int  # the log now begins here
    lines: int  # taken out of the journals; whole files are not counted
    snapshot: int | None


class Redacted(NamedTuple):
    """What `redact` did."""

    message: str
    lines: int  # of journals and snapshots that held the content
    elsewhere: bool  # the same words are still in the room: something else says them, too
    copies: list[str]  # of the room before a restore, under the same home; they were left alone


def prune(room: "LocalRoom", before: int) -> Pruned:
    """Forget messages all of whose deliveries ended before a moment, and the events up to then.

    On a full disk it does so in small steps, with the room's reserve. What needs more space than that, the
    snapshot, is left to the next prune: until then the journals keep all they have. Journals that are behind
    stay so: they take space that only more space would give back.

    It is refused where the store has lost what the journals have, until that is accepted: the lines to bring
    it back from are among those that a prune deletes.
    """
    loss.refuse(room)
    removed: list[int] = []
    try:
        return _prune(room, before, MESSAGES, EVENTS, removed)
    except StoreFull:
        return reserve.borrowed(
            room, lambda: _prune(room, before, FEW_MESSAGES, FEW_EVENTS, removed, is_full=True)
        )


@file.tells_of_files
def _prune(
    room: "LocalRoom", before: int, most: int, events_at_once: int, removed: list[int], *,
    is_full: bool = False,
) -> Pruned:  # fmt: skip
    """`removed`: how many messages each step removed, of an attempt before this one as well."""
    if not is_full:
        journal.sync(room)
    # Journals that are behind would take the space that is borrowed, and not give it back.
    is_behind = is_full and journal.lag(room) > 0
    after, done = 0, not removed
    step = functools.partial(
        _prune_batch, room, before, most=most, events_at_once=events_at_once, drains=not is_behind
    )
    while (batch := step(after)) is not None:
        if is_full:
            reserve.empty_log(room)
        label.here("prune-batch")
        done = False
        removed.append(len(batch))
        after = batch[-1] if batch else after
    blob.sweep(room)
    spill.sweep(room)
    events, lines = journal.directory(room), 0
    try:
        room.store.search().sweep()
        if not is_behind:
            if not done or (room.store.whole().first() > 1 and not snapshot.listed(events)):
                snapshot.take(room)
            lines = _trim(room)
    except StoreFull:
        if not is_full:
            raise
    room.bell.ring((EVERYONE,))
    taken = snapshot.listed(events)
    return Pruned(sum(removed), room.store.whole().first(), lines, taken[-1].seq if taken else None)


def _prune_batch(
    room: "LocalRoom", before: int, after: int, *, most: int, events_at_once: int, drains: bool
) -> list[int] | None:
    """Remove a page of messages and of events; None when there was nothing to remove.

    The journals are told first of all that is forgotten. Where they cannot be, only messages go, and no
    events: the journals will have a mark in the place of each message that they do not have yet.
    """
    with room.store.write() as tx:
        if drains:
            journal.drain(room, tx)
        whole, before = room.store.whole(), min(before, tx.now)
        batch = tx.prunable(before, after, most)
        cut = whole.cut(before, events_at_once, tx.next_seq) if drains else None
        if cut is not None and cut <= whole.first():
            cut = None
        if not batch and cut is None:
            return None
        room.unsettle()
        tx.append("room.pruned", payload={"before": before, "messages": batch, "cut": cut})
        label.here("prune-before-commit")
    return batch


def _trim(room: "LocalRoom") -> int:
    """Take out of the journals what the store has forgotten and a snapshot stands for."""
    events, dropped = journal.directory(room), 0
    covered = max((taken.seq for taken in snapshot.listed(events)), default=0)
    first = min(room.store.whole().first(), covered + 1)  # another prune may be ahead of its snapshot

    def kept(text: bytes) -> bytes | None:
        return text if line.rewinds_to(text) is not None or line.number(text) >= first else None

    for stem in segment.listed(events):
        room.store.begin()
        try:
            segment.drop_twins(events)
            for found in [*segment.of(events, stem), *segment.voids(events, stem)]:
                if not found.is_open and found.last < first:
                    os.unlink(found.path)
                elif _oldest(found) < first:
                    dropped += segment.rewrite(found, kept)
                label.here("prune-trimmed")
        finally:
            room.store.rollback()
    room.store.begin()
    try:
        Index(events).forget(set(segment.listed(events)))
    finally:
        room.store.rollback()
    return dropped


def _oldest(found: segment.Segment) -> int:
    numbers = (line.number(text) for _, text in segment.lines(found) if line.rewinds_to(text) is None)
    return next(numbers, 1 << 62)


@file.tells_of_files
def redact(room: "LocalRoom", ref: str) -> Redacted:
    """Take a message's subject, body, payload, metadata and attachments out of the store and the journals.

    Hashes stay in their place, and its receipts. What others quoted of it is theirs, and stays; so does a
    file that another message brings, too.
    """
    journal.sync(room)
    upkeep = room.store.upkeep()
    with upkeep.overwriting():
        with room.store.write() as tx:
            journal.drain(room, tx)
            message = room.find_message(tx, ref)
            if message.redacted is None:
                room.unsettle()
                party = message.sender_id if message.sender_id[0] in "ah" else ""
                tx.append(
                    "message.redacted", party, about=message, payload={"hashes": digest.hashes(message)},
                    status="redacted",
                )  # fmt: skip
                label.here("redact-before-commit")
        label.here("redact-stored")
        room.store.search().sweep()
        lines = _redact_lines(room, message)
        elsewhere = upkeep.scrub(_samples(message))
    spill.remove(room, message)
    blob.sweep(room)
    elsewhere |= any(blob.is_there(room.home, attachment) for attachment in message.attachments or ())
    journal.sync(room)
    room.bell.ring((EVERYONE, message.sender_id))
    copies = [os.path.join(room.home, n) for n in os.listdir(room.home) if n.startswith("before-restore-")]
    return Redacted(message.id, lines, elsewhere, sorted(copies))


def _redact_lines(room: "LocalRoom", message: Message) -> int:
    events = journal.directory(room)
    hashes = message.redacted or digest.hashes(message)

    def line_without(text: bytes) -> bytes:
        if line.rewinds_to(text) is not None or line.is_removed(text) or line.number(text) != message.seq:
            return text
        event = line.decode(text)
        if event.message is None or event.message.id != message.id:
            return text
        emptied = event.message._replace(
            subject="", body="", payload=None, metadata=None, attachments=None, redacted=hashes
        )
        return line.encode(event._replace(message=emptied))[:-1]

    room.store.begin()
    try:
        segment.drop_twins(events)
        file.sweep_litter(events)
        file.sweep_litter(room.home, "restored.db.")
        stems = Index(events).every(message.sender_id)
        files = [one for s in stems for one in (*segment.of(events, s), *segment.voids(events, s))]
        changed = 0
        for found in files:
            if found.is_open or found.first <= message.seq <= found.last:
                changed += segment.rewrite(found, line_without)
                label.here("redact-rewritten")
        for taken in snapshot.listed(events):
            changed += snapshot.redact(taken, message.id, hashes)
            label.here("redact-rewritten")
    finally:
        room.store.rollback()
    return changed


def _samples(message: Message) -> list[bytes]:
    """Pieces of the content by which a trace of it would be known. None: it was taken away before."""
    structured = (message.payload, message.metadata, message.attachments)
    texts = [message.subject, message.body, *(encode(value) for value in structured if value)]
    found: set[bytes] = set()
    for text in map(str.encode, texts):
        if len(text) >= _SHORTEST:
            found |= {text[at : at + _SAMPLE] for at in (0, len(text) // 2, max(0, len(text) - _SAMPLE))}
    return sorted(found)
