"""Which thread of the shared app-server a Codex in a terminal shows.

The server does not say who shows what. A thread that was begun in a terminal, in the directory in which only
this terminal works, is the one; where two could be meant, none is: mail for one must never go to the other.
"""

import os

from postroom import host
from postroom.bridges.codex.talk import Talk
from postroom.bridges.contract import Berth
from postroom.bridges.server.answer import UNANSWERED
from postroom.bridges.server.said import table
from postroom.errors import BridgeError, NoServer
from postroom.model.message import Json
from postroom.runtimes.codex import RUNTIME, shows

_ASK = 5.0  # seconds
_ORIGIN = "codex-tui"
_HOME = "CODEX_HOME"


def home(process: str) -> str:
    """The directory of Codex's own that a process has: where its server is."""
    env = host.environment(host.pid_of(process))
    found = env.get(_HOME) or (os.path.join(env["HOME"], ".codex") if env.get("HOME") else "")
    if not found:
        raise NoServer("nobody can tell whose app-server that Codex uses")
    return found


class Finder:
    """Finds the thread of one terminal, again and again: its user may show another one at any time."""

    def __init__(self, berth: Berth) -> None:
        self._process = berth.process
        self._told = str(berth.details.get("session") or "")  # by its hooks
        self._others: set[str] = set()  # threads that no terminal shows: titles, subagents, other programs'

    def find(self, talk: Talk) -> str:
        """Its id; `BridgeError` where there is none, or more than one."""
        loaded = [str(one) for one in _call(talk, "thread/loaded/list", {}).get("data") or ()]
        if self._told:
            if self._told not in loaded:
                raise BridgeError("the app-server of Codex has not loaded the thread of its session")
            return self._told
        here = self._directory()
        threads = [one for one in loaded if one not in self._others]
        read = {one: _call(talk, "thread/read", {"threadId": one}) for one in threads}
        shown = [one for one, said in read.items() if self._is_shown(one, said, here)]
        if not shown:
            raise NoServer("its app-server has no thread of that terminal")
        if len(shown) > 1:
            raise NoServer(f"{len(shown)} threads of its app-server could be that terminal's")
        return shown[0]

    def _is_shown(self, id: str, said: Json, here: str) -> bool:
        thread = table(said.get("thread"))
        if thread.get("ephemeral") or thread.get("parentThreadId") or thread.get("originator") != _ORIGIN:
            self._others.add(id)
            return False
        return os.path.realpath(str(thread.get("cwd") or "")) == here

    def _directory(self) -> str:
        """Where this terminal works, and no other of the same server does."""
        places = {pid: where for pid in host.processes() if (where := self._place(pid))}
        ours = [pid for pid in places if self._is_ours(pid)]
        if len(ours) != 1:
            raise NoServer("no terminal of Codex is found there")
        here = places[ours[0]]
        if list(places.values()).count(here) > 1:
            raise NoServer("several terminals of Codex work in that directory")
        return here

    def _is_ours(self, pid: int) -> bool:
        own = host.pid_of(self._process)
        return pid == own or own in host.ancestors(pid)

    def _place(self, pid: int) -> str:
        if host.program(pid) not in RUNTIME.programs or not host.terminal(pid):
            return ""
        command, at = host.started_with(str(pid))
        where = shows(command, at) if command else ""
        if not where or not self._shares_home(pid):
            return ""
        return os.path.realpath(where)

    def _shares_home(self, pid: int) -> bool:
        try:
            return home(str(pid)) == home(self._process)
        except BridgeError:
            return False


def _call(talk: Talk, method: str, params: Json) -> Json:
    try:
        return talk.call(method, params, _ASK)
    except UNANSWERED as exc:
        raise BridgeError(f"the app-server of Codex did not answer: {exc}") from exc
