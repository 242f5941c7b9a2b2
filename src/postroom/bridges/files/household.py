"""A tree of mailboxes that serves itself: a room in it, and every program that uses it carries.

There is no daemon. A program carries while it is in a call of its `Mailbox`: its own letters, and those of
all others in the tree, who may be shell scripts. It sleeps until one of the mailboxes changes or the room's
bell rings. From the moment on that a room elsewhere serves the tree, it only reads and writes files.
"""

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from postroom import config
from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.counter import can_be_named, wait
from postroom.bridges.files.hold import Here, Place
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.remote import BASE, SIGN
from postroom.bridges.files.shelf import Shelf
from postroom.bridges.files.watch import Side, Watch, watch
from postroom.errors import BridgeError, NotFound, StoreForeign, StoreNetworked, StoreReadOnly
from postroom.room.local import LocalRoom

_PROJECT = "tree"  # to which all names in it belong
_ROUNDS = 8  # of carrying in one call; what is left then is carried with the next
_LONGEST = 30.0  # seconds between two looks, whatever was noticed


class _Member:
    """One mailbox of the tree, and what tells that there is something to carry for it."""

    def __init__(self, room: LocalRoom, tree: str, name: str) -> None:
        self.shelf = LocalShelf(tree, name, Side.HOST)
        self.shelf.make()
        agent = _introduced(room, name)
        self._waiter = room.bell.waiter(agent, aside=True)
        self._carrier = Carrier(room, agent, self.shelf, own_tree=tree)
        self.due = 0.0  # on the monotonic clock

    def descriptors(self) -> list[int]:
        return [one for one in (self._carrier.fileno(), self._waiter.fileno()) if one >= 0]

    def step(self) -> None:
        self._waiter.renew()
        self._waiter.drain()
        pause = self._carrier.step()
        self.due = time.monotonic() + (_LONGEST if pause is None else pause)

    def close(self) -> None:
        self._carrier.close()
        self._waiter.close()


class Household:
    """See `Counter`."""

    def __init__(self, tree: str, name: str) -> None:
        self._tree, self._name = tree, name
        self._lock = threading.RLock()  # over all below: a room is used by one thread at a time
        self._room = _opened(tree)
        self.settings = self._room.settings
        self._members: dict[str, _Member] = {}
        self._strangers = set[str]()  # names that nobody can have
        self._watch: Watch | None = watch(self._folder, tree, Side.TREE)
        try:
            self._members[name] = _Member(self._room, tree, name)
        except BaseException:
            self.close()
            raise

    def shelf(self) -> Shelf:
        return LocalShelf(self._tree, self._name, Side.AGENT)

    def place(self) -> Place:
        return Here(os.path.join(self._tree, self._name))

    def carry(self) -> None:
        with self._lock:
            if os.path.lexists(os.path.join(self._tree, SIGN)):
                self._dismiss()
                return
            self._meet()
            for _ in range(_ROUNDS):
                called = self._called()
                if not called:
                    return
                for name in called:
                    self._step(name)

    def pause(self) -> float:
        with self._lock:
            now = time.monotonic()
            return max(0.0, min((one.due - now for one in self._members.values()), default=_LONGEST))

    def descriptors(self) -> list[int]:
        with self._lock:
            found = [one for member in self._members.values() for one in member.descriptors()]
            return [*found, *([self._watch.fileno()] if self._watch is not None else [])]

    def close(self) -> None:
        with self._lock:
            self._dismiss()
            if self._watch is not None:
                self._watch.close()
                self._watch = None
            self._room.close()

    def _dismiss(self) -> None:
        for name in list(self._members):
            self._members.pop(name).close()

    def _meet(self) -> None:
        """Carry for those, too, who have come into the tree."""
        if self._watch is not None:
            self._watch.changes()
        try:
            here = os.listdir(self._tree)
        except OSError as exc:
            raise BridgeError(f"{self._tree} cannot be read: {exc.strerror}") from exc
        self._strangers.intersection_update(here)
        for name in here:
            if name in self._members or name in self._strangers:
                continue
            try:
                if not self._is_mailbox(name):
                    self._strangers.add(name)
                    continue
                self._members[name] = _Member(self._room, self._tree, name)
            except (BridgeError, OSError):  # it is gone again, or is closed to us
                self._strangers.add(name)

    def _is_mailbox(self, name: str) -> bool:
        """Whether a directory is one, or is about to be: nothing is in it yet."""
        path = os.path.join(self._tree, name)
        if not can_be_named(name) or os.path.islink(path) or not os.path.isdir(path):
            return False
        inside = os.listdir(path)
        return not inside or "inbox" in inside or "outbox" in inside

    def _called(self) -> list[str]:
        """For whom there may be something to do."""
        by_descriptor = {one: name for name, member in self._members.items() for one in member.descriptors()}
        ready = wait(list(by_descriptor), 0)
        now = time.monotonic()
        due = [name for name, member in self._members.items() if member.due <= now]
        return list(dict.fromkeys([*(by_descriptor[one] for one in ready), *due]))

    def _step(self, name: str) -> None:
        try:
            self._members[name].step()
        except NotFound:  # its agent was deleted
            self._members.pop(name).close()
            self._strangers.add(name)

    @contextmanager
    def _folder(self, _: str) -> Generator[int]:
        directory = os.open(self._tree, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            yield directory
        finally:
            os.close(directory)


def _opened(tree: str) -> LocalRoom:
    home = os.path.join(tree, BASE, "room")
    try:
        os.makedirs(tree, exist_ok=True)
    except OSError as exc:
        raise BridgeError(f"{tree} cannot be made: {exc.strerror}") from exc
    settings, declared = config.load(home)
    try:
        room = LocalRoom(home, settings, project=_PROJECT, declared=declared)
        room.store.look()
    except (StoreNetworked, StoreForeign, StoreReadOnly) as exc:
        hint = f"On the machine that has it, run: postroom mailbox add {tree}"
        raise BridgeError(f"nobody serves {tree}, and no room can be made in it: {exc}", hint=hint) from exc
    return room


def _introduced(room: LocalRoom, name: str) -> str:
    """The id of the agent of that name."""
    try:
        return room.known(name).id
    except NotFound:
        return room.join(name).id
