"""Pushing: mail that a bridge puts before an agent, from its own claim to what the bridge could prove.

What was handed to a terminal is the agent's from the first byte on: if nobody can tell what became of it, it
waits with the reason `uncertain` and is pushed no more. Hooks and commands may still show it, labelled.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom.model.ladder import Evidence, Outcome, Reason
from postroom.model.message import Agent, Mail, Session
from postroom.protocol.frame import SMALLEST
from postroom.room import sweep, turn
from postroom.room.probe import scope_of
from postroom.room.session import context
from postroom.room.settle import see
from postroom.room.sweep import give_back, still
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.runtimes.contract import Failure
    from postroom.store.contract import ReadTx, WriteTx

PAGE = 500  # messages that the store gives at a time


def may_be_pushed(mail: Mail) -> bool:
    return mail.delivery.reason != Reason.UNCERTAIN.value


def may_be_pushed_into_work(mail: Mail) -> bool:
    """Whether its sender said that it need not wait for the end of a turn."""
    return may_be_pushed(mail) and mail.message.cls != "turn"


def waiting(tx: "ReadTx", agent: Agent) -> list[Mail]:
    """What waits for an agent and may be pushed, in the order in which it will be."""
    return [mail for mail in tx.ready(agent.id, turn.MOST, agent.called) if may_be_pushed(mail)]


def claim(
    room: "LocalRoom",
    agent: Agent,
    session: Session,
    *,
    route: str,
    budget: int,
    wanted: Callable[[Mail], bool] = may_be_pushed,
) -> turn.Offering | None:
    """Claim as many of the next messages as one text holds, of those that are wanted."""
    with Unit(room, prompt=False) as tx:
        return turn.offer(room, tx, agent, session, route=route, budget=max(SMALLEST, budget), wanted=wanted)


def begun(room: "LocalRoom", offering: turn.Offering, session: Session) -> None:
    """The first byte is about to be written: from here on no clock and no death of ours gives it back."""
    turn.hand_over(room, offering, session)


def prove(room: "LocalRoom", session: Session, route: str, evidence: Evidence) -> None:
    """There is evidence that the agent has taken all that it was handed by a route."""
    with Unit(room, prompt=False) as tx:
        for mail in _handed(tx, session, route):
            see(tx, mail, evidence=evidence)
        if evidence is Evidence.RUNTIME_ACK and tx.refusal(scope_of(session.agent)) is not None:
            from postroom.room.refusal import answered  # noqa: PLC0415 - rarely

            answered(tx, session.agent, tx.now)  # a turn of anybody's


def give_up(room: "LocalRoom", offering: turn.Offering, reason: Reason | None = None) -> None:
    """Not a byte of it was written; `reason`: why it waits from now on."""
    with Unit(room, prompt=False) as tx:
        for mail in still(tx, offering.mails):
            give_back(tx, mail, room.settings, Outcome.REFUSED, reason)


def refuse(room: "LocalRoom", session: Session, route: str, failure: "Failure") -> None:
    """No model has answered what an agent was handed by a route: it waits for the next attempt."""
    from postroom.room.refusal import refused  # noqa: PLC0415 - rarely

    with Unit(room, prompt=False) as tx:
        refused(tx, session.agent, failure)
        for mail in _handed(tx, session, route):
            sweep.refuse(tx, mail, room.settings)


def doubt(room: "LocalRoom", session: Session, route: str) -> int:
    """Nobody can tell what became of what an agent was handed by a route; of how many messages that is so."""
    with Unit(room, prompt=False) as tx:
        return doubt_in(room, tx, session, route)


def doubt_in(room: "LocalRoom", tx: "WriteTx", session: Session, route: str) -> int:
    """The same, in a transaction that does more."""
    mails = _handed(tx, session, route)
    for mail in mails:
        give_back(tx, mail, room.settings, Outcome.UNCERTAIN, Reason.UNCERTAIN)
    return len(mails)


def handed(room: "LocalRoom", session: Session, route: str) -> list[Mail]:
    """What was handed over of which it is not known yet what became of it."""
    return _handed(room.store.look(), session, route)


def _handed(tx: "ReadTx | WriteTx", session: Session, route: str) -> list[Mail]:
    where = context(session)
    found: list[Mail] = []
    page = tx.offered(session.agent, session.process)
    while page:
        found += [
            mail
            for mail in page
            if mail.delivery.route == route and mail.delivery.context == where and mail.delivery.handed_at
        ]
        if len(page) < PAGE:
            break
        page = tx.offered(session.agent, session.process, page[-1].delivery.seq)
    return found
