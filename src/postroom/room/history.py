"""The events of a room, from a cursor on, and as they happen."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from postroom.errors import StoreError
from postroom.model.message import Event
from postroom.room.unit import EVERYONE
from postroom.room.wait import watch_with
from postroom.store.contract import ReadTx

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


_TAIL, _BATCH = 1000, 20_000


def index_sent(room: "LocalRoom") -> None:
    """Enter who wrote what since somebody last asked, unless that is little; others may write in between.

    It only makes the answer faster: where nothing can be written, that is no reason not to answer.
    """
    look = room.store.look()
    with contextlib.suppress(StoreError):
        while not room.store.readonly:
            position, last = int(look.position("sent") or 0), int(look.last_cursor())
            if last - position < _TAIL:
                return
            with room.store.write() as tx:
                tx.index_sent(min(last, position + _BATCH))


def events(room: "LocalRoom", *, follow: bool, agent: str | None, after: str | None) -> Iterator[Event]:
    """Events in order after a cursor; with `follow`, without end."""
    party = room.known(agent).id if agent else None
    cursor = after or ""
    if not follow:
        yield from _page_through(room.store.look(), cursor, party)
        return
    waiter = room.bell.waiter(EVERYONE)  # its own: the program may wait for other things between two events
    try:
        while True:
            page = watch_with(
                room, waiter, EVERYONE, partial(room.store.look().events, cursor), None, others=True
            )
            yield from (event for event in page if concerns(event, party))
            cursor = room.store.look().cursor(page[-1])
    finally:
        waiter.close()


def _page_through(tx: ReadTx, cursor: str, party: str | None) -> Iterator[Event]:
    while page := tx.events(cursor):
        yield from (event for event in page if concerns(event, party))
        cursor = tx.cursor(page[-1])


def concerns(event: Event, party: str | None) -> bool:
    """Whether it is about somebody (None: anybody): their own act, or what was sent to them."""
    return party in (None, event.party) or party in event.payload.get("recipients", ())
