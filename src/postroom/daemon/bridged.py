"""The daemon's bridges, as the server asks for them."""

from typing import TYPE_CHECKING, Any

from postroom.bridges import manifest as manifests
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon


class Bridged:
    """See `postroom.server.port.Bridges`."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if manifests.get(self._daemon.home, agent.id) is None:
            return None
        words: Json = {"agent": agent.id, "kind": kind, "by": by.name, "role": by.role, "reason": reason}
        return self._daemon.do("interrupt", words)

    def screen(self, agent: Agent, lines: int) -> str:
        return self._daemon.do("screen", {"agent": agent.id, "lines": lines})

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]:
        return self._daemon.do("command", {"agent": agent.id, "text": text, "by": by})

    def facts(self) -> dict[str, Any]:
        return self._daemon.do("ping", {})
