"""Search: words and filters in, messages out, newest first, each with the place where it was found."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom.errors import InvalidValue
from postroom.model.address import ROOM, Kind, parse
from postroom.model.ladder import State
from postroom.model.message import Delivery, Message
from postroom.model.query import Filter, Hit, fields, snippet
from postroom.model.query import parse as read
from postroom.room import directory
from postroom.room.presence import as_shown

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.local import LocalRoom
    from postroom.room.options import SearchOptions
    from postroom.store.contract import ReadTx

MOST = 500  # messages in one answer


def search(
    room: "LocalRoom",
    query: str,
    limit: int,
    say: Callable[[int], None] | None,
    **options: "Unpack[SearchOptions]",
) -> list[Hit]:
    """See `postroom.room.contract.Room.search`. `say` is told how many messages have been indexed."""
    asked = read(query)
    room.sweep()
    wanted = _filter(room, room.store.look(), options)
    before = options.get("before")
    limit = max(1, min(limit, MOST))
    seqs = room.store.search().find(asked, wanted, limit, before, say or _nobody)
    with room.store.read() as tx:
        return [
            Hit(
                m,
                [as_shown(room, tx, delivery) for delivery in tx.deliveries(seq)],
                snippet(asked, fields(m)),
            )
            for seq in seqs
            if (m := tx.message_at(seq)) is not None
        ]


def browse(
    room: "LocalRoom", limit: int, after: int | None = None, **options: "Unpack[SearchOptions]"
) -> list[tuple[Message, list[Delivery]]]:
    """Whatever was written, newest first: before the `seq` of one message, or next after that of another."""
    room.sweep()
    wanted = _filter(room, room.store.look(), options)
    limit = max(1, min(limit, MOST))
    seqs = room.store.search().browse(wanted, limit, options.get("before"), after)
    with room.store.read() as tx:
        return [
            (m, [as_shown(room, tx, delivery) for delivery in tx.deliveries(seq)])
            for seq in seqs
            if (m := tx.message_at(seq)) is not None
        ]


def _nobody(_: int) -> None: ...


def _filter(room: "LocalRoom", tx: "ReadTx", options: "SearchOptions") -> Filter:
    state, thread, sender, to = (options.get(name) for name in ("state", "thread", "sender", "to"))
    if state is not None and state not in list(State):
        known = ", ".join(State)
        raise InvalidValue(f"{state!r} is not a state", field="state", hint=f"The states are: {known}.")
    person = None if to is None else parse(to).kind in (Kind.AGENT, Kind.HUMAN)
    return Filter(
        sender=_whose(room, tx, sender),
        recipient=_whose(room, tx, to) if person else None,
        address=None if person else to,
        type=options.get("type"),
        thread=None if thread is None else room.find_message(tx, thread).thread,
        since=options.get("since"),
        until=options.get("until"),
        state=state,
        project=options.get("project"),
        party=_whose(room, tx, options.get("party")),
    )


def _whose(room: "LocalRoom", tx: "ReadTx", who: str | None) -> str | None:
    return who if who in (None, ROOM) else directory.known(tx, who, room.scope).id
