"""Verify: whether a room is what it must be, said in sentences."""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom.clock import iso
from postroom.errors import JournalBroken, StoreCorrupt
from postroom.room import blob, digest, journal, replay
from postroom.room.segment import Moved

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

DEEP_LIMIT = 200_000  # events up to which a replay is made without being asked for


class Verified(NamedTuple):
    """What was found."""

    problems: list[str]
    checked: list[str]  # the facts that were looked at
    skipped: list[str]  # what was not, and why
    digest: str | None  # of the state, when it was compared with a replay


def verify(room: "LocalRoom", *, deep: bool | None = None) -> Verified:
    """Check the file, the invariants, attachments, the quiet markers, and that the journals tell the same.

    The last takes a replay: `deep` asks for it or forbids it; by default rooms of moderate size get one.
    """
    problems, checked, skipped = list[str](), list[str](), list[str]()

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
        return Verified(problems, checked, skipped, None)
    for fact, found in room.store.whole().audit():
        note(fact, found)
    note("every attachment is there as it was sent", _attachments(room, thorough=wanted))
    if room.store.readonly:
        skipped.append("quiet markers and journals, because the room can only be read")
        return Verified(problems, checked, skipped, None)
    note("a quiet marker stands only where nothing is due", _markers(room))
    if not wanted:
        why = f"there are {events:,} events" if deep is None else "only a quick check was wanted"
        skipped.append(f"a replay of the journals, because {why}")
        return Verified(problems, checked, skipped, None)
    try:
        state, found = _compare(room)
    except Moved as exc:
        skipped.append(f"a replay of the journals, because {exc}")
        return Verified(problems, checked, skipped, None)
    note("the journals alone rebuild the same state", found)
    return Verified(problems, checked, skipped, state)


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


def _compare(room: "LocalRoom") -> tuple[str | None, list[str]]:
    """The state's digest, and how it differs from that of a replay."""
    first = room.store.whole().first()
    try:
        journal.sync(room)
        store, done = replay.rebuilt(journal.directory(room))
    except Moved:
        raise
    except JournalBroken as exc:
        return None, [f"the journals are broken: {exc}"]
    try:
        with room.store.read() as tx:
            replay.forward(tx, done.last, store)
            state = digest.digest(room.store.whole())
        rebuilt = digest.digest(store.whole())
    finally:
        store.close()
    if rebuilt == state:
        return state, []
    if room.store.whole().first() != first:  # somebody pruned meanwhile: there was nothing to compare with
        return _compare(room)
    return state, [f"the journals rebuild another state ({rebuilt[:12]}) than the room has ({state[:12]})"]
