"""What an event in an agent's session does to its mail: what it proves, what it loses, what it may be shown.

One event is one transaction. What was offered before is settled first, on evidence; then the next messages
are claimed as one bundle, whose mark is their nonce, so that the conversation itself can be searched for
it.
"""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from postroom.errors import MailboxLeased
from postroom.model.context import is_main
from postroom.model.ladder import Cause, Evidence, Outcome, Priority
from postroom.model.message import Agent, Json, Mail, Session
from postroom.protocol.frame import nonce_of
from postroom.room.offer import claim, guard_lease
from postroom.room.probe import scope_of
from postroom.room.session import context, is_in
from postroom.room.settle import see
from postroom.room.sweep import act_on_due, give_back, is_offered, reap, refuse
from postroom.room.transcript import Trace
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from postroom.protocol.frame import Frame
    from postroom.room.local import LocalRoom
    from postroom.room.premises import Premises
    from postroom.runtimes.contract import Failure
    from postroom.store.contract import ReadTx, WriteTx

MOST = 50
_OPEN = (Trace.UNDECIDED, Trace.QUEUED)
_UNANSWERED = (Trace.THERE, Trace.UNDECIDED, Trace.UNREADABLE)  # as far as the conversation tells
_UNPROVABLE = (*_OPEN, Trace.FAILED)  # whatever the event itself implies elsewhere


Tracing = Callable[[str, str, int], Trace]  # of a route, a nonce, and when it was handed over


class Proof(NamedTuple):
    """How an event may settle what was offered before it."""

    points: frozenset[str]  # the routes of which this event is the proof
    certain: frozenset[str]  # those of them whose text, if it is not there by now, never will be
    since: int  # only what was handed over before this moment, when the event's process began
    trace: Tracing
    late: frozenset[str] = (
        frozenset()
    )  # routes whose texts may be noted only when their own turn begins, in another context even
    fails: bool = False  # whether the event itself tells that the turn ended without an answer

    @property
    def told(self) -> "Proof":
        """What the conversation itself tells: all that counts where another process was shown it."""
        return self._replace(points=frozenset(), certain=frozenset())


class Offering(NamedTuple):
    """Messages that are claimed for one text."""

    mails: list[Mail]
    frame: "Frame"


def is_undecided(tx: "ReadTx", session: Session, proof: Proof) -> bool:
    """Whether it is too early to tell what became of something that this session was shown."""
    return any(
        _trace(mail, proof) in _OPEN
        for mail in tx.offered(session.agent, session.process)
        if _is_open(mail, session, proof)
    )


def _trace(mail: Mail, proof: Proof) -> Trace:
    delivery = mail.delivery
    return proof.trace(delivery.route or "", delivery.nonce or "", delivery.handed_at or 0)


def _is_open(mail: Mail, session: Session, proof: Proof) -> bool:
    delivery = mail.delivery
    if delivery.handed_at is None or delivery.handed_at >= proof.since:
        return False
    if delivery.route in proof.late:
        return is_in(mail, session)
    return delivery.context == context(session)


def prove(room: "Premises", tx: "WriteTx", session: Session, proof: Proof) -> None:
    """Settle what this session was shown: seen, lost, or still open."""
    for mail in tx.offered(session.agent, session.process):
        if not _is_open(mail, session, proof):
            continue
        delivery = mail.delivery
        trace = _trace(mail, proof)
        if trace is Trace.SHOWN:
            see(tx, mail, evidence=Evidence.TRANSCRIPT)
        elif trace is Trace.TAKEN_BACK:
            give_back(tx, mail, room.settings)
        elif trace is Trace.LACKING:
            if delivery.route in proof.certain:
                give_back(tx, mail, room.settings, Outcome.LOST)
        elif trace not in _UNPROVABLE and delivery.route in proof.points:
            see(tx, mail, evidence=Evidence.BOUNDARY)


def fail(room: "Premises", tx: "WriteTx", session: Session, proof: Proof, failure: "Failure") -> None:
    """A turn of this session has ended because no model answered: give back what no answer stands after."""
    if is_main(session.id):
        from postroom.room.refusal import refused  # noqa: PLC0415 - rarely

        refused(tx, session.agent, failure)
    for mail in tx.offered(session.agent, session.process):
        if not _is_open(mail, session, proof):
            continue
        trace = _trace(mail, proof)
        if trace is Trace.FAILED or (
            proof.fails and trace in _UNANSWERED and not _is_late(mail, trace, proof)
        ):
            refuse(tx, mail, room.settings)
        elif proof.fails and trace is Trace.LACKING:
            give_back(tx, mail, room.settings, Outcome.LOST)


def _is_late(mail: Mail, trace: Trace, proof: Proof) -> bool:
    return trace is Trace.UNDECIDED and mail.delivery.route in proof.late


def is_urgent(mail: Mail) -> bool:
    return mail.message.priority is Priority.URGENT


def offer(
    room: "LocalRoom",
    tx: "WriteTx",
    agent: Agent,
    session: Session,
    *,
    route: str,
    budget: int,
    wanted: Callable[[Mail], bool] | None = None,
) -> Offering | None:
    """Claim as many of the next messages as one frame holds; only of those `wanted`, if that is said."""
    act_on_due(tx, room.settings)
    reap(tx, agent.id, room.settings)
    try:
        guard_lease(tx, agent.id, room)
    except MailboxLeased:
        return None  # a program of the agent's own listens: it has the next one
    if tx.refusal(scope_of(agent.id)) is not None:
        from postroom.room.refusal import hold_waiting  # noqa: PLC0415 - rarely

        hold_waiting(tx, agent.id)
    waiting = [mail for mail in tx.ready(agent.id, MOST, agent.called) if wanted is None or wanted(mail)]
    if not waiting:
        return None
    waiting = [_labelled(tx, mail, session) for mail in waiting]
    frame = room.frame(waiting, budget=budget, here=agent.project)
    nonce = nonce_of(frame.mark)
    mails = [
        claim(
            tx, mail, route=route, context=context(session), handed=False, nonce=nonce,
            lease=room.settings.lease_seconds,
        )
        for mail in frame.shown
    ]  # fmt: skip
    return Offering(mails, frame)


def _labelled(tx: "WriteTx", mail: Mail, session: Session) -> Mail:
    """What was in a refused request of this very conversation is there still, and may be read twice."""
    delivery = mail.delivery
    if not delivery.attempts or delivery.shown_before or not _was_in(mail, session):
        return mail
    for event in reversed(tx.history(delivery.seq, delivery.recipient_id)):
        if event.type == "delivery.returned":
            if event.payload.get("cause") != Cause.API_ERROR.value:
                return mail
            tx.append("delivery.labelled", delivery.recipient_id, about=mail.message, status="stored")
            return tx.refresh(mail) or mail
    return mail


def _was_in(mail: Mail, session: Session) -> bool:
    """Whether it was last shown in that conversation, in this context or in an earlier one."""
    return (mail.delivery.context or "").rpartition(":")[0] == session.id


def hand_over(room: "LocalRoom", offering: Offering, session: Session) -> None:
    """The whole text was written: from here on the session holds what it was shown."""
    hand_all(room, offering.mails, session.process, offering.frame.missing)


def hand_all(room: "LocalRoom", mails: list[Mail], holder: str, missing: Iterable[int] = repeat(0)) -> None:
    """The same, where each was written by itself; `missing`: how many characters of each body were not.

    `holder`: the process that was shown it, with whose end it comes back if nothing proves it.
    """
    with Unit(room, prompt=False) as tx:
        for mail, cut in zip(mails, missing, strict=False):
            now = tx.mail(mail.delivery.seq, mail.delivery.recipient_id)
            if now is not None and is_offered(now) and now.delivery.nonce == mail.delivery.nonce:
                payload: Json = {"n": now.delivery.attempts, "holder": holder}
                if cut:
                    payload["missing"] = cut
                tx.append(
                    "delivery.handed", now.delivery.recipient_id, about=now.message, payload=payload,
                    status="offered",
                )  # fmt: skip
