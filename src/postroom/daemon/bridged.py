"""The daemon's bridges, as a server asks for them: that of the daemon itself, or one in another process."""

from collections.abc import Callable
from typing import Any

from postroom.bridges import manifest as manifests
from postroom.errors import PostroomError
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator


class Bridged:
    """See `postroom.server.port.Bridges`. `ask` takes a verb of the daemon and its words."""

    def __init__(self, home: str, ask: Callable[[str, Json], Any]) -> None:
        self._home, self._ask = home, ask

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if manifests.get(self._home, agent.id) is None:
            return None
        words: Json = {"agent": agent.id, "kind": kind, "by": by.name, "role": by.role, "reason": reason}
        return self._ask("interrupt", words)

    def screen(self, agent: Agent, lines: int) -> str:
        return self._ask("screen", {"agent": agent.id, "lines": lines})

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]:
        return self._ask("command", {"agent": agent.id, "text": text, "by": by})

    def facts(self) -> dict[str, Any]:
        """Nothing where no daemon answers."""
        try:
            return self._ask("ping", {})
        except PostroomError:
            return {}
