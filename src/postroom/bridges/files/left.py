"""What was left in a tree when a mailbox was removed whose store was out of reach: it is noted until somebody
comes back to take it away.
"""

from typing import NamedTuple

from postroom.bridges.files import note
from postroom.room.local import LocalRoom

_KIND = "trees-left"


class Left(NamedTuple):
    """A mailbox that was removed, and not cleared."""

    agent: str  # its id; empty: it is none, but what we keep of the tree as a whole
    why: str


def find(home: str, place: str) -> dict[str, Left]:
    """Those of a tree, by their directories; the tree as a whole is the one without a name."""
    return {folder: Left(*facts) for folder, facts in note.get(home, _KIND, place).items()}


def remember(room: LocalRoom, place: str, folder: str, found: Left) -> None:
    """Something is left there, or is left for another reason by now."""
    with room.write():  # alone: who notes one must not forget another's
        _put(room.home, place, find(room.home, place) | {folder: found})


def forget(room: LocalRoom, place: str, folder: str) -> None:
    """Nothing is left there any more, or it is served again."""
    if folder not in find(room.home, place):
        return
    with room.write():
        known = find(room.home, place)
        known.pop(folder, None)
        _put(room.home, place, known)


def _put(home: str, place: str, known: dict[str, Left]) -> None:
    if known:
        note.put(home, _KIND, place, dict(known))
    else:
        note.remove(home, _KIND, place)
