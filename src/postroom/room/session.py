"""Sessions: one run of an agent's runtime. Who it is, when it begins, and what its end leaves behind.

An agent keeps its address over compaction, resumption, clearing and restart: the same session is the same
agent, and so is the next one in the same process; a new one takes the address that its user gave it, unless
somebody bears that just now, or that of the last one that ran in the same place and runs no more.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import config, host
from postroom.errors import InvalidAddress
from postroom.model.address import Kind, parse
from postroom.model.message import Agent, Json, Session
from postroom.room import directory
from postroom.room.sweep import give_back

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx

MAIN = "main"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Seat(NamedTuple):
    """Where a session runs, as its hook found it."""

    runtime: str
    session: str  # the runtime's own id
    child: str  # the runtime's own id of a subagent; empty in the main conversation
    child_type: str
    process: str  # that hosts it
    cwd: str
    pane: str
    details: Json

    @property
    def id(self) -> str:
        return session_id(self.runtime, self.session, self.child)


def session_id(runtime: str, session: str, child: str = "") -> str:
    return f"{runtime}:{session}:{child or MAIN}"


def context(session: Session) -> str:
    """Where mail is shown: what was shown in another context may be shown again."""
    return f"{session.id}:{session.epoch}"


def is_live(session: Session) -> bool:
    return session.ended_at is None and not host.is_gone(session.process)


def current(room: "LocalRoom", tx: "WriteTx", seat: Seat, *, anew: bool) -> tuple[Session, Agent]:
    """The session of a seat, begun if it is not known, or if it begins `anew`; and whose it is."""
    known = tx.session(seat.id)
    if known is not None and not anew and known.process == seat.process and known.ended_at is None:
        agent = tx.agent(known.agent)
        if agent is not None:
            return known, agent
    return _begin(room, tx, seat, known)


def _begin(room: "LocalRoom", tx: "WriteTx", seat: Seat, known: Session | None) -> tuple[Session, Agent]:
    if known is not None:
        return_unproven(room, tx, known)
    agent = _known_agent(tx, known) or _whose(room, tx, seat)
    for other in tx.sessions(agent.id):
        if other.id != seat.id and host.is_gone(other.process):
            tx.append("session.ended", agent.id, payload={"id": other.id})
    worktree, branch = config.worktree(seat.cwd or os.getcwd())
    payload = {
        "id": seat.id, "runtime": seat.runtime, "process": seat.process, "pane": seat.pane or None,
        "worktree": worktree, "branch": branch or None, "epoch": known.epoch + 1 if known else 0,
        "details": seat.details,
    }  # fmt: skip
    tx.append("session.started", agent.id, payload=payload, role="agent")
    begun = tx.session(seat.id)
    assert begun is not None
    return begun, agent


def end(room: "LocalRoom", tx: "WriteTx", session: Session) -> None:
    """A session has ended. What nobody can prove to have been seen in it waits again."""
    if session.ended_at is None:
        tx.append("session.ended", session.agent, payload={"id": session.id}, role="agent")
    return_unproven(room, tx, session)


def return_unproven(room: "LocalRoom", tx: "WriteTx", session: Session) -> None:
    """What a session still holds waits again: its context is over."""
    for mail in tx.offered(session.agent, session.process):
        if (mail.delivery.context or "").startswith(f"{session.id}:"):
            give_back(tx, mail, room.settings)


def _known_agent(tx: "ReadTx", known: Session | None) -> Agent | None:
    agent = tx.agent(known.agent) if known else None
    return None if agent is None or agent.left_at is not None else agent


def _whose(room: "LocalRoom", tx: "WriteTx", seat: Seat) -> Agent:
    """Whose a new session is: see the top of this module."""
    if seat.child:
        return _child(room, tx, seat)
    if (agent := _first_free(tx, tx.sessions_in(seat.process))) is not None:
        return agent
    named = os.environ.get("POSTROOM_AGENT")
    if named and _may_bear(room, tx, named):
        return directory.join(tx, named, room.scope, {})
    earlier = tx.sessions_at(seat.runtime, config.worktree(seat.cwd or os.getcwd())[0])
    if (agent := _first_free(tx, earlier)) is not None:
        return agent
    from postroom.room.name import memorable  # noqa: PLC0415 - once for each agent

    project = room.scope.find(tx)
    name = memorable(lambda name: tx.agent_named(project, name) is not None)
    return directory.join(tx, name, room.scope, {})


def _first_free(tx: "ReadTx", sessions: list[Session]) -> Agent | None:
    """The agent of the first of these sessions of which nothing runs."""
    for session in sessions:
        agent = _known_agent(tx, session) if session.id.endswith(f":{MAIN}") else None
        if agent is not None and not _runs(tx, agent):
            return agent
    return None


def _runs(tx: "ReadTx", agent: Agent) -> bool:
    return any(map(is_live, tx.sessions(agent.id)))


def _may_bear(room: "LocalRoom", tx: "ReadTx", named: str) -> bool:
    """Whether a name in the environment is meant for this session.

    What another bears just now was inherited from it, or is given twice; a person is no agent.
    """
    try:
        address = parse(named)
    except InvalidAddress:
        return False
    if address.kind is not Kind.AGENT:
        return False
    agent = directory.find(tx, address, room.scope.find(tx))
    return agent is None or not _runs(tx, agent)


def _child(room: "LocalRoom", tx: "WriteTx", seat: Seat) -> Agent:
    """A subagent's address lies under its parent's: `backend.explore`, `backend.explore-2`."""
    main = seat._replace(child="", child_type="")
    parent = current(room, tx, main, anew=False)[1]
    kind = "".join(c if c in _PLAIN else "-" for c in (seat.child_type or "child").lower()).strip("-")[:32]
    n = 1
    while True:
        name = f"{parent.address}.{kind or 'child'}" + (f"-{n}" if n > 1 else "")
        taken = directory.find(tx, directory.personal(name), parent.project)
        if taken is None or not _runs(tx, taken):
            return directory.join(tx, name, room.scope, {"supervisor": parent.address, "role": "subagent"})
        n += 1
