"""Where a program deals with its mailbox, and who carries what it leaves there.

A tree that a room elsewhere serves has a sign of that in it, `.postroom/served`. Then the program only reads
and writes files. Where there is none, the programs of the tree carry their mail themselves (`household.py`).
"""

import os
import select
import time
from typing import Protocol

from postroom import config
from postroom.bridges.files import remote
from postroom.bridges.files.hold import Elsewhere, Here, Place
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.remote import BASE, SIGN
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.bridges.files.watch import Side
from postroom.config import Settings
from postroom.errors import BridgeError, InvalidName
from postroom.model import address

ROOM = f"{BASE}/room"
_LONGEST = 30.0  # seconds between two looks


class Counter(Protocol):
    """One mailbox, as its own program sees it."""

    settings: Settings

    def shelf(self) -> Shelf:
        """Another one for each thread."""
        ...

    def place(self) -> Place:
        """Where it is noted what is in hand."""
        ...

    def carry(self) -> None:
        """Bring what was written to whom it is for, and what is here for this one; if that is ours to do."""
        ...

    def descriptors(self) -> list[int]:
        """What tells, besides the shelf, that there is something to carry."""
        ...

    def pause(self) -> float:
        """In how many seconds to carry again, whatever that tells."""
        ...

    def close(self) -> None: ...


def wait(descriptors: list[int], seconds: float) -> list[int]:
    """Sleep until one of these is readable, or so long; those that are."""
    if not descriptors:
        time.sleep(seconds)
        return []
    if not hasattr(select, "poll"):
        return select.select(descriptors, (), (), seconds)[0]
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    return [one for one, _ in poll.poll(1000 * seconds)]


def find(tree: str, name: str) -> Counter:
    """The counter of a mailbox in a tree."""
    if not can_be_named(name):
        raise InvalidName(f"{name!r} is no name of an agent", name=name)
    if remote.is_remote(tree):
        return Away(tree, name)
    tree = os.path.abspath(tree)
    if is_served(tree, name):
        return Served(tree, name)
    from postroom.bridges.files.household import Household  # noqa: PLC0415 - it opens a room

    return Household(tree, name)


def can_be_named(name: str) -> bool:
    """Whether an agent can have that name, in just these letters."""
    return address.is_name(name) and address.name(name) == name


def is_served(tree: str, name: str) -> bool:
    """By somebody else. A container may see nothing of a tree but one mailbox, which has a mark in it."""
    if os.path.lexists(os.path.join(tree, BASE)):
        return os.path.lexists(os.path.join(tree, SIGN))
    return os.path.lexists(os.path.join(tree, name, Folder.INBOX, MARK))


class Served:
    """In a directory."""

    def __init__(self, tree: str, name: str) -> None:
        self._tree, self._name = tree, name
        self.settings = config.settings(config.home())
        self.shelf().make()

    def shelf(self) -> Shelf:
        return LocalShelf(self._tree, self._name, Side.AGENT)

    def place(self) -> Place:
        return Here(os.path.join(self._tree, self._name))

    def carry(self) -> None:
        """Others do."""

    def descriptors(self) -> list[int]:
        return []

    def pause(self) -> float:
        return _LONGEST

    def close(self) -> None:
        pass


class Away:
    """In a store elsewhere, where no room can live."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = remote.checked(url), name
        self.settings = config.settings(config.home())
        self._depot = remote.connect(url)  # is asked nothing; but others of the same tree may share it
        if not remote.is_marked(self._url):
            hint = f"Where a room is, run: postroom mailbox add {self._url}"
            raise BridgeError(f"nobody serves {self._url}", hint=hint)
        shelf = self.shelf()
        try:
            shelf.make()
        finally:
            shelf.close()

    def shelf(self) -> Shelf:
        return remote.RemoteShelf(self._url, self._name)

    def place(self) -> Place:
        return Elsewhere(remote.connect(self._url), remote.connect(self._url), self._name)

    def carry(self) -> None:
        """Others do."""

    def descriptors(self) -> list[int]:
        return []

    def pause(self) -> float:
        return _LONGEST

    def close(self) -> None:
        self._depot.close()
