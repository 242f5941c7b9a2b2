"""Reading the config again while the daemon runs: all of it counts from then on, or, where anything in it is
wrong, none of it.
"""

import threading
from typing import TYPE_CHECKING

from postroom import config
from postroom.bridges.roster import entries
from postroom.clock import iso, wall
from postroom.config import Declared, Settings
from postroom.daemon import log
from postroom.errors import PostroomError
from postroom.model.message import Json
from postroom.room.declared import check, introduce_all
from postroom.room.policy import declared_routes

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon


class Renewal:
    """What came of it the last time."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._guard = threading.Lock()
        self.problem = ""  # why the config that is there now does not count
        self.at = wall()

    def run(self) -> Json:
        """Read it; which settings have changed by that, or what is wrong with it."""
        with self._guard:
            daemon, before = self._daemon, self._daemon.room.settings
            try:
                settings, declared = config.load(daemon.home)
                _check(daemon.home, settings, declared)
            except (PostroomError, OSError) as exc:
                self.problem = str(exc)
                log.fail("config refused, and the one before counts", error=exc)
                return {"changed": [], "problem": self.problem}
            self.problem, self.at = "", wall()
            changed = [key for key in Settings._fields if getattr(before, key) != getattr(settings, key)]
            log.begin(daemon.home, settings)
            log.note("config read", changed=changed, agents=len(declared.agents))
            daemon.room.renew(settings, declared)
            for project in daemon.room.projects():
                introduce_all(daemon.room.on_behalf(None, project.name, None))
            daemon.web.renew(settings)
            return {"changed": changed, "problem": None}

    def facts(self) -> Json:
        home = self._daemon.home
        return {"path": config.config_path(home), "read_at": iso(self.at), "problem": self.problem or None}


def _check(home: str, settings: Settings, declared: Declared) -> None:
    """Whatever is read only when it is needed is looked at now."""
    check(declared.agents)
    declared_routes(declared.routes, home)
    entries(declared)
    if settings.tls_cert:
        from postroom.daemon.tls import check as check_certificate  # noqa: PLC0415 - it loads what TLS needs

        check_certificate(settings)
