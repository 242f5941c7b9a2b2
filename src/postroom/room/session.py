"""Sessions: one run of an agent's runtime. Who it is, when it begins, and what its end leaves behind.

An agent keeps its address over compaction, resumption, clearing and restart: the same session is the same
agent. Whose a new one is, `bearer.py` says.
"""

import os
from typing import TYPE_CHECKING

from postroom import config
from postroom.model.context import context_id, is_main, is_part, main_id
from postroom.model.ladder import Cause, Outcome, State
from postroom.model.message import Agent, Mail, Session
from postroom.room import directory, one
from postroom.room.seat import Around, Seat, bears, followed, goes_on_elsewhere, is_live
from postroom.room.sweep import give_back
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.room.options import About
    from postroom.store.contract import ReadTx, WriteTx

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def context(session: Session) -> str:
    """Where mail is shown: what was shown in another context may be shown again."""
    return context_id(session.id, session.epoch)


def current(room: "LocalRoom", tx: "WriteTx", seat: Seat, *, anew: bool) -> tuple[Session, Agent]:
    """The session of a seat, begun if it is not known, or if it begins `anew`; and whose it is."""
    known = tx.session(seat.id)
    if known is not None and not anew and known.process == seat.process and known.ended_at is None:
        agent = tx.agent(known.agent)
        if agent is not None:
            return _told(tx, agent, seat, known), agent
    return _begin(room, tx, seat, known)


def _told(tx: "WriteTx", agent: Agent, seat: Seat, known: Session) -> Session:
    """Note that its start has been told of, where another event was sooner."""
    if not seat.details.get("started") or known.details.get("started"):
        return known
    seat = _as_before(seat, known)._replace(details={**known.details, "started": True})
    return start(tx, agent, seat, known.epoch)


def _begin(room: "LocalRoom", tx: "WriteTx", seat: Seat, known: Session | None) -> tuple[Session, Agent]:
    from postroom.room import bearer  # noqa: PLC0415 - once in a context

    if seat.around.terminals:
        from postroom.room.own_terminal import in_own_terminal  # noqa: PLC0415 - where there are several

        seat = in_own_terminal(tx, seat)
    if known is not None:
        is_taken = goes_on_elsewhere(known, seat.process)
        outcome = Outcome.UNCERTAIN if is_taken else Outcome.UNPROVEN
        return_unproven(room, tx, known, outcome, queued=seat.queued)
        if known.process != seat.process:
            _move(room, tx, known, seat.process)
    if known is None or known.process != seat.process or known.ended_at is not None:
        _end_followed(room, tx, seat)
    agent, asked = bearer.of(tx, known), known.details.get("asked") if known else None
    if agent is None:
        agent, asked = (_child(room, tx, seat), None) if seat.child else bearer.find(room, tx, seat)
    for other in tx.sessions(agent.id):
        if other.id != seat.id and not is_live(other):
            end(room, tx, other)
    details = {**seat.details, **({"asked": asked} if asked else {})}
    seat = _as_before(seat, known)._replace(details=details)
    return start(tx, agent, seat, known.epoch + 1 if known else 0), agent


def _move(room: "LocalRoom", tx: "WriteTx", session: Session, process: str) -> None:
    """A conversation goes on in another process, with what it has of one of many; its subagents do not."""
    for mail in _unanswered(tx, session):
        one.hold(tx, mail, mail.delivery.context or "", process)
    for part in _parts(tx, session):
        if not is_live(part):
            end(room, tx, part)


def _as_before(seat: Seat, known: Session | None) -> Seat:
    """What surrounds a session is asked when its process is new to us, and stays so."""
    if known is None or known.process != seat.process or seat.around != Around():
        return seat
    clients = tuple(known.details.get("clients") or ())
    return seat._replace(around=Around(pane=known.pane or "", clients=clients))


def start(tx: "WriteTx", agent: Agent, seat: Seat, epoch: int = 0) -> Session:
    """Note that a session, or another context in it, begins."""
    worktree, branch = map(storable, config.worktree(seat.cwd or os.getcwd()))
    details = {name: storable(v) if isinstance(v, str) else v for name, v in seat.details.items()}
    around = seat.around
    if around.clients and not seat.child:
        details = {**details, "clients": list(around.clients)}
    payload = {
        "id": seat.id, "runtime": seat.runtime, "process": seat.process, "pane": around.pane or None,
        "worktree": worktree, "branch": branch or None, "epoch": epoch, "details": details,
    }  # fmt: skip
    tx.append("session.started", agent.id, payload=payload, role="agent")
    begun = tx.session(seat.id)
    assert begun is not None
    return begun


def greeted(tx: "WriteTx", agent: Agent, session: Session) -> None:
    """Note that a session's conversation says whose it is, unless another context has begun in it since."""
    known = tx.session(session.id)
    if known is None or known.ended_at is not None or known.epoch != session.epoch:
        return
    kept = ("id", "runtime", "process", "pane", "worktree", "branch", "epoch")
    details = {name: value for name, value in known.details.items() if name != "greet"}
    payload = {**{name: getattr(known, name) for name in kept}, "details": details}
    tx.append("session.started", agent.id, payload=payload, role="agent")


def _end_followed(room: "LocalRoom", tx: "WriteTx", seat: Seat) -> None:
    """Its terminal shows one conversation at a time: the one before has been left for this one.

    That one's own end may be told of at the same time, and later.
    """
    if not seat.child and (seat.around.clients or seat.follows):
        for other in followed(tx.sessions_hosted(seat.process), seat):
            if is_main(other.id):
                end(room, tx, other)


def end(room: "LocalRoom", tx: "WriteTx", session: Session) -> None:
    """A session has ended: by its own word, or another has taken its place.

    What nobody can prove to have been seen in it waits again. What was for one of many, and was seen in it,
    is for the others unless it has been acknowledged. Not so when only a context ends: after a compaction or
    a resumption the same conversation goes on, and with it the work on what it was shown.
    A subagent leaves when its session ends, and does not outlive the conversation that it is part of.
    """
    if session.ended_at is None:
        tx.append("session.ended", session.agent, payload={"id": session.id}, role="agent")
    return_unproven(room, tx, session)
    for mail in _unanswered(tx, session):
        one.desert(tx, mail)
    for part in _parts(tx, session):
        end(room, tx, part)
    if not is_main(session.id) and tx.session(main_id(session.id)):
        _dismiss(room, tx, session)


def _parts(tx: "ReadTx", session: Session) -> list[Session]:
    """The sessions of the subagents in a conversation."""
    if not is_main(session.id):
        return []
    hosted = tx.sessions_hosted(session.process)
    return [other for other in hosted if other.id != session.id and is_part(other.id, session.id)]


def _dismiss(room: "LocalRoom", tx: "WriteTx", session: Session) -> None:
    """The subagent of a session leaves, unless another bears its name by now."""
    from postroom.room.departure import depart  # noqa: PLC0415 - once for each

    agent = tx.agent(session.agent)
    if agent is not None and not any(map(bears, tx.sessions(agent.id))):
        depart(tx, agent, room.settings, for_good=True)


def return_unproven(
    room: "LocalRoom",
    tx: "WriteTx",
    session: Session,
    outcome: Outcome = Outcome.UNPROVEN,
    *,
    queued: frozenset[str] = frozenset(),
) -> None:
    """What a session still holds waits again: its context is over, or goes on where we no longer look.

    `queued`: the nonces of what will be shown in the next context, because the runtime's queue has it.

    The latter is `uncertain`: it may yet be seen there, and no number of such attempts makes it dead.
    """
    cause = Cause.CONTEXT if outcome is Outcome.UNPROVEN else None
    for mail in tx.offered(session.agent, session.process):
        if is_in(mail, session) and mail.delivery.nonce not in queued:
            give_back(tx, mail, room.settings, outcome, cause=cause)


def _unanswered(tx: "ReadTx", session: Session) -> list[Mail]:
    """What was for one of many, has been seen in a session, and is not acknowledged."""
    found: list[Mail] = []
    after = 0
    while page := tx.watched(session.agent, after=after):
        after = page[-1].message.seq
        found += [mail for mail in page if is_in(mail, session) and one.is_one(mail.message)]
    return [mail for mail in found if mail.delivery.state is State.SEEN]


def is_in(mail: Mail, session: Session) -> bool:
    """Whether it was shown there, in this context or in an earlier one."""
    return (mail.delivery.context or "").startswith(f"{session.id}:")


def _child(room: "LocalRoom", tx: "WriteTx", seat: Seat) -> Agent:
    """A subagent's address lies under its parent's: `backend.explore`, `backend.explore-2`."""
    parent = current(room, tx, seat.main, anew=False)[1]
    kind = "".join(c if c in _PLAIN else "-" for c in (seat.child_type or "child").lower()).strip("-")[:32]
    n = 1
    while True:
        name = f"{parent.address}.{kind or 'child'}" + (f"-{n}" if n > 1 else "")
        taken = directory.find(tx, directory.personal(name), parent.project)
        if taken is None or not any(map(bears, tx.sessions(taken.id))):
            for other in tx.sessions(taken.id) if taken else ():
                end(room, tx, other)  # before its name is another's
            about: About = {"supervisor": parent.address, "role": directory.SUBAGENT}
            return directory.join(tx, name, room.scope, about)
        n += 1
