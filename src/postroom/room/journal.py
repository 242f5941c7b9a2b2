"""The journals: every event once more as a line of JSON in its agent's file, following the store by a cursor.

A transaction cannot span a file and a database, so a page of events is written to the files first and the
cursor moves with the commit. A process killed between the two leaves lines that the next one recognises by
their seq. Who mirrors holds the room's write lock: there is never more than one.

Only a power loss (or an older file put in the store's place) can leave the files ahead of the store, or
short of what the cursor says. `_head.json` tells: it names the last line written and the boot it was
written in. Then `_recover` compares the two, takes back by a `journal.rewind` line what the store does not
know, notes that in `_lost.json`, and writes again what the files lost. Only who writes the journals does so.
"""

import json
import os
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from postroom import host, label
from postroom.clock import iso
from postroom.errors import JournalBroken
from postroom.room import file, line, loss, segment
from postroom.room.journal_index import Index
from postroom.room.segment import ROOM, Segment
from postroom.store.contract import ReadTx, WriteTx

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

FOLLOWER = "journal"
PAGE = 500  # events a transaction
PAGE_BYTES = 8 << 20  # or fewer, when they are large
_CHUNK = 50


class Head(NamedTuple):
    """The last line written: all events up to it are in the files."""

    seq: int
    id: str
    boot: str


def directory(room: "LocalRoom") -> str:
    return os.path.join(room.home, "events")


def paths(room: "LocalRoom") -> list[str]:
    """The files of all journals, each journal's oldest first."""
    return [found.path for files in segment.listed(directory(room)).values() for found in files]


def path(room: "LocalRoom", party: str) -> str:
    """The file to which an agent's next events go, or `_room.jsonl` for anybody else's."""
    events = directory(room)
    return segment.live_path(events, Index(events).stem(party))


def paths_of(room: "LocalRoom", party: str) -> list[str]:
    """All files of one agent's journal, the oldest first."""
    events = directory(room)
    return [found.path for stem in Index(events).every(party) for found in segment.of(events, stem)]


def has(room: "LocalRoom", party: str) -> bool:
    """Whether there is a journal of an agent, which may be deleted."""
    return bool(segment.of(directory(room), Index(directory(room)).stem(party)))


def lag(room: "LocalRoom") -> int:
    """How many events the journals are behind."""
    look = room.store.look()
    return max(0, int(look.last_cursor()) - int(look.position(FOLLOWER) or 0))


@file.tells_of_files
def sync(room: "LocalRoom") -> int:
    """Bring the journals up to the moment of the call; how many events were mirrored."""
    target = int(room.store.look().last_cursor())
    if room.store.readonly:
        return 0
    host.private_directory(directory(room))
    if not _is_sound(room):
        _recover(room)
    mirrored = 0
    while int(room.store.look().position(FOLLOWER) or 0) < target:
        try:
            page, _ = _mirror(room, PAGE)
        except segment.Damaged:
            _recover(room)
            continue
        if page is None:
            break
        mirrored += page
    compress(room)
    return mirrored


def is_simple(room: "LocalRoom", most: int) -> bool:
    """Whether the journals can be extended at once, or after no more than `most` bytes are compared with the
    store. It is not where they have what the store has lost: nobody may take that back in passing.
    """
    if _is_sound(room):
        return True
    look, head, events = room.store.look(), read_head(directory(room)), directory(room)
    first, last = room.store.whole().first(), int(look.last_cursor())
    if head is not None and not _agrees(look, first, last, head.seq, head.id):
        return False
    open_files = [files[-1].path for files in segment.listed(events).values() if files[-1].is_open]
    return sum(os.path.getsize(path) for path in open_files) <= most


class Written(NamedTuple):
    """What one step of a follower did."""

    left: int  # events that it left
    has_closed: bool  # whether there are files to compress


@file.tells_of_files
def extend(room: "LocalRoom", most: int) -> Written:
    """Mirror no more events than so many, in one transaction. Nothing that takes long is done."""
    if room.store.readonly:
        return Written(0, False)
    host.private_directory(directory(room))
    if not _is_sound(room):
        _recover(room)
    try:
        _, has_closed = _mirror(room, most)
    except segment.Damaged:
        _recover(room)
        has_closed = True
    return Written(lag(room), has_closed)


def _mirror(room: "LocalRoom", most: int) -> tuple[int | None, bool]:
    """Mirror a page: how many events, None where there are none; and whether a file was closed."""
    with room.store.read() as reading:
        first = room.store.whole().first()
        page = _read_page(reading, first, most)  # outside the lock: others write meanwhile
    if page is None:
        return None, False
    label.here("journal-read")
    mirrored, has_closed = 0, False
    with room.store.write() as tx:
        # Whoever redacts or prunes drains first, and so moves the cursor: no stale page is written.
        if tx.position(FOLLOWER) == page.start:
            has_closed = _write_page(room, tx, page)
            mirrored = page.events
    label.here("journal-after-commit")
    return mirrored, has_closed


def drain(room: "LocalRoom", tx: WriteTx) -> None:
    """Mirror all there is, in a transaction that changed nothing yet: only what is committed may be told."""
    while page := _read_page(tx, room.store.whole().first(), PAGE):
        _write_page(room, tx, page)


class Page(NamedTuple):
    """The next events to mirror, as lines."""

    start: str  # the cursor's position before it
    texts: dict[str, list[tuple[int, bytes]]]  # for each journal: (seq, line)
    head: Head
    events: int
    joined: dict[str, tuple[str, str]]  # of agents that joined: the project and the name


def _read_page(tx: ReadTx, first: int, most: int) -> Page | None:
    """The next page. The log has gaps where messages were removed; the journals say so, and have none but
    before a restore, which says where it goes on."""
    start, texts = tx.position(FOLLOWER), dict[str, list[tuple[int, bytes]]]()
    count, size, last, expected = 0, 0, None, max(int(start or 0) + 1, first)
    joined = dict[str, tuple[str, str]]()
    while (
        count < most
        and size < PAGE_BYTES
        and (chunk := tx.events(str(last.seq) if last else start, min(_CHUNK, most - count)))
    ):
        for event in chunk:
            for seq in range(expected, line.next_after(event) or event.seq):
                texts.setdefault(ROOM, []).append((seq, line.removed(seq)))
            if event.type == "agent.joined" and event.agent_id:
                joined[event.agent_id] = str(event.payload.get("project")), str(event.payload.get("name"))
            text = line.encode(event)
            texts.setdefault(event.agent_id or ROOM, []).append((event.seq, text))
            size += len(text)
            expected = max(expected, event.seq + 1)
        count, last = count + len(chunk), chunk[-1]
    return last and Page(start, texts, Head(last.seq, last.id, host.boot()), count, joined)


def _write_page(room: "LocalRoom", tx: WriteTx, page: Page) -> bool:
    """Append a page to the files; whether one was closed. Done when the caller's transaction commits."""
    has_closed = False
    events, durable = directory(room), room.store.durability == "full"
    parties, ends = _places(events, tx, page)
    for stem in ends:
        texts = list(merge(*(page.texts[party] for party, its in parties.items() if its == stem)))
        has_closed |= _extend(room, stem, texts, ends[stem].seq)
    if durable:
        for project in {stem.rpartition("/")[0] for stem in ends}:
            file.sync_directory(os.path.join(events, project))
        file.sync_directory(events)
    label.here("journal-before-head")
    write_head(events, page.head)
    tx.set_position(FOLLOWER, str(page.head.seq))
    label.here("journal-before-commit")
    return has_closed


def _places(events: str, tx: WriteTx, page: Page) -> tuple[dict[str, str], dict[str, segment.End]]:
    """By what stem each agent's journal goes on, and how far each of these goes."""
    index, is_sure = Index(events), False
    while True:
        stems = {party: index.began(tx, party, page.joined.get(party)) for party in page.texts}
        index.save()
        segment.make_rooms(events, stems.values())
        ends = {stem: _end(events, party, stem) for party, stem in stems.items()}
        strange = [s for p, s in stems.items() if "/" in s and ends[s].owner not in (None, p)]
        if not strange:
            return stems, ends
        if is_sure:
            path = segment.live_path(events, strange[0])
            raise JournalBroken(f"{path} has lines of several agents", path=path, hint="Move it away.")
        index.again()
        is_sure = True


def _end(events: str, party: str, stem: str) -> segment.End:
    """Where a journal ends. One that has no open file yet goes on after its closed ones, and after what an
    earlier version has written under its agent's id, which is closed then.
    """
    if (end := segment.mend(segment.live_path(events, stem))).seq:
        return end
    earlier = segment.of(events, party) if "/" in stem else []
    if earlier and earlier[-1].is_open and (reached := segment.mend(earlier[-1].path).seq):
        _close(earlier[-1].path, reached)
        return segment.End(reached)
    return segment.End(max(_last(earlier), _last(segment.of(events, stem))))


def _last(files: list[Segment]) -> int:
    """The last event in closed files: the latest begins with the highest number, and what it took back in
    others does not count."""
    return next((found.last for found in reversed(files) if not found.is_open), 0)


def _extend(room: "LocalRoom", stem: str, texts: list[tuple[int, bytes]], reached: int) -> bool:
    """Append what is not in there yet; whether the file was closed then."""
    path = segment.live_path(directory(room), stem)
    new = b"".join(text for seq, text in texts if seq > reached)
    label.here("journal-before-append")
    if new:
        segment.append(path, new, durable=room.store.durability == "full")
    label.here("journal-after-append")
    is_full = os.path.exists(path) and os.path.getsize(path) >= room.settings.journal_rotate_bytes
    if is_full:
        _close(path, max(reached, texts[-1][0]))
    return is_full


def _close(path: str, last: int) -> None:
    """Give a file that has grown enough the name of a closed one. Compressing waits till the lock is free."""
    whole = segment.lines(Segment("", 0, 0, path))
    first = next((line.number(text) for _, text in whole if line.rewinds_to(text) is None), None)
    if first is None:
        return  # nothing but a rewind
    file.sync_file(path)  # closed files are not looked at again, so they must be whole
    label.here("journal-before-close")
    os.rename(path, segment.closed_path(path, first, last))
    label.here("journal-after-close")


def compress(room: "LocalRoom") -> None:
    """Compress the files that were closed, and remove what others have left unfinished."""
    for project in ("", *segment.projects(directory(room))):
        file.sweep_litter(os.path.join(directory(room), project))
    for found in segment.uncompressed(directory(room)):
        made = file.temporary(found.path + ".gz")
        try:
            before = os.stat(found.path)
            file.write_whole(made, (text + b"\n" for _, text in segment.lines(found)), compressed=True)
            label.here("journal-before-pack")
            room.store.begin()
            try:
                if _same(before, os.stat(found.path)):
                    file.put(made, found.path + ".gz")
                    label.here("journal-before-unlink")
                    os.unlink(found.path)
            finally:
                room.store.rollback()
        except (FileNotFoundError, segment.Moved):
            pass  # another process was faster, or rewrote it
        finally:
            file.remove(made)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_ino, one.st_size, one.st_mtime_ns) == (other.st_ino, other.st_size, other.st_mtime_ns)


# the head, and what is done when it does not fit


def read_head(events: str) -> Head | None:
    try:
        with open(os.path.join(events, "_head.json"), "rb") as opened:
            return Head(**json.load(opened))
    except (OSError, ValueError, TypeError):
        return None


def write_head(events: str, head: Head) -> None:
    path = os.path.join(events, "_head.json")
    made = file.temporary(path)
    with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as opened:
        json.dump(head._asdict(), opened)
    os.replace(made, path)


def is_ahead(room: "LocalRoom") -> bool:
    """Whether the last line written is of an event that the store does not have: it has lost some."""
    head, look = read_head(directory(room)), room.store.look()
    if head is None:
        return False
    return not _agrees(look, room.store.whole().first(), int(look.last_cursor()), head.seq, head.id)


def _is_sound(room: "LocalRoom") -> bool:
    look, head = room.store.look(), read_head(directory(room))
    position = int(look.position(FOLLOWER) or 0)
    if head is None:
        return position == 0
    if position > head.seq or head.boot != host.boot():
        return False
    return _agrees(look, room.store.whole().first(), int(look.last_cursor()), head.seq, head.id)


def _agrees(tx: ReadTx, first: int, last: int, seq: int, event_id: str) -> bool:
    """Whether the store knows an event. What was pruned it need not know, nor a message that was removed."""
    return seq < first or (seq <= last and tx.event_id(seq) in (event_id, None))


def _recover(room: "LocalRoom") -> None:
    """Make journals and store agree again after a power loss."""
    events = directory(room)
    with room.store.write() as tx:
        found = segment.listed(events)
        first, last = room.store.whole().first(), int(tx.last_cursor())
        compared = {stem: _compare(tx, files, first, last) for stem, files in found.items()}
        tails = {stem: agreed for stem, (agreed, _) in compared.items()}
        ahead = [stem for stem, (_, is_ahead) in compared.items() if is_ahead]
        index = Index(events)
        index.again()
        owners = {stem: index.owner(stem, files) for stem, files in found.items()}
        if ahead and not any(tails.values()):
            raise JournalBroken(
                f"the journals in {events} tell of another room than {room.store.path}", path=events,
                hint="Rebuild that room: postroom replay --into NEW_HOME; or move the journals away.",
            )  # fmt: skip
        if ahead:
            number = loss.begin(events, room.store)
            for stem in ahead:
                _take_back(tx, events, stem, tails[stem], number)
            loss.end(events)
        position = int(tx.position(FOLLOWER) or 0)
        index.save()
        owned = dict[str, int]()
        for stem, tail in tails.items():
            owned[owners[stem]] = max(tail, owned.get(owners[stem], 0))
        wanted = dict[str, int]()
        for party, seq in room.store.whole().tails(position).items():
            owner = party if segment.is_id(party) else ROOM
            wanted[owner] = max(seq, wanted.get(owner, 0))
        reached = min([position, *(owned.get(s, 0) for s, seq in wanted.items() if owned.get(s, 0) < seq)])
        label.here("journal-before-recovered")
        write_head(events, Head(reached, tx.event_id(reached) or "", host.boot()))
        tx.set_position(FOLLOWER, str(reached))
    label.here("journal-recovered")


def _compare(tx: WriteTx, files: list[Segment], first: int, last: int) -> tuple[int, bool]:
    """How far one journal tells what the store knows, and whether it goes on beyond that."""
    if files[-1].is_open:
        segment.cut_damage(files[-1])
    limit, ahead = 1 << 62, False
    for found in reversed(files):
        for text in reversed([text for _, text in segment.lines(found)]):
            if (to := line.rewinds_to(text)) is not None:
                limit = min(limit, to)
            elif (seq := line.number(text)) <= limit:
                event_id = "" if line.is_removed(text) else line.decode(text).id
                if _agrees(tx, first, last, seq, event_id):
                    return seq, ahead
                ahead = True
    return 0, ahead


def _take_back(tx: WriteTx, events: str, stem: str, agreed: int, number: int) -> None:
    """Void all lines of one journal after those that agree.

    The rewind stands at the head of a new file, so that every file's own lines ascend and its name is true.
    """
    path = segment.live_path(events, stem)
    if last := segment.mend(path).seq:
        _close(path, last)
    for found in segment.of(events, stem):
        if found.first > agreed:
            # Left among the others, it would be read after younger lines with smaller numbers.
            os.rename(found.path, segment.void_path(found, number))
    label.here("journal-before-rewind")
    segment.append(path, line.rewind(agreed, iso(tx.now), number), durable=True)
