"""Making good what nobody was told: mail that waits for an agent whose bell was missed, or whose wake came to
nothing.

Who is kept is rung when something has changed, who is woken by hooks at longer and longer intervals while it
is idle. While nothing has changed, nothing waits and nothing is due, it looks only at the transcripts of
sessions whose hooks do not tell of a failed turn: one `stat` each.
"""

from collections.abc import Mapping
from typing import Protocol

from postroom.model.message import Agent, Session
from postroom.model.presence import Presence
from postroom.room import berth
from postroom.room.failed_turn import at_risk, notice
from postroom.room.local import LocalRoom
from postroom.room.reach import doing, last_sign
from postroom.room.sweep import is_due
from postroom.runtimes import load

_FIRST, _LONGEST = 10_000, 600_000  # milliseconds between two rings for the same message


class Kept(Protocol):
    """Somebody in this process who brings an agent its mail."""

    def ring(self) -> None: ...


class Sweep:
    """Call `run` now and then."""

    def __init__(self, room: LocalRoom) -> None:
        self._room = room
        self._version: int | None = None
        self._at_risk: list[Session] = []  # whose transcripts tell what the store does not
        self._waits: dict[str, tuple[int, int, int]] = {}  # by agent: which message, when, after how long

    def run(self, kept: Mapping[str, Kept]) -> list[str]:
        """Do what the clock asks and return what gone processes hold; whom it has rung again.

        `kept`: who in this process hears an agent's bell, and may have missed it; by the agent.
        """
        look, version = self._room.store.look(), self._room.store.changed()
        has_changed = version != self._version
        if not has_changed and not self._waits and not is_due(look.next_due(), self._room.now()):
            notice(self._room, self._at_risk)
            return []
        self._version = version
        self._room.sweep()
        self._at_risk = at_risk(look) if look.has_sessions() else []
        agents = [agent for agent in _agents(self._room) if look.ready(agent.id, 1, agent.called)]
        for agent in agents:
            if has_changed and agent.id in kept:
                kept[agent.id].ring()
        self._waits = {agent.id: self._next(agent) for agent in agents}
        due = [agent.id for agent in agents if self._is_due(agent)]
        if due:
            called = [party for party, must in self._room.ring.touch(due).items() if must]
            self._room.call(called)
        return due

    def _next(self, agent: Agent) -> tuple[int, int, int]:
        [first] = self._room.store.look().ready(agent.id, 1, agent.called)
        known = self._waits.get(agent.id)
        if known is not None and known[0] == first.delivery.seq:
            return known
        return first.delivery.seq, self._room.now() + _FIRST, _FIRST

    def _is_due(self, agent: Agent) -> bool:
        seq, at, pause = self._waits[agent.id]
        if at > self._room.now() or not self._is_idle(agent):
            return False
        pause = min(_LONGEST, pause * 2)
        self._waits[agent.id] = seq, self._room.now() + pause, pause
        return True

    def _is_idle(self, agent: Agent) -> bool:
        look = self._room.store.look()
        session = berth.carrier(look, agent.id)
        if session is None:
            return False
        sign = last_sign(self._room.home, session)
        return doing(look, session, load(session.runtime), sign) is Presence.IDLE


def _agents(room: LocalRoom) -> list[Agent]:
    """All that have a session."""
    look, found, offset = room.store.look(), list[Agent](), 0
    if not look.has_sessions():
        return []
    while page := look.agents(offset=offset):
        offset += len(page)
        found += [agent for agent in page if look.sessions(agent.id)]
    return found
