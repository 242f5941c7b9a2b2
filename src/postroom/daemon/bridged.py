"""The daemon's bridges, as the server asks for them."""

import threading
import time
from typing import TYPE_CHECKING, Any

from postroom.bridges import manifest as manifests
from postroom.daemon import log
from postroom.errors import PostroomError
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon

_FRESH = 2.0  # seconds for which a look at all of them counts
_PATIENCE = 1.0  # seconds for all of them


class Bridged:
    """See `postroom.server.port.Bridges`."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._guard, self._looked_at = threading.Lock(), -_FRESH

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if manifests.get(self._daemon.home, agent.id) is None:
            return None
        words: Json = {"agent": agent.id, "kind": kind, "by": by.name, "role": by.role, "reason": reason}
        return self._daemon.do("interrupt", words)

    def look(self) -> None:
        """At all of them, unless that was done a moment ago; by one caller at a time, and not for long."""
        with self._guard:
            if time.monotonic() - self._looked_at < _FRESH:
                return
            try:
                self._daemon.observe(list(self._daemon.keepers), _PATIENCE)
            except PostroomError as exc:
                log.note("cannot look", error=str(exc))
            self._looked_at = time.monotonic()

    def screen(self, agent: Agent, lines: int) -> str:
        return self._daemon.do("screen", {"agent": agent.id, "lines": lines})

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]:
        return self._daemon.do("command", {"agent": agent.id, "text": text, "by": by})

    def facts(self) -> dict[str, Any]:
        return self._daemon.do("ping", {})
