"""Verify: whether a room is what it must be, said in sentences."""

import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from postroom.clock import iso
from postroom.errors import JournalBroken, PostroomError, StoreCorrupt
from postroom.model.message import Json
from postroom.room import blob, digest, journal, loss, replay, segment, snapshot
from postroom.room.segment import Moved
from postroom.store.contract import Store, Whole

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

_DAMAGE = (ValueError, KeyError, TypeError, AttributeError)  # what reading a row raises that was changed
_MOST = 20  # sentences of one kind
DEEP_LIMIT = 200_000  # events up to which a replay is made without being asked for


class Verified(NamedTuple):
    """What was found."""

    problems: list[str]
    checked: list[str]  # the facts that were looked at
    skipped: list[str]  # what was not, and why
    digest: str | None  # of the state, when it was compared with a replay
    lost: list[loss.Loss]  # what the journals have and the store has not


def verify(room: "LocalRoom", *, deep: bool | None = None) -> Verified:
    """Check the file, the invariants, attachments, the quiet markers, and that the journals tell the same.

    The last takes a replay: `deep` asks for it or forbids it; by default rooms of moderate size get one.
    Nothing is changed, in the room or in its journals.
    """
    found = Verified([], [], [], None, [])
    try:
        found = _verified(room, deep, found)
    except (StoreCorrupt, sqlite3.Error):
        if not (values := room.store.upkeep().texts()):
            raise
        found.skipped.append("what has to read these values")
    else:
        values = _no_texts(room) if found.problems and deep is not False else []
    if values:
        remedy = "to rebuild the room from its journals: postroom replay --into NEW_HOME"
        found.checked.append("every text is UTF-8")
        found.problems.extend(f"{value}; {remedy}" for value in values)
    return found


def _no_texts(room: "LocalRoom") -> list[str]:
    """Say which values are not UTF-8, where the file can be read to its end."""
    try:
        return room.store.upkeep().texts()
    except PostroomError:
        return []


def _verified(room: "LocalRoom", deep: bool | None, so_far: Verified) -> Verified:
    """Note what is found in `so_far` as well, for an error that ends this."""
    problems, checked, skipped, _, lost = so_far

    def note(fact: str, found: list[str]) -> None:
        checked.append(fact)
        problems.extend(found)

    events, wanted = 0, False
    try:
        with room.store.read() as tx:
            events = int(tx.last_cursor())
        wanted = events < DEEP_LIMIT if deep is None else deep
        note("the file is sound", room.store.upkeep().integrity(thorough=wanted))
    except StoreCorrupt as exc:
        note("the file is sound", [str(exc)])
    if problems:
        skipped.append("everything else, because the file is damaged")
        return Verified(problems, checked, skipped, None, lost)
    for fact, found in room.store.whole().audit():
        note(fact, found)
    try:
        lost.extend(_lost(room, thorough=wanted))
        note("the store has all that the journals have", [_told(one) for one in lost])
    except Moved as exc:
        skipped.append(f"whether the store has all that the journals have, because {exc}")
    except JournalBroken as exc:
        note("the store has all that the journals have", [f"the journals are broken: {exc}"])
        note("the write-ahead log can be read", room.store.upkeep().log())
        return Verified(problems, checked, skipped, None, lost)
    note("the write-ahead log can be read", room.store.upkeep().log())
    try:
        note("every attachment is there as it was sent", _attachments(room, thorough=wanted))
    except _DAMAGE as exc:
        note("every attachment is there as it was sent", [f"what is attached cannot be read: {exc}"])
    if room.store.readonly:
        skipped.append("quiet markers, because the room can only be read")
    else:
        note("a quiet marker stands only where nothing is due", _markers(room))
    if not wanted:
        why = f"there are {events:,} events" if deep is None else "only a quick check was wanted"
        skipped.append(f"a replay of the journals, because {why}")
        return Verified(problems, checked, skipped, None, lost)
    try:
        limit = min((one.first - 1 for one in lost if not one.voided), default=None)
        state, found = _compare(room, limit)
    except Moved as exc:
        skipped.append(f"a replay of the journals, because {exc}")
        return Verified(problems, checked, skipped, None, lost)
    note("the journals alone rebuild the same state", found)
    if not journal.paths(room) and not found:
        skipped.append("a comparison with the journals, because none are written yet: postroom journal")
    return Verified(problems, checked, skipped, state, lost)


def _lost(room: "LocalRoom", *, thorough: bool) -> list[loss.Loss]:
    """What the journals have and the store has not. A quick look goes by what their writer has noted."""
    events = journal.directory(room)
    if thorough or journal.is_ahead(room):
        return loss.find(events, room.store)
    noted = loss.noted(events)
    return [noted] if noted else []


def _told(lost: loss.Loss) -> str:
    words = f"the journals have what the store has lost: {lost.words}"
    if not lost.voided:
        return f"{words}; to bring it back: {lost.remedy}"
    return f"{words}; to bring it back: {lost.remedy}; to let it go: postroom journal accept"


def _attachments(room: "LocalRoom", *, thorough: bool) -> list[str]:
    """What is wrong with the files of messages. A file that goes with its message meanwhile is no fault."""
    faults: dict[tuple[str, str], str] = {}
    for message, attachment in blob.named(room):
        if problem := blob.fault(room.home, attachment, thorough=thorough):
            faults[message, attachment["sha256"]] = f"{attachment['name']!r} of message {message} {problem}"
    if not faults:
        return []
    still = {(message, attachment["sha256"]) for message, attachment in blob.named(room)}
    return [told for key, told in faults.items() if key in still][:20]


def _markers(room: "LocalRoom") -> list[str]:
    problems: list[str] = []
    tx = room.store.begin()
    try:
        for agent in _agents_with_markers(room):
            until = room.quiet.until(agent)
            if until is None or until <= tx.now:
                continue
            if tx.restless(agent):
                problems.append(f"the marker of {agent} promises quiet, and mail is waiting or offered")
            elif (due := tx.next_due(agent)) is not None and due < until:
                problems.append(
                    f"the marker of {agent} promises quiet until {iso(until)}, but mail is due at {iso(due)}"
                )
    finally:
        room.store.rollback()
    return problems


def _agents_with_markers(room: "LocalRoom") -> list[str]:
    try:
        return [name for name in os.listdir(os.path.dirname(room.quiet.path("any"))) if name[0] != "."]
    except FileNotFoundError:
        return []


def _compare(room: "LocalRoom", limit: int | None) -> tuple[str | None, list[str]]:
    """The state's digest, and how room and journals differ.

    What the journals do not have yet is replayed from the room's own events; so is all after `limit`, where
    they go on with what the store has lost.
    """
    first, events = room.store.whole().first(), journal.directory(room)
    with room.store.read() as tx:
        written = int(tx.position(journal.FOLLOWER) or 0)
    is_there = bool(segment.listed(events) or snapshot.listed(events))
    if written and not is_there:
        why = f"the journals were written up to event {written}, and are not in {events}"
        return None, [f"{why}; to write them again: postroom journal"]
    try:
        store, done = replay.rebuilt(events, limit=limit, written=written)
    except Moved:
        raise
    except JournalBroken as exc:
        return None, [f"the journals are broken: {exc}"]
    try:
        if done.last < first - 1:
            why = f"the journals go up to event {done.last}, and the room was pruned up to event {first - 1}"
            return None, [f"{why}; to write them again: postroom journal"]
        state, found = _differences(room, store, done.last)
    finally:
        store.close()
    if (
        found and room.store.whole().first() != first
    ):  # somebody pruned meanwhile: there was nothing to compare
        return _compare(room, limit)
    return state, found


def _differences(room: "LocalRoom", store: Store, last: int) -> tuple[str | None, list[str]]:
    whole = room.store.whole()
    with room.store.read() as tx:
        try:
            replay.forward(tx, last, store)
        except (PostroomError, *_DAMAGE) as exc:
            return None, [f"what was recorded after event {last} cannot be replayed: {exc}"]
        found = list(islice(_differing(whole, store.whole()), _MOST))
        return (None if found else digest.digest(whole)), found


def _differing(room: Whole, rebuilt: Whole) -> Iterator[str]:
    """What each row that is not as the journals have it, is."""
    for table in (*digest.TABLES, "event"):
        theirs = _keyed(rebuilt, table)
        other = next(theirs, None)
        for row in room.rows(table):
            key = room.key(table, row)
            while other is not None and other[0] < key:
                yield f"{_named(table, other[1])} is in the journals, and not in the room"
                other = next(theirs, None)
            if other is None or other[0] != key:
                yield f"{_named(table, row)} is in the room, and not in the journals"
                continue
            yield from _in_row(table, row, other[1], rebuilt)
            other = next(theirs, None)
        while other is not None:
            yield f"{_named(table, other[1])} is in the journals, and not in the room"
            other = next(theirs, None)


def _keyed(whole: Whole, table: str) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    return ((whole.key(table, row), row) for row in whole.rows(table))


def _in_row(table: str, row: Json, other: Json, rebuilt: Whole) -> Iterator[str]:
    try:
        mine, theirs = (digest.hashed(one) if table == "message" else one for one in (row, other))
    except _DAMAGE:
        yield f"{_named(table, row)} is damaged: what should be JSON is not, or is other JSON"
        return
    wrong = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
    if table == "event" and "prev" in wrong and rebuilt.is_gone(row["message"]):
        wrong.remove("prev")  # a history that went with its message
    if wrong:
        yield f"{_named(table, row)} is not as the journals have it: {', '.join(sorted(wrong))}"


def _named(table: str, row: Json) -> str:
    """A row, as a sentence names it."""
    match table:
        case "message" | "event":
            return f"{table} {row['seq']}"
        case "delivery":
            return f"the delivery of message {row['seq']} to {row['recipient']}"
        case "project":
            return f"project {row['name']!r}"
        case _:
            return f"{table} {row.get('id') or row.get('agent') or row.get('gate')}"
