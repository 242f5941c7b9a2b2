"""Where a remote mailbox's files lie: what a shelf asks of a store that fsspec reaches.

A depot knows whole files under paths, and nothing of mail. Every call has an end. What cannot be reached is
`Unreachable`, with what the store said of it; what is not there is a `FileNotFoundError`.
"""

from typing import Protocol

from postroom.errors import BridgeError

SECONDS = 10.0  # for each answer of a store


class Unreachable(BridgeError):
    """The store of a mailbox cannot be reached."""


class Depot(Protocol):
    """See above. Paths are relative to the tree, and never come from the other side unchecked."""

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, directories too where there are any; empty if there is no such folder."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """All of a file, or so many bytes of it. `IsADirectoryError` for whatever is no plain file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Put a file there, or another in its place; who reads finds all of one of them."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """The same, unless there is one: then nothing is done, and it is False. Of two, one creates it."""
        ...

    def move(self, old: str, new: str) -> None:
        """Who is killed in it leaves it in the old place, the new one, or both; never in none."""
        ...

    def remove(self, path: str) -> None:
        """Whether it is there or not."""
        ...

    def has(self, path: str) -> bool: ...

    def make(self, folder: str) -> None:
        """Make a folder, and those around it, where a store knows folders."""
        ...

    def close(self) -> None: ...
