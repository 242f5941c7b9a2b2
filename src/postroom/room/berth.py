"""The session of an agent that is reached by a bridge: one for each agent, whatever runs there.

It is told from the sessions that hooks register by the bridge in its details. An agent may have both: then
its hooks carry the mail, and the bridge only wakes it.
"""

from typing import TYPE_CHECKING

from postroom import host
from postroom.model.context import is_main, session_id
from postroom.model.message import Agent, Session
from postroom.room import push
from postroom.room.seat import BRIDGE, TOOLS, Around, Seat, bears, is_bridged, is_live
from postroom.room.session import end, return_unproven, start
from postroom.runtimes import load
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx


def occupy(
    room: "LocalRoom",
    agent: Agent,
    bridge: str,
    process: str,
    *,
    pane: str = "",
    cwd: str = "",
    runtime: str = "",
) -> Session:
    """An agent is reached by a bridge from now on, in a process; another process is another context."""
    details = {BRIDGE: bridge, "runtime": runtime, "cwd": cwd}
    seat = Seat(bridge, agent.id, "", "", process, cwd, details, Around(pane=pane))
    with room.write() as tx:
        known = tx.session(seat.id)
        if known is not None and known.ended_at is None and known.process == process:
            return known
        for other in tx.sessions(agent.id):
            if is_bridged(other) and other.id != seat.id:
                _leave(room, tx, other)
        if known is not None:
            return_unproven(room, tx, known)
        return start(tx, agent, seat, known.epoch + 1 if known else 0)


def started(room: "LocalRoom", agent: str, bridge: str, program: str) -> None:
    """Note that we have started an agent, or have done so again."""
    with room.write() as tx:
        tx.append("agent.started", agent, payload={"bridge": bridge, "program": program})


def said(room: "LocalRoom", agent: str, *pieces: tuple[str, str]) -> None:
    """Note what an agent has printed, or told by its protocol: each a stream, and a text."""
    with room.write() as tx:
        for stream, text in pieces:
            payload = {"stream": stream, "text": storable(text)}
            tx.append("agent.output", agent, payload=payload, role="agent")


def vacate(room: "LocalRoom", agent: Agent) -> None:
    """Nothing of it is reached by a bridge any more, whichever it was."""
    with room.write() as tx:
        for known in tx.sessions(agent.id):
            if is_bridged(known) and known.ended_at is None:
                _leave(room, tx, known)


def _leave(room: "LocalRoom", tx: "WriteTx", session: Session) -> None:
    """Where its process lives on, what was handed over may yet be taken there: nobody will look any more."""
    if not host.is_gone(session.process):
        push.doubt_in(room, tx, session, str(session.details[BRIDGE]))
    end(room, tx, session)


def route(tx: "ReadTx", agent: str) -> str:
    """The bridge by which an agent is reached now; empty: by none."""
    for session in tx.sessions(agent):
        if is_bridged(session) and is_live(session):
            return str(session.details[BRIDGE])
    return ""


def let_go(tx: "ReadTx", agent: str, bridge: str) -> bool:
    """Whether an agent was reached by that bridge, which let go of it, and what ran there runs on."""
    known = tx.session(session_id(bridge, agent))
    return known is not None and known.ended_at is not None and not host.is_gone(known.process)


def carrier(tx: "ReadTx", agent: str) -> Session | None:
    """A session of an agent whose hooks can carry its mail."""
    for session in tx.sessions(agent):
        if bears(session) and is_main(session.id) and _carries(session):
            return session
    return None


def _carries(session: Session) -> bool:
    """Whether its runtime passes on what hooks say; some only tell them what happens, and tools have none."""
    return session.runtime != TOOLS and any(point.proven_by for point in load(session.runtime).points)
