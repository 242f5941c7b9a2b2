"""Backups: a copy of a room made while it is in use, and the way back."""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import label
from postroom.errors import Refused, StoreCorrupt
from postroom.room import blob, file, journal, snapshot
from postroom.room.unit import EVERYONE
from postroom.store.sqlite import cargo
from postroom.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


class BackedUp(NamedTuple):
    """A backup that was made and looked at."""

    path: str
    last: int  # the event it goes up to
    size: int


class Restored(NamedTuple):
    """What `restore` did."""

    last: int
    kept: str  # where the room as it was before is now


@file.tells_of_files
def backup(room: "LocalRoom", path: str, *, force: bool = False) -> BackedUp:
    """Copy the room as it is now to a file, which is complete, checked and private when it appears.

    It holds the attachments, too.
    """
    path = os.path.abspath(path)
    if os.path.exists(path) and not force:
        raise Refused(f"{path} exists", path=path, hint="Choose another name, or overwrite it: --force")
    file.sweep_litter(os.path.dirname(path), os.path.basename(path) + ".")
    made = file.temporary(path)
    try:
        os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        while True:
            room.store.upkeep().copy(made)
            label.here("backup-copied")
            if _enclose_files(room, made):
                break
        last = _checked(made)
        file.sync_file(made)
        file.put(made, path)
    finally:
        file.remove_database(made)
    return BackedUp(path, last, os.path.getsize(path))


def _enclose_files(room: "LocalRoom", made: str) -> bool:
    """Put into a copy the files that its messages name; False when one has gone since the copying, with the
    message: then the copy is of a room that is no more. What is missing from the room itself is left out."""
    store = SqliteStore(made, create=False)
    try:
        every = store.whole().attached(everyone=True)
        wanted = {attachment["sha256"]: attachment for _, found in every for attachment in found}
    finally:
        store.close()
    if not wanted:
        return True
    missing = {sha256 for sha256, about in wanted.items() if not blob.is_there(room.home, about)}
    if missing - {attachment["sha256"] for _, attachment in blob.named(room, everyone=True)}:
        return False
    try:
        files = ((sha256, blob.chunks(room.home, sha256)) for sha256 in sorted(wanted.keys() - missing))
        cargo.load(made, files)
    except FileNotFoundError:  # just now
        return False
    return True


def _checked(path: str) -> int:
    """The event a sound copy of a room goes up to."""
    store = SqliteStore(path, create=False)
    try:
        if problems := store.upkeep().integrity(thorough=False):
            raise StoreCorrupt(f"{path} is damaged: {problems[0]}", path=path)
        return int(store.look().last_cursor())
    finally:
        store.close()


def _sound(copy: str, path: str) -> int:
    """As `_checked`, but it is the backup that is spoken of, not its copy."""
    try:
        return _checked(copy)
    except StoreCorrupt as exc:
        hint = "Nothing was changed. Give a file that `postroom backup` made."
        raise StoreCorrupt(f"{path} is damaged, or is not a room", path=path, hint=hint) from exc


@file.tells_of_files
def restore(room: "LocalRoom", path: str) -> Restored:
    """Put a backup in the place of what the room holds, for all who have it open, in one transaction.

    The room and its journals as they were go to `before-restore-<seq>` beside it; the journals begin anew.
    """
    made = file.temporary(os.path.join(room.home, "restored.db"))
    staged: list[blob.Staged] = []
    kept = _place(os.path.join(room.home, f"before-restore-{room.store.look().last_cursor()}"))
    try:
        file.copy_file(path, made)
        last = _sound(made, path)
        for sha256, content in cargo.unload(made):
            staged.append(blob.stage(room.home, content, lasting=True))
            if staged[-1].sha256 != sha256:
                raise StoreCorrupt(
                    f"an attachment in {path} is damaged", path=path, hint="Nothing was changed."
                )
        os.mkdir(kept, 0o700)
        backup(room, os.path.join(kept, "room.db"))
        label.here("restore-kept")
        with room.store.upkeep().beside(made), room.store.write() as tx:
            room.unsettle(ended=True)
            room.store.whole().replace()
            for one in staged:
                blob.place(room.home, one, lasting=True)
            tx.set_position(journal.FOLLOWER, "")
            if os.path.isdir(journal.directory(room)):
                os.rename(journal.directory(room), os.path.join(kept, "events"))
            label.here("restore-before-commit")
    finally:
        blob.drop(staged)
        file.remove_database(made)
    blob.sweep(room)  # what only the room before it named is with that
    journal.sync(room)
    if room.store.whole().first() > 1:
        snapshot.take(room)
    room.bell.ring((EVERYONE, *(row["id"] for row in room.store.whole().rows("agent"))))
    return Restored(last, kept)


def _place(wanted: str) -> str:
    path, n = wanted, 1
    while os.path.exists(path):
        n += 1
        path = f"{wanted}-{n}"
    return path
