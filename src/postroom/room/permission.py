"""Permissions: what a running agent asks before it does something, as a gate that people decide.

The gate is sent in the agent's name, to the person above it, else to all people there are. The letter with
the decision is for the program that asked: it is passed on as the answer, and not shown as mail. A letter
that comes when nobody asks any more is withdrawn, so that no yes is left lying about.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from postroom.model.ladder import State
from postroom.model.message import Agent, Mail, Message, Session
from postroom.room import directory
from postroom.room.denial import withdraw, withdraw_denial
from postroom.room.draft import GATE, draft
from postroom.room.gate import OVER, is_permission
from postroom.room.offer import claim
from postroom.room.people import above
from postroom.room.send import post
from postroom.room.session import context
from postroom.room.settle import see

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx

_MARK = {"permission": True}  # in the metadata of such a gate
_TO = "@up"
_NO_LONGER = "no longer asked"


class Outcome(NamedTuple):
    """How a permission ended."""

    option: str  # what was chosen; empty: nobody has allowed it
    words: str
    letter: int = 0  # the number of the one that tells the agent; 0: there is none


def ask(
    room: "LocalRoom", agent: Agent, title: str, body: str, options: Sequence[str]
) -> tuple[Message | None, list[str]]:
    """Ask whoever may allow it, and who that is; None where there is nobody."""
    wanted = draft(
        room.settings, _TO, body, type=GATE, subject=title, metadata=_MARK, priority="high",
        payload={"options": [*options]}, home=room.home,
    )  # fmt: skip
    with room.write() as tx:
        people = above(tx, agent)
        if not people:
            return None, []
        lane = directory.lane(agent, people, agent.project, _TO, personal=False)
        return post(room, tx, lane, wanted)[0], [one.address for one in people]


def outcome(room: "LocalRoom", gate: Message) -> Outcome | None:
    """How it has ended; None: it is open."""
    with room.store.read() as tx:
        decision = tx.decision(gate.seq)
        if decision is not None:
            by = tx.agent(decision.by)
            return Outcome(
                decision.option, f"{by.address if by else 'somebody'} has decided", decision.answer
            )
        if gate.expires_at is not None and gate.expires_at <= room.now():
            return Outcome("", "nobody decided in time", gate.seq + 1)
        now = tx.message_at(gate.seq)
        if now is None or now.redacted is not None:
            return Outcome("", "what was asked is no longer there")
        if all(delivery.state in OVER for delivery in tx.deliveries(gate.seq)):
            return Outcome("", "nobody is asked any more")
    return None


def passed_on(room: "LocalRoom", agent: str, letter: int, session: Session, route: str) -> None:
    """The agent has been answered what a letter says: it is seen, and not shown."""
    with room.write() as tx:
        mail = tx.mail(letter, agent)
        if mail is not None and mail.delivery.state is State.STORED and not mail.delivery.held:
            see(tx, claim(tx, mail, route=route, context=context(session), handed=True, lease=0))


def close(room: "LocalRoom", gate: Message, reason: str) -> None:
    """Nobody asks that any more, so nobody can decide it."""
    with room.write() as tx:
        _close(tx, gate, reason)


def _close(tx: "WriteTx", gate: Message, reason: str) -> None:
    if tx.message_at(gate.seq) is None or tx.decision(gate.seq) is not None:
        return
    for delivery in tx.deliveries(gate.seq):
        withdraw(tx, gate, delivery, reason)
    withdraw_denial(tx, gate, reason)
    facts = {"option": _NO_LONGER, "note": reason, "answer": gate.seq + 1}
    tx.append("gate.withdrawn", gate.sender_id, about=gate, payload=facts, role="system", status="withdrawn")


def clear(room: "LocalRoom", agent: str, reason: str) -> None:
    """Close all that an earlier run of an agent has left open."""
    with room.store.read() as tx:
        left = [one for one in tx.gates(room.now()) if one.sender_id == agent and is_permission(one)]
    for gate in left:
        close(room, gate, reason)


def letters(tx: "ReadTx", mails: Collection[Mail]) -> list[Mail]:
    """Those of an agent's mail that decide what it asked as a permission."""
    return [mail for mail in mails if _decides(tx, mail)]


def _decides(tx: "ReadTx", mail: Mail) -> bool:
    decision = (mail.payload or {}).get("decision")
    gate = tx.message(str(decision["gate"])) if decision else None
    return gate is not None and gate.sender_id == mail.delivery.recipient_id and is_permission(gate)


def drop(room: "LocalRoom", mail: Mail, reason: str) -> None:
    """Take back a letter that decides what nobody asks any more."""
    with room.write() as tx:
        now = tx.mail(mail.delivery.seq, mail.delivery.recipient_id)
        if now is not None:
            withdraw(tx, now.message, now.delivery, reason)
