"""Who may steer an agent: a person, or its supervisor where its session proves it. Nobody else.

A name alone makes nobody an agent's supervisor; and who runs in an agent's session is no person.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom.errors import InvalidAddress, Refused
from postroom.model.address import Kind
from postroom.room import directory
from postroom.room.identity import UNVERIFIED

if TYPE_CHECKING:
    from postroom.model.message import Agent
    from postroom.room.identity import Evidence
    from postroom.room.premises import Premises

_HINT = "Ask a person to do it; a person may say so: --as human:NAME"


class Operator(NamedTuple):
    """Who steers, as the events tell it."""

    name: str
    role: str  # `human` or `agent`


def person(room: "Premises", what: str, who: str = "a person") -> Operator:
    """Who calls, if that is a person. `what` they want, and `who` may, is for the error."""
    evident = _evidence(room)
    if evident is not None:
        agent = room.store.look().agent(evident.agent)
        raise Refused(
            f"only a person may {what}; you are {agent.called if agent else 'an agent'}", hint=_HINT
        )
    if room.agent and not _is_human(room.agent):
        raise Refused(f"only {who} may {what}; a name alone proves no agent: {room.agent}", hint=_HINT)
    return Operator(room.agent or f"user {_login()}", "human")


def steering(room: "Premises", agent: "Agent", what: str) -> Operator:
    """Who calls, if they may steer that agent."""
    evident = _evidence(room)
    if evident is not None and evident.verified != UNVERIFIED and evident.agent == agent.supervisor:
        who = room.store.look().agent(evident.agent)
        return Operator(who.address if who else evident.agent, "agent")
    return person(room, f"{what} {agent.called}", "a person, or its supervisor,")


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
