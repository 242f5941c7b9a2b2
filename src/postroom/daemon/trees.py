"""Mailboxes that appear in trees which a room serves: each gets a manifest, and so a keeper."""

import time

from postroom.bridges.files import place, tree
from postroom.daemon.log import note
from postroom.room.local import LocalRoom

_AT_REST = 1_000_000_000  # nanoseconds: two changes in one tick of a file system's clock bear the same time


class Trees:
    """Call `look` now and then: it costs one question a tree, unless that has changed."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._seen: dict[str, int] = {}  # by place: as of when

    def look(self) -> None:
        for one in tree.every(self._room.home):
            changed = place.changed_at(one.place)
            if changed == self._seen.get(one.place) and time.time_ns() - changed > _AT_REST:
                continue
            self._seen[one.place] = changed
            for manifest in tree.appear(self._room, one):
                note("mailbox appeared", agent=manifest.address, place=manifest.details["place"])
