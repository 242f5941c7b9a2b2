"""Who may steer an agent: a person, or its supervisor where its session proves it. Nobody else.

A name alone makes nobody an agent's supervisor; and who runs in an agent's session is no person. Commands ask
by what is known of their caller, the daemon by the process that asks it; both ask here.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import host
from postroom.errors import InvalidAddress, Refused
from postroom.model.address import Kind
from postroom.room import directory
from postroom.room.identity import UNVERIFIED

if TYPE_CHECKING:
    from collections.abc import Collection

    from postroom.model.message import Agent
    from postroom.room.identity import Evidence
    from postroom.room.premises import Premises
    from postroom.store.contract import ReadTx

_HINT = "Ask a person to do it; a person may say so: --as human:NAME"


class Operator(NamedTuple):
    """Who steers, as the events tell it."""

    name: str
    role: str  # `human` or `agent`


def person(room: "Premises", what: str, who: str = "a person") -> Operator:
    """Who calls, if that is a person. `what` they want, and `who` may, is for the error."""
    evident, look = _evidence(room), room.store.look()
    agent = look.agent(evident.agent) if evident is not None else None
    if evident is not None and (agent is None or not agent.is_human):
        raise _refused(what, agent.called if agent else "an agent")
    check(look, os.getpid(), what)
    if room.agent and not _is_human(room.agent):
        raise Refused(f"only {who} may {what}; a name alone proves no agent: {room.agent}", hint=_HINT)
    return Operator(room.agent or (agent.address if agent else "") or f"user {_login()}", "human")


def steering(room: "Premises", agent: "Agent", what: str) -> Operator:
    """Who calls, if they may steer that agent."""
    evident = _evidence(room)
    if evident is not None and evident.verified != UNVERIFIED and evident.agent == agent.supervisor:
        who = room.store.look().agent(evident.agent)
        return Operator(who.address if who else evident.agent, "agent")
    return person(room, f"{what} {agent.called}", "a person, or its supervisor,")


def check(tx: "ReadTx", pid: int, what: str, but: "Collection[str | None]" = ()) -> None:
    """Raises `Refused` for a process in an agent's session; `but`: agents, by id, that may all the same.

    Where the system tells of processes, one of which it tells nothing is refused: it has gone, or hides in a
    container, and an agent could be behind it. Where it tells of none, nobody could be told apart, and all
    who have the same user id are believed, as they are everywhere else there.
    """
    if host.boot() and not host.program(pid):
        raise Refused(
            f"only a person may {what}, and nobody can tell who asks", hint="Ask outside of a sandbox."
        )
    around = _around(tx, pid)
    if around and not any(agent in but for agent in around):
        found = tx.agent(around[0])
        raise _refused(what, found.called if found else "an agent")


def _around(tx: "ReadTx", pid: int) -> list[str]:
    """The agents, by their ids, of the nearest process of an agent at or above one."""
    for process in (host.identity_of(pid), *host.lineage(pid)):
        if hosted := tx.sessions_hosted(process):
            return [one.agent for one in hosted]
    return []


def _refused(what: str, you: str) -> Refused:
    return Refused(f"only a person may {what}; you are {you}", hint=_HINT)


def _evidence(room: "Premises") -> "Evidence | None":
    witness = room.scope.witness
    if witness is None:
        return None
    look = room.store.look()
    if room.agent:
        directory.evident(look, room.agent, room.scope)  # a name that contradicts the evidence is refused
    return witness.find(look)


def _is_human(name: str) -> bool:
    try:
        return directory.personal(name).kind is Kind.HUMAN
    except InvalidAddress:
        return False


def _login() -> str:
    return os.environ.get("LOGNAME") or os.environ.get("USER") or "nobody known"
