"""A shelf: the folders of one agent's mailbox, wherever they lie. `local.py` has those on this machine.

Whoever else can write there is not trusted: what a shelf reads may be anything, and is data. What cannot be a
letter (a link, a device, something huge) raises `InvalidLetter`; what is not there any more
`FileNotFoundError`; a shelf that cannot be reached now `BridgeError`.
"""

from enum import StrEnum
from typing import NamedTuple, Protocol


class Folder(StrEnum):
    """Where something lies in a mailbox, as a path."""

    INBOX = "inbox"  # the agent reads it
    READ = "inbox/processed"  # and puts there what it has read
    REFUSED = "inbox/rejected"  # files in the inbox that are not letters; made when there is some
    OUTBOX = "outbox"  # the agent writes it
    TAKING = "outbox/.taking"  # what is being taken in just now, where its writer does not look
    TAKEN = "outbox/processed"
    REJECTED = "outbox/rejected"
    RECEIPTS = "receipts"


USUAL = tuple(folder for folder in Folder if folder is not Folder.REFUSED)  # of every mailbox
MARK = ".postroom"  # in an inbox: it is still the same one, and nobody has taken it away


class Sheet(NamedTuple):
    """What a file says."""

    data: bytes
    stamp: str  # another one, if it is not the same file or may have been written since


class Picked(Protocol):
    """A letter in an inbox that has been read, and may yet have to be called otherwise."""

    sheet: Sheet

    def rename(self, name: str) -> bool:
        """Call it so, in its place; False, and nothing is done, unless it is sure that no one else has read
        it there or is about to: who has would not find it again by the name that it knows.
        """
        ...

    def close(self) -> None: ...


class Kept:
    """One whose name stays as it is."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    def rename(self, name: str) -> bool:
        return False

    def close(self) -> None: ...


class Shelf(Protocol):
    """The folders of one mailbox. Used by one thread at a time, and by several processes at once."""

    place: str  # for people

    @property
    def is_slow(self) -> bool:
        """Whether each call may take any time: somebody else answers it, over a network say."""
        ...

    @property
    def is_blind(self) -> bool:
        """Whether others' changes may pass unnoticed, so that one has to look now and then."""
        ...

    def make(self) -> None:
        """Make the folders that are missing."""
        ...

    def names(self, folder: Folder) -> list[str]:
        """The files of a folder, sorted; none that begin with a dot. `FileNotFoundError` if it is gone."""
        ...

    def has(self, folder: Folder, name: str) -> bool:
        """Whether a file is there, whatever it is. With a dot, too."""
        ...

    def stamp(self, folder: Folder, name: str) -> str:
        """What `read` would say, without reading; `FileNotFoundError`."""
        ...

    def read(self, folder: Folder, name: str, limit: int) -> Sheet:
        """A plain file of at most so many bytes; anything else is an `InvalidLetter`."""
        ...

    def pick(self, name: str, limit: int) -> Picked:
        """As `read`, of a letter in the inbox that somebody else has put there."""
        ...

    def visitors(self) -> set[str] | None:
        """What others have put into the inbox, and what is not there any more, since the last call. None:
        some of it may have been missed.
        """
        ...

    def read_since(self, moment: int) -> list[str]:
        """What was put away as read since then, in nanoseconds; none where that cannot be told."""
        ...

    def is_being_written(self, name: str) -> bool:
        """Whether somebody has a file of the inbox open for writing, as far as that can be told."""
        ...

    def write(
        self, folder: Folder, name: str, data: bytes, *, lasting: bool = True, beside: str = ""
    ) -> None:
        """Put a file in its place, whole or not at all. `lasting`: it survives a power cut from then on.

        `beside`: only into a folder in which there is that file, too; else `FileNotFoundError`.
        """
        ...

    def identity(self) -> str:
        """What tells an inbox, with the mark in it, from a copy of both; empty where nothing does that."""
        ...

    def prepare(self) -> None:
        """There is time now for what can be done before the next letter into the inbox comes."""
        ...

    def move(self, source: Folder, name: str, target: Folder, new_name: str) -> str:
        """Move a file, whatever it is, over none that is there; the stamp of what was moved. It is
        empty where another that came at the last moment may have the same: then it is to be read again.

        `FileNotFoundError` where another was quicker, `FileExistsError` where the new name is taken.
        """
        ...

    def remove(self, folder: Folder, name: str) -> None:
        """A file that is not there any more is removed already."""
        ...

    def pack(self, seconds: float) -> int:
        """Gzip what was done with so long ago; how many. A shelf that cannot tell for how long does none."""
        ...

    def tidy(self) -> None:
        """Remove what processes that were killed have left half-written."""
        ...

    def leave(self) -> None:
        """Remove what only those need who carry; all that is anybody's mail or record stays."""
        ...

    def fileno(self) -> int:
        """A descriptor that is readable when something has changed; negative where there is none."""
        ...

    def changes(self) -> frozenset[Folder]:
        """Where something has changed since the last call, as far as it was noticed."""
        ...

    def close(self) -> None: ...


def is_read(shelf: Shelf, name: str) -> bool:
    """Whether a letter was put away as read; it may have been packed since."""
    return shelf.has(Folder.READ, name) or shelf.has(Folder.READ, f"{name}.gz")
