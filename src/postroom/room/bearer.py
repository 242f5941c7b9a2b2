"""Whose a new session is: the name that it bears, and why not another.

The most particular wins: the agent of the conversation before in the same process or terminal (`/clear`); the
agent of a token that whoever started it gave it (POSTROOM_TOKEN), or else its name (POSTROOM_AGENT); the name
of its pane (`@postroom_agent`); an agent that the config means for this runtime and directory; the agent
whose session was the last in this pane; that of the last one in this checkout; and else a new one. Nobody
gets a name that a running session bears.
"""

import os
from typing import TYPE_CHECKING

from postroom import config, host
from postroom.errors import InvalidAddress, InvalidValue
from postroom.model.address import ROOM, Kind, parse
from postroom.model.context import is_main
from postroom.model.message import Agent, Json, Session
from postroom.room import directory
from postroom.room.seat import TOOLS, Seat, bears, is_bridged, is_followed, is_live
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx

Found = tuple[Agent, Json | None]


def of(tx: "ReadTx", session: Session | None) -> Agent | None:
    """The agent of a session, unless it has left."""
    agent = tx.agent(session.agent) if session else None
    return None if agent is None or agent.left_at is not None else agent


def find(room: "LocalRoom", tx: "WriteTx", seat: Seat) -> Found:
    """The agent of a new session; and what name was asked for in vain, if one was: `name`, `by` and `why`."""
    before = tx.sessions_in(seat.process)
    if seat.around.served:
        before = [one for one in before if is_followed(one, seat)]
    if (agent := _told_by_tools(tx, before) or _first_free(tx, before, seat)) is not None:
        return agent, None
    outer, asked = _outer(tx, seat), _open_names(seat)
    given = _by_token(room, tx, seat), (seat.around.name, "POSTROOM_AGENT")
    for name, by in (*given, ("" if outer else seat.around.label, "its pane")):
        bearer = _bearer(room, tx, name, seat)
        why = _objection(name, bearer) if name else ""
        if name and not why:
            return directory.join(tx, name, room.scope, {}), None
        if name and (bearer is None or bearer.process not in outer):  # else it has inherited the name
            asked.append({"name": storable(name), "by": by, "why": why})
    agent, last = None, None if outer else _in_pane(room, tx, seat)
    try:
        agent = _meant(room, tx, seat, last)
    except InvalidValue as exc:
        asked.append({"name": "", "by": "the config", "why": str(exc)})
    earlier = last or _last_here(tx, seat)
    if earlier is not None and any(earlier.name in one.get("names", ()) for one in asked):
        earlier = None  # one of the names of which it is open whether this session is meant
    return agent or earlier or _new(room, tx), asked[0] if asked else None


def _open_names(seat: Seat) -> list[Json]:
    """The names of several terminals, where it is not known which of them shows the session."""
    if not seat.around.terminals:
        return []
    from postroom.room.own_terminal import names  # noqa: PLC0415 - rarely

    found = list(map(storable, names(seat.around)))
    if not found:
        return []
    several = f"{len(seat.around.terminals)} terminals share its server, and any of them may show it"
    why = f"{several}; they ask for {' and '.join(found)}"
    return [{"name": "", "names": found, "by": "POSTROOM_AGENT", "why": why}]


def _told_by_tools(tx: "ReadTx", before: list[Session]) -> Agent | None:
    """The agent that its tools have told of, in the same process: it is the same one."""
    return next((of(tx, one) for one in before if one.runtime == TOOLS and is_live(one)), None)


def _by_token(room: "LocalRoom", tx: "ReadTx", seat: Seat) -> tuple[str, str]:
    """The agent that a token is of, as it is called from anywhere."""
    if not seat.around.token:
        return "", ""
    from postroom.room.token import VARIABLE, holder, proof  # noqa: PLC0415 - few have one

    agent = tx.agent(holder(room.home, proof(seat.around.token)))
    return agent.address if agent else "", VARIABLE


def _outer(tx: "ReadTx", seat: Seat) -> list[str]:
    """The processes of agents above its own: terminal and environment are then of the nearest of them."""
    around = seat.around
    if around.served or not (around.pane or around.name or around.token):
        return []
    above = host.lineage(int(seat.process.partition(".")[0] or 0))
    return [process for process in above if any(is_main(one.id) for one in tx.sessions_hosted(process))]


def _bearer(room: "LocalRoom", tx: "ReadTx", name: str, seat: Seat) -> Session | None:
    """The running session of the agent of a name; not the one in whose terminal a seat is."""
    try:
        agent = directory.find(tx, parse(name), room.scope.find(tx)) if name else None
    except InvalidAddress:
        return None
    return _running(tx, agent, seat) if agent else None


def _running(tx: "ReadTx", agent: Agent, seat: Seat) -> Session | None:
    """A session of an agent that runs: a conversation, or a bridge to another terminal than a seat's."""
    for session in tx.sessions(agent.id):
        if bears(session) or (is_bridged(session) and is_live(session) and not _is_in(seat, session)):
            return session
    return None


def _is_in(seat: Seat, bridged: Session) -> bool:
    """Whether a session begins in the terminal, or under the process, that a bridge reaches."""
    around, process = seat.around, bridged.process
    own = (
        around.clients if len(around.clients) == 1 else ()
    )  # of several it is not known which one is its own
    if process in (seat.process, *own) or (around.pane and around.pane == bridged.pane):
        return True
    return process in host.lineage(int(seat.process.partition(".")[0] or 0))


def _objection(name: str, bearer: Session | None) -> str:
    """Why a name cannot be borne; empty if it can be. A person is no agent, and neither is the room."""
    try:
        address = parse(name)
        can_be = address.kind is Kind.AGENT and address.name != ROOM
    except InvalidAddress:
        can_be = False
    if not can_be:
        return "no agent can be called so"
    if bearer is None:
        return ""
    pid = bearer.process.partition(".")[0]
    return f"{bearer.runtime} in {bearer.worktree} (process {pid}) bears that name"


def _first_free(tx: "ReadTx", sessions: list[Session], seat: Seat) -> Agent | None:
    """The agent of the first of these sessions of which nothing runs outside the seat's own terminal."""
    for session in sessions:
        agent = of(tx, session) if is_main(session.id) else None
        if agent is not None and _running(tx, agent, seat) is None:
            return agent
    return None


def _in_pane(room: "LocalRoom", tx: "ReadTx", seat: Seat) -> Agent | None:
    """The agent that ran last in its pane, if that was in this project."""
    if not seat.around.pane:
        return None
    agent = _first_free(tx, tx.sessions_in_pane(seat.runtime, seat.around.pane)[:1], seat)
    return agent if agent is not None and agent.project == room.scope.find(tx) else None


def _meant(room: "LocalRoom", tx: "WriteTx", seat: Seat, last: Agent | None) -> Agent | None:
    """The first that the config means and nobody bears; of several, the one that ran here last."""
    if not room.declared.agents:
        return None
    from postroom.room.declared import introduced, meant  # noqa: PLC0415 - where there are any

    names = meant(room, tx, seat.runtime, seat.cwd or os.getcwd())
    for name in sorted(names, key=lambda name: last is None or parse(name).name != last.name):
        if _bearer(room, tx, name, seat) is None and introduced(room, tx, name):
            return directory.join(tx, name, room.scope, {})
    return None


def _last_here(tx: "ReadTx", seat: Seat) -> Agent | None:
    here = storable(config.worktree(seat.cwd or os.getcwd())[0])
    return _first_free(tx, tx.sessions_at(seat.runtime, here), seat)


def _new(room: "LocalRoom", tx: "WriteTx") -> Agent:
    from postroom.room.name import memorable  # noqa: PLC0415 - once for each agent

    project = room.scope.find(tx)
    name = memorable(lambda name: tx.agent_named(project, name) is not None)
    return directory.join(tx, name, room.scope, {})
