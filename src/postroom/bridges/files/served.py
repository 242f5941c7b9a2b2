"""Counters of mailboxes for which somebody else carries, and how the right counter is found.

A tree that a room elsewhere serves has a sign of that in it, `.postroom/served`. Then a program only reads
and writes files. Where there is none, the programs of the tree carry their mail themselves (`household.py`).
"""

import os
from contextlib import closing

from postroom import config
from postroom.bridges.files import remote
from postroom.bridges.files.counter import Counter, can_be_named
from postroom.bridges.files.elsewhere import Elsewhere
from postroom.bridges.files.hold import Here, Place
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.remote import BASE, SIGN
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.bridges.files.watch import Side
from postroom.errors import BridgeError, InvalidName

_LONGEST = 30.0  # seconds between two looks


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
        with closing(self.shelf()) as shelf:
            shelf.make()

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
        if not remote.marked(self._url):
            hint = f"Where a room is, run: postroom mailbox add {self._url}"
            raise BridgeError(f"nobody serves {self._url}", hint=hint)
        with closing(self.shelf()) as shelf:
            shelf.make()

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
