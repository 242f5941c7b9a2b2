"""Which server, and which of its sessions, an opencode in a terminal has.

It listens only if it was started with `--port`. Nothing says which session is shown: the one that went on
since the terminal was opened, in a directory where no other opencode works. Where two could be meant, none
is.
"""

import os

from postroom import host
from postroom.bridges.contract import Berth
from postroom.bridges.opencode.http import Http, Site
from postroom.bridges.server.answer import UNANSWERED
from postroom.bridges.server.said import rows, table
from postroom.errors import BridgeError
from postroom.model.message import Json
from postroom.runtimes.opencode import RUNTIME


def site(process: str) -> Site:
    """Where the server of a terminal listens, on loopback; with the password that it was started with."""
    own = host.pid_of(process)
    pids = [own, *(pid for pid in host.processes() if _is_opencode(pid) and own in host.ancestors(pid))]
    ports = sorted({port for pid in pids for port in host.listens(pid)})
    if not ports:
        raise BridgeError("that opencode has no server: it was started without --port", absent=True)
    if len(ports) > 1:
        raise BridgeError("that opencode listens at more than one port", absent=True)
    env = host.environment(own)
    password, user = env.get("OPENCODE_SERVER_PASSWORD", ""), env.get("OPENCODE_SERVER_USERNAME", "")
    return Site(ports[0], password=password, user=user)


def _is_opencode(pid: int) -> bool:
    """What its model has started may listen, too."""
    return host.program(pid) in RUNTIME.programs


class Finder:
    """Finds the session of one terminal, again and again: its user may show another one at any time."""

    def __init__(self, berth: Berth) -> None:
        self._process = berth.process
        self._told = str(berth.details.get("session") or "")  # by its plugin

    def find(self, http: Http) -> str:
        """Its id; `BridgeError` where there is none, or more than one."""
        try:
            return self._found(http)
        except UNANSWERED as exc:
            raise BridgeError(f"the server of opencode did not answer: {exc}") from exc

    def _found(self, http: Http) -> str:
        if self._told:
            if table(http.get("session", self._told)).get("id") != self._told:
                raise BridgeError("the server of opencode has not the session that its plugin tells of")
            return self._told
        here = self._directory()
        began = host.began_at(self._process)
        shown = [
            one for one in rows(http.get("session")) if _is_shown(one, here) and _updated_at(one) >= began
        ]
        if not shown:
            raise BridgeError("nothing was said in that opencode yet", absent=True)
        if len(shown) > 1:
            raise BridgeError(f"{len(shown)} sessions could be that terminal's", absent=True)
        return str(shown[0]["id"])

    def _directory(self) -> str:
        """Where this one works, and no other does."""
        own = host.pid_of(self._process)
        here = host.started_with(self._process)[1]
        others = [
            pid
            for pid in host.processes()
            if _is_opencode(pid)
            and host.started_with(str(pid))[1] == here
            and pid != own
            and own not in host.ancestors(pid)
            and pid not in host.ancestors(own)
        ]
        if others:
            raise BridgeError("several opencodes work in that directory", absent=True)
        return os.path.realpath(here)


def _is_shown(session: Json, here: str) -> bool:
    """Whether it may be: its project's other directories have sessions, and so have subagents."""
    return not session.get("parentID") and os.path.realpath(str(session.get("directory") or "")) == here


def _updated_at(session: Json) -> int:
    return int(table(session.get("time")).get("updated") or 0)
