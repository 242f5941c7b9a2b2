"""The daemon's bridges, as a server asks for them: that of the daemon itself, or one in another process."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from postroom.bridges import manifest as manifests
from postroom.bridges.registry import capabilities
from postroom.errors import PostroomError
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator

_FRESH = 2.0  # seconds for which a look at all of them counts
_PATIENCE = 1.0  # seconds for all of them


class Bridged:
    """See `postroom.server.port.Bridges`. `ask` takes a verb of the daemon and its words."""

    def __init__(self, home: str, ask: Callable[[str, Json], Any]) -> None:
        self._home, self._ask = home, ask
        self._guard, self._looked_at = threading.Lock(), -_FRESH

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if manifests.get(self._home, agent.id) is None:
            return None
        words: Json = {"agent": agent.id, "kind": kind, "by": by.name, "role": by.role, "reason": reason}
        return self._ask("interrupt", words)

    def stops(self, agent: Agent) -> bool:
        manifest = manifests.get(self._home, agent.id)
        return manifest is not None and capabilities(manifest.bridge).interrupts

    def look(self) -> None:
        """At all of them, unless that was done a moment ago; by one caller at a time, and not for long."""
        with self._guard:
            if time.monotonic() - self._looked_at < _FRESH:
                return
            agents = [one.agent for one in manifests.every(self._home)]
            with suppress(PostroomError):  # then what was seen last has to do
                self._ask("observe", {"agents": agents, "seconds": _PATIENCE})
            self._looked_at = time.monotonic()

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
