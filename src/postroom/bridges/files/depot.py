"""Where the files of remote mailboxes lie: what is asked of a store, be it of objects or of files.

A depot knows whole files under paths, and nothing of mail. Every call has an end. What the store does not do,
or does not answer, is `MailboxUnreachable`, with its words; what is not there is a `FileNotFoundError`.
"""

from typing import NamedTuple, Protocol

SECONDS = 10.0  # for each answer of a store


class About(NamedTuple):
    """What a store says of a file."""

    size: int
    stamp: str  # another one, if it may be another file; never a time that is compared with ours
    is_plain: bool = True  # and no link, directory, pipe or device


class Depot(Protocol):
    """See above. Paths are below the tree."""

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, directories too; `FileNotFoundError` for one that was not made."""
        ...

    def about(self, path: str) -> About: ...

    def read(self, path: str, limit: int) -> bytes:
        """So many bytes of a plain file, from its beginning."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Put a file there, or another in its place; who reads finds all of one of them."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """The same, unless there is one: then nothing is done, and it is False. Of two, one creates it."""
        ...

    def move(self, old: str, new: str) -> str:
        """Where nothing is in the new place: else `FileExistsError`. The stamp of what was moved; empty if
        one that came at the last moment may have the same.

        Who is killed in it leaves a file in the old place, in the new one, or in both, never in none.
        """
        ...

    def remove(self, path: str) -> None:
        """Whether it is there or not."""
        ...

    def make(self, folder: str) -> None:
        """Make a folder, and those around it."""
        ...

    def drop(self, folder: str) -> None:
        """Remove a folder in which there is nothing; any other stays."""
        ...

    def sweep(self, folder: str) -> None:
        """Remove from a folder what writers that were killed have left half-written, if it was made."""
        ...

    def close(self) -> None: ...
