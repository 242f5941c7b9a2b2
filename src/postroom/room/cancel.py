"""Cancelling: what an agent was asked and has not answered goes back to who asked, by somebody's word.

What still waits unread stays: it was not begun.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.model.ladder import State, move
from postroom.model.message import Agent, Mail
from postroom.room import one
from postroom.room.bounce import bounce

if TYPE_CHECKING:
    from postroom.room.authority import Operator
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx


def cancel(room: "LocalRoom", agent: Agent, by: "Operator", reason: str = "") -> list[Mail]:
    """Bounce all that an agent has in hand; what that was."""
    why = f"cancelled by {by.name}" + (f": {reason}" if reason else "")
    with room.write() as tx:
        found = list(_in_hand(tx, agent.id))
        for mail in found:
            _drop(tx, mail, why, by.role)
    return found


def _in_hand(tx: "ReadTx", party: str) -> Iterator[Mail]:
    after = 0
    while page := tx.watched(party, None, after):
        after = page[-1].message.seq
        yield from page
    after = 0
    while page := tx.tasks(party, after):
        after = page[-1].message.seq
        yield from (mail for mail in page if not one.is_one(mail.message))  # which are watched


def _drop(tx: "WriteTx", mail: Mail, why: str, role: str) -> None:
    """What was acknowledged stays so on the ladder; who asked is told all the same."""
    party = mail.delivery.recipient_id
    tx.unwatch(party, mail.message.seq)
    if mail.delivery.state is State.SEEN:
        move(mail.delivery.state, State.BOUNCED)
        payload = {"reason": why}
        tx.append("delivery.bounced", party, about=mail.message, payload=payload, role=role, status="bounced")
    if not one.is_one(mail.message) or not one.free(tx, mail.message, party):
        bounce(tx, mail, why, dropped=True)
