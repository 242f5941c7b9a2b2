"""Mailboxes that appear in trees which a room serves: each gets a manifest, and so a keeper."""

import os
import threading
import time

from postroom.bridges.files import place, tree
from postroom.bridges.files.remote import is_remote
from postroom.daemon.log import note, warn
from postroom.errors import PostroomError
from postroom.model.message import Json
from postroom.room.local import LocalRoom

_AT_REST = 1_000_000_000  # nanoseconds: two changes in one tick of a file system's clock bear the same time
_SOON, _LATE = 5.0, 60.0  # seconds between two looks at a tree elsewhere; at last, while it cannot be reached


class Trees:
    """Call `look` now and then: it costs one question a tree, unless that has changed."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._seen: dict[str, int] = {}  # by place: as of when
        self._abroad: dict[str, Abroad] = {}

    def facts(self) -> Json:
        """How many there are, and why some cannot be looked at, by their places."""
        places = [one.place for one in tree.every(self._room.home)]
        return {
            "count": len(places),
            "trouble": {place: why for place in places if (why := self._trouble(place))},
        }

    def _trouble(self, place: str) -> str:
        if is_remote(place):
            return found.trouble if (found := self._abroad.get(place)) is not None else ""
        return "" if os.path.isdir(place) else "it is not there"

    def look(self) -> None:
        trees = tree.every(self._room.home)
        for one in trees:
            if is_remote(one.place):
                self._look_abroad(one)
                continue
            changed = place.changed_at(one.place)
            if changed == self._seen.get(one.place) and time.time_ns() - changed > _AT_REST:
                continue
            self._seen[one.place] = changed
            _appear(self._room, one)
        for gone in self._abroad.keys() - {one.place for one in trees}:
            self._abroad.pop(gone).stop()

    def _look_abroad(self, one: tree.Tree) -> None:
        if one.place not in self._abroad:
            self._abroad[one.place] = Abroad(self._room, one)
            self._abroad[one.place].start()


class Abroad:
    """Looks at a tree elsewhere, in a thread of its own: whoever waits for a store keeps nobody else."""

    def __init__(self, room: LocalRoom, one: tree.Tree) -> None:
        self._room, self._tree = room, one
        self._over = threading.Event()
        self.trouble = ""  # why the last look failed

    def start(self) -> None:
        threading.Thread(target=self._run, name=self._tree.place, daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        room = LocalRoom(self._room.home, self._room.settings, declared=self._room.declared)
        self._room.lead(room)
        pause = _SOON
        try:
            while not self._over.wait(pause):
                pause = _SOON if self._look(room) else min(_LATE, pause * 2)
        finally:
            room.close()

    def _look(self, room: LocalRoom) -> bool:
        """Whether that could be done; if not, the reason is noted once. Whatever it is, it looks again."""
        try:
            _appear(room, self._tree)
        except Exception as exc:
            said = str(exc) if isinstance(exc, PostroomError) else f"{type(exc).__name__}: {exc}"
            if self.trouble != said:
                warn("tree not seen", place=self._tree.place, why=said)
            self.trouble = said
            return False
        self.trouble = ""
        return True


def _appear(room: LocalRoom, one: tree.Tree) -> None:
    for manifest in tree.appear(room, one):
        note("mailbox appeared", agent=manifest.address, place=manifest.details["place"])
