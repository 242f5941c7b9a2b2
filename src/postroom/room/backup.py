"""Backups: a copy of a room made while it is in use, and the way back."""

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import label
from postroom.errors import NoRoom, Refused, StoreCorrupt
from postroom.room import blob, file, journal, snapshot
from postroom.room.unit import EVERYONE
from postroom.store.sqlite import cargo
from postroom.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import Store


class BackedUp(NamedTuple):
    """A backup that was made and looked at."""

    path: str
    last: int  # the event it goes up to
    size: int


COPIES = 3  # that a restore makes while others write; the next is made while they wait


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
        _copy(room, room.store, made)
        last = _checked(made)
        file.sync_file(made)
        file.put(made, path)
    finally:
        file.remove_database(made)
    return BackedUp(path, last, os.path.getsize(path))


def _copy(room: "LocalRoom", source: "Store", made: str) -> None:
    while True:
        source.upkeep().copy(made)
        label.here("backup-copied")
        if _enclose_files(room, made):
            return


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
    except NoRoom as exc:
        hint = "Nothing was changed. Give a file that `postroom backup` made."
        raise NoRoom(f"there is no room in {path}", hint=hint, path=path) from exc
    except StoreCorrupt as exc:
        hint = "Nothing was changed. Give a file that `postroom backup` made."
        raise StoreCorrupt(f"{path} is damaged, or is not a room", path=path, hint=hint) from exc


@file.tells_of_files
def restore(room: "LocalRoom", path: str) -> Restored:
    """Put a backup in the place of what the room holds, for all who have it open, in one transaction.

    The room and its journals as they were go to `before-restore-<seq>` beside it; the journals begin anew.
    What others store meanwhile is in that copy, or comes after the restore. No number, and so no handle, that
    a message had before the restore is given to another one.
    """
    _make(room)
    _sweep(room.home)
    made, copies = file.temporary(os.path.join(room.home, "restored.db")), 0
    staged: list[blob.Staged] = []
    kept = ""
    try:
        file.copy_file(path, made)
        last = _sound(made, path)
        for sha256, content in cargo.unload(made):
            staged.append(blob.stage(room.home, content, lasting=True))
            if staged[-1].sha256 != sha256:
                raise StoreCorrupt(
                    f"an attachment in {path} is damaged", path=path, hint="Nothing was changed."
                )
        kept = _place(os.path.join(room.home, f"before-restore-{room.store.look().last_cursor()}"))
        while not _replace(room, made, staged, kept, copies := copies + 1):
            pass
    except BaseException:
        if kept:
            with contextlib.suppress(OSError):  # there is a copy in it
                os.rmdir(kept)
        raise
    finally:
        blob.drop(staged)
        file.remove_database(made)
    blob.sweep(room)  # what only the room before it named is with that
    snapshot.sync(room)
    room.bell.ring((EVERYONE, *(row["id"] for row in room.store.whole().rows("agent"))))
    return Restored(last, kept)


def _sweep(home: str) -> None:
    """Remove what a restore that was killed has left: copies that are not complete."""
    file.sweep_litter(home, "restored.db.")
    for name in os.listdir(home):
        if name.startswith("before-restore-") and os.path.isdir(os.path.join(home, name)):
            file.sweep_litter(os.path.join(home, name), "room.db.")


def _make(room: "LocalRoom") -> None:
    """Make the room, where there is none yet; also where it is lost and its journals are there."""
    try:
        room.store.look()
    except NoRoom:
        if not os.path.isdir(journal.directory(room)):
            raise
        made = SqliteStore(room.store.path, replaces=True)
        made.look()
        made.close()


def _replace(room: "LocalRoom", made: str, staged: list[blob.Staged], kept: str, copies: int) -> bool:
    """Keep the room as it is and replace it; False when somebody stored something after the copy was made."""
    copy = os.path.join(kept, "room.db")
    backup(room, copy, force=True)
    label.here("restore-kept")
    with room.store.upkeep().beside(made), room.store.write() as tx:
        whole = room.store.whole()
        if whole.end() != _end(copy):
            if copies < COPIES:
                return False
            _keep_now(room, copy)
        room.unsettle(ended=True)
        whole.replace()
        for one in staged:
            blob.place(room.home, one, lasting=True)
        tx.set_position(journal.FOLLOWER, "")
        after = whole.end()[0]
        tx.next_seq = max(tx.next_seq, after + 1)
        tx.append("room.restored", payload={"after": after})
        if os.path.isdir(journal.directory(room)):
            os.rename(journal.directory(room), os.path.join(kept, "events"))
        label.here("restore-before-commit")
    return True


def _keep_now(room: "LocalRoom", copy: str) -> None:
    """Copy the room once more while the write lock is held: all that others have stored is in this copy."""
    made = file.temporary(copy)
    try:
        os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        source = SqliteStore(room.store.path, create=False)  # the room's own connection has the lock
        try:
            _copy(room, source, made)
        finally:
            source.close()
        file.sync_file(made)
        file.put(made, copy)
    finally:
        file.remove_database(made)
    label.here("restore-kept-now")


def _end(path: str) -> tuple[int, str]:
    store = SqliteStore(path, create=False)
    try:
        return store.whole().end()
    finally:
        store.close()


def _place(wanted: str) -> str:
    """Make a directory that nobody else has."""
    path, n = wanted, 1
    while True:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            n += 1
            path = f"{wanted}-{n}"
        else:
            return path
