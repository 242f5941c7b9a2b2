"""The daemon: keeps a keeper for each agent that a bridge reaches, sweeps, and answers commands.

What is to run is what the manifests say; what has happened is in the room. So it can be killed at any moment,
and the next one goes on from there.
"""

import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TextIO

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Doing, Observation
from postroom.bridges.manifest import Manifest
from postroom.clock import wall
from postroom.daemon import log, verb
from postroom.daemon.closing import Stage, close
from postroom.daemon.control import EDITION, Server
from postroom.daemon.instance import Instance
from postroom.daemon.journals import Journals
from postroom.daemon.keeper import Keeper
from postroom.daemon.renewal import Renewal
from postroom.daemon.reseat import Reseat
from postroom.daemon.sweep import Sweep
from postroom.daemon.trees import Trees
from postroom.daemon.watcher import Watches
from postroom.daemon.web import Web
from postroom.errors import PostroomError, StoreNewer, UnknownAgent
from postroom.model.message import Json
from postroom.room import reserve
from postroom.room.local import LocalRoom

if TYPE_CHECKING:
    from postroom.daemon.spans import Spans

_TICK = 2.0  # seconds between two sweeps
_END = 10.0  # seconds for one keeper to end, or for all
# Seconds for each stage of an end, all together less than `control.ENDS`.
_COMMANDS, _WEB, _WATCHES, _AGENTS, _ROOM, _SPANS, _JOURNALS = 2.0, 6.0, 3.0, _END, 1.0, 1.0, 5.0
_FILES = 8192  # each client of the relay has two open, and as many as `haste.MOST_NEW` may come at once
_AT_REST = 1_000_000_000  # nanoseconds: two changes in one tick of a file system's clock bear the same time


class Daemon:
    """One room's. `run` returns when it was told to end."""

    def __init__(self, home: str, shown: TextIO | None = None) -> None:
        """`shown`: where its log can be seen, beside the file."""
        self._instance = Instance(home)
        settings, declared = config.load(home)
        log.begin(home, settings, shown)
        self.home = home
        self.room = LocalRoom(home, settings, declared=declared)
        self.room.store.share()
        self.keepers: dict[str, Keeper] = {}
        self.environments: dict[str, dict[str, str]] = {}  # with which agents were started here, by id
        self._seen = -1  # the manifests, as of then
        self._version: int | None = None  # of the room, as of then
        self.watches = Watches(self.room)
        self.since = wall()
        self._sweep = Sweep(self.room)
        self._reseat = Reseat(home)
        self.trees = Trees(self.room)
        self.web = Web(self)
        self.renewal = Renewal(self)
        self.journals = Journals(self.room)
        self.spans = _spans(self.room) if settings.otel == "on" else None
        self._guard = threading.RLock()
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()  # a signal may ring in the midst of a ring
        self._ends = self._renews = False
        self._server: Server | None = None
        self._shut: set[str] = set()  # the doors that could not be put back
        self._trouble = ""  # what went wrong with the last tick

    def run(self) -> bool:
        """Whether all that had begun has ended; what has not is logged, and ends with the process."""
        log.note("began", process=host.identity(), edition=EDITION)
        self.reconcile()
        self.journals.start()
        if self.spans:
            self.spans.start()
        self.web.start()
        server = self._server = Server(self.home, self._answer)  # the last: who is answered finds all of it
        while not self._ends:
            self._pause()
            self._tick()
        return self._finish(server)

    def end(self, *_: object) -> None:
        self._ends = True
        self._rings.put(None)

    def renew(self, *_: object) -> None:
        """Read the config again, soon."""
        self._renews = True
        self._rings.put(None)

    def _pause(self) -> None:
        try:
            self._rings.get(timeout=_TICK)
        except queue.Empty:
            pass

    def _tick(self) -> None:
        """Whatever goes wrong in here is told once, and tried again with the next. Without a room, or with
        one that only a newer version can write, it is over.
        """
        try:
            self._look()
        except StoreNewer as exc:
            log.fail("the room is of a newer version, so it ends", error=exc)
            self.end()
        except Exception as exc:
            if self._trouble != (trouble := f"{type(exc).__name__}: {exc}"):
                log.fail("tick failed", error=exc)
            self._trouble = trouble
        else:
            if self._trouble:
                log.note("ticks again", after=self._trouble)
            self._trouble = ""

    def _look(self) -> None:
        """At the config, if that is wanted, and at all that rings no bell."""
        if self._renews:
            self._renews = False
            self.renewal.run()
        if not os.path.isdir(self.home) or self._has_lost_its_place():
            self.end()
            return
        if self._server is not None:
            self._mend("commands", self._server.mend)
        self._mend("page", self.web.mend)
        self.trees.look()
        changed = manifests.changed_at(self.home)
        lingers = any(keeper.is_stopping for keeper in self.keepers.values())
        if lingers or changed != self._seen or time.time_ns() - changed < _AT_REST:
            self.reconcile()
            self._seen = changed
        version = self.room.store.changed()
        if version != self._version:
            self.room.store.check()
        for keeper in list(self.keepers.values()):
            keeper.look_around()
            if version != self._version:
                keeper.look_into_room()
            if keeper.is_over and self._reseat.look(keeper.manifest):
                self._rings.put(None)
        if version != self._version:
            self.journals.look()
        self._version = version
        reserve.keep(self.room)
        for party in self._sweep.run(self.keepers):
            log.note("rung again", agent=party)

    def _mend(self, door: str, mend: Callable[[], bool]) -> None:
        """Sockets whose files were removed, or have others in their place, are reached by nobody."""
        try:
            if mend():
                log.warn("put its socket back", door=door)
            self._shut.discard(door)
        except OSError as exc:
            if door not in self._shut:
                log.fail("cannot put its socket back", door=door, error=exc)
            self._shut.add(door)

    def _has_lost_its_place(self) -> bool:
        """Whether another may be the room's daemon by now: who removed our lock has made room for one."""
        if self._instance.holds():
            return False
        log.warn("lost its lock, so it ends", process=host.identity())
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
            log.fail("cannot be kept", agent=manifest.address, error=exc)
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

    def _finish(self, server: Server) -> bool:
        """First who asks, then who is asked: nothing new comes in while what has begun is finished."""
        log.note("ends")
        is_done = close(
            [
                Stage("commands", server.close, _COMMANDS),
                Stage("web", self.web.stop, _WEB),
                Stage("watches", self.watches.finish, _WATCHES),
                Stage("agents", self._let_go, _AGENTS + _ROOM),
                *([Stage("spans", self.spans.stop, _SPANS)] if self.spans else []),
                Stage("journals", self.journals.stop, _JOURNALS),
                Stage("room", self.room.close, _ROOM),
            ]
        )
        log.note("ended")
        self._instance.close()
        return is_done

    def _let_go(self) -> str:
        """Every keeper lets go of its agent; who could not in time."""
        with self._guard:
            for keeper in self.keepers.values():
                keeper.stop()
            until = time.monotonic() + _AGENTS
            late = [one for one in self.keepers.values() if not one.join(max(0.0, until - time.monotonic()))]
        return ", ".join(one.manifest.address for one in late)


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


def serve(home: str, shown: TextIO | None = None) -> None:
    """Be the daemon of a room until a signal says otherwise; the second such ends it at once."""
    host.allow_files(_FILES)
    daemon = Daemon(home, shown)
    is_at_terminal = shown is not None and shown.isatty()
    told: list[int] = []

    def end(number: int, _: object) -> None:
        told.append(number)
        if len(told) > 1:
            log.warn("ended at once", signal=signal.Signals(number).name)
            os._exit(128 + number)
        daemon.end()

    def renew(number: int, _: object) -> None:
        """Who closes the terminal that shows the log ends the daemon by that, as any program there."""
        if is_at_terminal and not host.has_terminal():
            end(number, None)
        else:
            daemon.renew()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    signal.signal(signal.SIGHUP, renew)
    if not daemon.run():
        os._exit(0)  # a thread that hangs would be waited for
