"""What the server asks of whoever runs it: the agents' bridges, which are the daemon's."""

from typing import Any, Protocol

from postroom.errors import UnknownAgent
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator


class Bridges(Protocol):
    """The agents that bridges reach."""

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        """End an agent's turn by its own keys: what was proven; None where no bridge reaches it, or can."""
        ...

    def stops(self, agent: Agent) -> bool:
        """Whether `interrupt` has a way to end its turn; who it has none for can only be told."""
        ...

    def screen(self, agent: Agent, lines: int) -> str: ...

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]: ...

    def facts(self) -> dict[str, Any]:
        """What is known of the daemon itself."""
        ...


class NoBridges:
    """Where there are none."""

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        return None

    def stops(self, agent: Agent) -> bool:
        return False

    def screen(self, agent: Agent, lines: int) -> str:
        raise _unreached(agent)

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]:
        raise _unreached(agent)

    def facts(self) -> dict[str, Any]:
        return {}


def _unreached(agent: Agent) -> UnknownAgent:
    return UnknownAgent(f"no bridge reaches {agent.called}", hint="See: postroom agents; postroom adopt")
