"""Leaving: what it means for the mail of whoever goes, and for those who wait for an answer.

An agent that has left may come back: its address and its mail stay. A subagent that has ended does not, and
the next of its name is another one: what waits for it is bounced, and nothing more is taken for it.
"""

from typing import TYPE_CHECKING

from postroom.config import Settings
from postroom.model.address import Kind, parse
from postroom.model.ladder import Cause
from postroom.model.message import Agent, Mail
from postroom.room import one
from postroom.room.bounce import bounce
from postroom.room.draft import REQUEST
from postroom.room.probe import scope_of
from postroom.room.sweep import give_back, is_offered, reap
from postroom.room.unanswered import Why, end, tell

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx

_ENDED = "it was a subagent, and has ended"


def depart(tx: "WriteTx", who: Agent, settings: Settings, *, for_good: bool = False) -> None:
    """Somebody leaves. What it had of one of many, others get; whoever has asked it something is told.

    `for_good`: it will never read what waits for it.
    """
    if who.left_at is not None:
        return
    was_refused = tx.refusal(scope_of(who.id)) is not None
    tx.append("agent.left", who.id, role="human" if who.is_human else "agent")
    if was_refused:
        from postroom.room.refusal import let_go  # noqa: PLC0415 - rarely

        let_go(tx, who.id)  # if it comes back, the next request shows whether they are refused still
    for mail in tx.for_one(who.id):
        if is_offered(mail):
            give_back(tx, mail, settings, cause=Cause.LEFT)
        else:
            one.desert(tx, mail)
    if for_good:
        reap(tx, who.id, settings)
        _bounce_all(tx, who.id)
    end(tx, who.id, Why.LEFT)
    after = 0
    while page := tx.asking(who.id, after):
        after = page[-1].message.seq
        for mail in page:
            if not one.is_one(mail.message):
                tell(tx, mail, Why.LEFT)


def _bounce_all(tx: "WriteTx", party: str) -> None:
    for pages in (tx.waiting, tx.held):
        while page := pages(party):
            for mail in page:
                _bounce(tx, mail)


def _bounce(tx: "WriteTx", mail: Mail) -> None:
    """Its sender gets a letter if it was for this one alone, or asks; of the rest the receipt tells."""
    message, party = mail.message, mail.delivery.recipient_id
    tx.append("delivery.bounced", party, about=message, payload={"reason": _ENDED}, status="bounced")
    if one.is_one(message):
        if not one.free(tx, message, party):
            bounce(tx, mail, _ENDED)
    elif parse(message.to).kind is Kind.AGENT:
        bounce(tx, mail, _ENDED)
    elif message.type == REQUEST:
        tell(tx, mail, Why.LEFT)
