"""Requests to somebody that wait for its answer."""

from typing import TYPE_CHECKING

from postroom.model.ladder import Reason, State
from postroom.model.message import Mail, Message
from postroom.model.query import Filter
from postroom.room import directory
from postroom.room.draft import REQUEST

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx


def requests(room: "LocalRoom", agent: str | None = None, *, limit: int = 50) -> list[Message]:
    """What somebody was asked, and has neither answered nor acknowledged, the oldest first.

    Nothing for a caller who says no name, or one that nobody has.
    """
    room.sweep()
    with room.store.read() as tx:
        if agent:
            me = directory.caller(tx, agent, room.scope)
        elif (me := directory.caller_or_none(tx, room.agent, room.scope)) is None:
            return []
        wanted = Filter(recipient=me.id, type=REQUEST, state=State.SEEN)
        seen = room.store.search().browse(wanted, limit, None, 0)
        found = _unseen(tx, me.id, limit) + [m for seq in seen if (m := tx.message_at(seq)) is not None]
    return sorted(found, key=lambda message: message.seq)[:limit]


def _unseen(tx: "ReadTx", party: str, limit: int) -> list[Message]:
    found: list[Message] = []
    after = 0
    while len(found) < limit and (page := tx.asking(party, after)):
        after = page[-1].message.seq
        found += [mail.message for mail in page if _is_said(mail)]
    return found


def _is_said(mail: Mail) -> bool:
    """Whether it is anything to its recipient now: not before the time its sender has set."""
    return mail.delivery.reason != Reason.SCHEDULED and mail.message.redacted is None
