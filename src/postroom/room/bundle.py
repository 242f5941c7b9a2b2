"""Bundles: several messages claimed as one offering, for one text that shows them all.

What belongs together bears one nonce, so that the store knows how many offerings there were. It is claimed in
one step, and settled in one.
"""

from typing import TYPE_CHECKING

from postroom.errors import PostroomError
from postroom.model import ids
from postroom.model.message import Mail
from postroom.room import directory
from postroom.room.full_disk import spends
from postroom.room.offer import claim, context, put_in_order
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from postroom.protocol.frame import Frame
    from postroom.room.local import LocalRoom

MOST = 50


class Bundle:
    """Messages that were claimed together, and the text that shows them."""

    __slots__ = ("frame", "mails")

    def __init__(self, mails: list[Mail], frame: "Frame") -> None:
        self.mails = mails
        self.frame = frame


@spends
def take_bundle(
    room: "LocalRoom", agent: str | None, *, budget: int, route: str, claimer: str = ""
) -> Bundle | None:
    """Claim as many of the next messages as one frame holds; None when nothing waits.

    They are not yet handed over: write the text out, then `settle_all` them, or `give_up_all`.
    """
    number = len(room.frame(room.peek(agent, limit=MOST), budget=budget).shown)
    taken = _claim(room, agent, number, route, claimer)
    if not taken:
        return None
    try:
        waiting = [mail.handle for mail in room.peek(agent, limit=MOST)]
        frame = room.frame(taken, budget=budget, waiting=waiting)
    except PostroomError:
        give_up_all(room, taken)
        raise
    give_up_all(room, frame.left_out)  # somebody else took what would have fitted
    return Bundle(frame.shown, frame)


def _claim(room: "LocalRoom", agent: str | None, number: int, route: str, claimer: str) -> list[Mail]:
    """The first so many that wait, in one transaction."""
    taken: list[Mail] = []
    nonce = ids.nonce()
    with Unit(room, prompt=False) as tx:
        who = directory.caller_of(tx, agent or room.agent, room.scope)
        put_in_order(tx, room, who, alone=True)
        for mail in tx.ready(who.id, number, who.called) if number else ():
            taken.append(
                claim(
                    tx, mail, route=route, context=context(claimer), handed=False, nonce=nonce,
                    lease=room.settings.lease_seconds, claimer=claimer,
                )
            )  # fmt: skip
    return taken


def give_up_all(room: "LocalRoom", mails: list[Mail]) -> None:
    """Claims that are known to have come to nothing."""
    for mail in mails:
        room.give_up(mail)
