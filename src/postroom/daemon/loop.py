"""The daemon: keeps a keeper for each agent that a bridge reaches, sweeps, and answers commands.

What is to run is what the manifests say; what has happened is in the room. So it can be killed at any moment,
and the next one goes on from there.
"""

import os
import signal
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Doing, Observation
from postroom.bridges.manifest import Manifest
from postroom.clock import wall
from postroom.daemon import log, verb
from postroom.daemon.control import Server
from postroom.daemon.instance import Instance
from postroom.daemon.keeper import Keeper
from postroom.daemon.reseat import Reseat
from postroom.daemon.sweep import Sweep
from postroom.daemon.trees import Trees
from postroom.daemon.watcher import Watches
from postroom.daemon.web import Web
from postroom.errors import PostroomError, UnknownAgent
from postroom.model.message import Json
from postroom.room.local import LocalRoom

if TYPE_CHECKING:
    from postroom.daemon.spans import Spans

_TICK = 2.0  # seconds between two sweeps
_END = 10.0  # seconds for all keepers to end
_AT_REST = 1_000_000_000  # nanoseconds: two changes in one tick of a file system's clock bear the same time


class Daemon:
    """One room's. `run` returns when it was told to end."""

    def __init__(self, home: str) -> None:
        self._instance = Instance(home)
        log.begin(home)
        settings, declared = config.load(home)
        self.home = home
        self.room = LocalRoom(home, settings, declared=declared)
        self.keepers: dict[str, Keeper] = {}
        self.environments: dict[str, dict[str, str]] = {}  # with which agents were started here, by id
        self._seen = -1  # the manifests, as of then
        self._version: int | None = None  # of the room, as of then
        self.watches = Watches(self.room)
        self.since = wall()
        self._sweep = Sweep(self.room)
        self._reseat = Reseat(home)
        self._trees = Trees(self.room)
        self.web = Web(self)
        self.spans = _spans(self.room) if settings.otel == "on" else None
        self._guard = threading.RLock()
        self._wake = threading.Event()
        self._ends = False

    def run(self) -> None:
        log.note("began", process=host.identity())
        self.reconcile()
        server = Server(self.home, self._answer)
        if self.spans:
            self.spans.start()
        self.web.start()
        while not self._ends:
            self._wake.wait(_TICK)
            self._wake.clear()
            self._tick()
        server.close()  # no more commands
        self.web.stop()
        if self.spans:
            self.spans.stop()
        self._finish()

    def end(self, *_: object) -> None:
        self._ends = True
        self._wake.set()

    def _tick(self) -> None:
        """Whatever goes wrong in here is told, and tried again with the next. Without a room it is over."""
        try:
            if not os.path.isdir(self.home) or self._has_lost_its_place():
                return self.end()
            self._trees.look()
            changed = manifests.changed_at(self.home)
            lingers = any(keeper.is_stopping for keeper in self.keepers.values())
            if lingers or changed != self._seen or time.time_ns() - changed < _AT_REST:
                self.reconcile()
                self._seen = changed
            version = self.room.store.changed()
            for keeper in list(self.keepers.values()):
                keeper.look_around()
                if version != self._version:
                    keeper.look_into_room()
                if keeper.is_over and self._reseat.look(keeper.manifest):
                    self._wake.set()
            self._version = version
            for party in self._sweep.run(self.keepers):
                log.note("rung again", agent=party)
        except Exception as exc:
            log.note("tick failed", error=repr(exc))

    def _has_lost_its_place(self) -> bool:
        """Whether another may be the room's daemon by now: who removed our lock has made room for one."""
        if self._instance.holds():
            return False
        log.begin(self.home)  # the file may be gone with it
        log.note("lost its lock, so it ends", process=host.identity())
        return True

    def reconcile(self) -> None:
        """A keeper for each manifest, and for nothing else. One that does not end is not replaced before."""
        with self._guard:
            wanted = {one.agent: one for one in manifests.every(self.home)}
            for agent, keeper in list(self.keepers.items()):
                if keeper.is_stopping or agent not in wanted or keeper.has_moved():
                    patience = 0.0 if keeper.is_stopping else _END
                    keeper.stop()
                    if keeper.join(patience):
                        del self.keepers[agent]
            for agent in wanted.keys() - self.keepers.keys():
                if (one := manifests.get(self.home, agent)) is not None:  # as it is now
                    self._keep(one)
        self.watches.reconcile()

    def _keep(self, manifest: Manifest) -> None:
        try:
            env = self.environments.get(manifest.agent) or dict(os.environ)
            keeper = Keeper(self.room, manifest, env)
        except PostroomError as exc:
            log.note("cannot be kept", agent=manifest.address, error=str(exc))
            return
        self.keepers[manifest.agent] = keeper
        keeper.start()

    def keeper(self, agent: str) -> Keeper:
        found = self.keepers.get(agent)
        if found is None:
            raise UnknownAgent("no bridge reaches that agent", hint="See: postroom agents; postroom adopt")
        return found

    def observe(self, agents: list[str], seconds: float = _END) -> dict[str, Observation]:
        """What these do now, each by its own bridge, all at once; but those that say it too late."""
        until = time.monotonic() + seconds
        asked = {agent: self.keepers[agent] for agent in agents if agent in self.keepers}
        paused = {agent: pause for agent, keeper in asked.items() if (pause := keeper.pause)}
        answers = {
            agent: keeper.submit(lambda actor, _: actor.observe())
            for agent, keeper in asked.items()
            if not (keeper.is_over or agent in paused)
        }
        seen = {agent: _paused(pause) for agent, pause in paused.items()}
        return seen | {agent: found for agent, answer in answers.items() if (found := _result(answer, until))}

    def do(self, name: str, words: Json) -> Any:
        """As a command that may do it would have it done."""
        return verb.do(self, name, words)

    def _answer(self, name: str, words: Json, pid: int) -> Any:
        return verb.run(self, name, words, pid)

    def _finish(self) -> None:
        """Every watch and every keeper, which lets go of its agent; then the room."""
        self.watches.finish()
        with self._guard:
            for keeper in self.keepers.values():
                keeper.stop()
            for keeper in self.keepers.values():
                keeper.join(_END)
        log.note("ended")
        self.room.close()
        self._instance.close()


def _spans(room: LocalRoom) -> "Spans":
    from postroom.daemon.spans import Spans  # noqa: PLC0415 - only who traces

    return Spans(room)


def _paused(words: str) -> Observation:
    return Observation(Doing.GONE, words, "offline", at=wall())


def _result(answer: "Future[Observation]", until: float) -> Observation | None:
    try:
        return answer.result(max(0.0, until - time.monotonic()))
    except (PostroomError, TimeoutError):
        answer.cancel()  # else it would be looked for nobody
        return None


def serve(home: str) -> None:
    """Be the daemon of a room until a signal says otherwise."""
    daemon = Daemon(home)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, daemon.end)
    daemon.run()
