"""Keeps one agent's actor alive: a thread that steps it, starts it anew with back-off, does what is asked.

Whatever touches the agent's bridge is done by this thread, one thing after the other: the actor's steps, and
what others ask for in between.
"""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Answering, Attendant, Bridge, Carried, Doing, Way
from postroom.bridges.manifest import Manifest
from postroom.bridges.process.restart import Policy, restart
from postroom.bridges.registry import capabilities, load
from postroom.clock import wall
from postroom.daemon import ending
from postroom.daemon.actor import Actor, Deed
from postroom.daemon.doorbell import Doorbell
from postroom.daemon.errand import Errands, Job, result
from postroom.daemon.log import fail, note, warn
from postroom.daemon.questions import Questions
from postroom.daemon.route import Route, Routes
from postroom.errors import BridgeError, NotFound, Orphaned, PostroomError
from postroom.model.ladder import Reason
from postroom.room import berth, glance
from postroom.room.glance import Glance
from postroom.room.local import LocalRoom

_FIRST, _LONGEST = 0.5, 60.0  # seconds before a crashed actor is started again
_STEADY = 60.0  # seconds of life after which earlier crashes are forgotten
_REFUSALS = 3  # in a row, after which mail goes by the next route


class Keeper:
    """One agent's thread."""

    def __init__(self, room: LocalRoom, manifest: Manifest, env: dict[str, str]) -> None:
        self.manifest = manifest
        self._room = room
        self._env = env  # for what is started again
        self._way: Way = load(manifest.bridge)
        self._began, self._tries = time.monotonic(), 0  # how long it lives, and how often it was begun anew
        self._errands = Errands()
        self._bell = Doorbell(room.bell, manifest.agent)
        self._routes = Routes(room, manifest)
        self._route: Route | None = None  # by which it is reached
        self._next: Route | None = None  # by which it will be, once that is left
        self._told: tuple[str, bool] | None = None  # the last one that was noted
        self._bridge: Bridge | None = None  # to a child of ours: its actor may crash, and it lives on
        self._questions: Questions | None = None  # that were asked over it
        self._due: deque[Deed] = deque()  # what an actor that has crashed could not note
        self._guard = threading.Lock()  # over a manifest and its file, which are changed together
        self._ended: tuple[str, int | None] | None = None  # the last process that did, and how
        self._stopping = False
        self._over = False  # the agent has ended, and is not started again
        self._break: ending.Break | None = None
        self.crashes = 0
        self._has_crashed = False  # and no step has succeeded since
        self._thread = threading.Thread(target=self._run, name=manifest.address, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return self._over or not self._thread.is_alive()

    @property
    def pause(self) -> str:
        """When an agent that has ended is started again, and how it ended; empty: it runs, or is not."""
        return str(self._break or "")

    @property
    def health(self) -> str:
        """`running` while its agent is served, `crashed` while it cannot be; empty: the agent ended well."""
        if not (self._has_crashed or self._break is not None or self.is_over):
            return "running"
        has_ended_well = self._over and (self._ended is None or not self._ended[1])
        return "" if has_ended_well else "crashed"

    @property
    def instead(self) -> str:
        """Why its agent is not reached by the best of its routes; empty: it is, or there is none."""
        route = self._route
        return route.instead if route else ""

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def ring(self) -> None:
        self._bell.ring()

    def stop(self) -> None:
        self._stopping = True
        self.ring()

    def join(self, seconds: float) -> bool:
        """Whether its thread has ended by then."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def look_around(self) -> None:
        """The end of a process rings no bell, nor does that of a bell: who supervises asks now and then."""
        if not self.is_over and (host.is_gone(self.manifest.process) or self._bell.is_lost()):
            self.ring()

    def look_into_room(self) -> None:
        """As `look_around`, for who is deleted: asked when the room has changed."""
        if self._is_deleted():
            self._forget() if self.is_over else self.ring()

    def has_moved(self) -> bool:
        """Whether its agent is to be reached elsewhere, or no more, by what stands in its manifest now."""
        with self._guard:
            now = manifests.get(self._room.home, self.manifest.agent)
            return now is None or self.manifest._replace(address=now.address) != now

    def ask(self, job: Job) -> Any:
        """Have something done between two steps, and wait for what comes of it.

        `TimedOut` if that has not begun in time, and then it is not done later either.
        """
        return result(self.submit(job), self.manifest.address)

    def submit(self, job: Job) -> "Future[Any]":
        """As `ask`, without waiting."""
        if self.is_over:
            raise self._not_running()
        answer = self._errands.add(job, self.manifest.address)
        self.ring()
        return answer

    def _not_running(self) -> BridgeError:
        known, pause = self.manifest, self.pause
        if pause:
            return BridgeError(
                f"{known.address} is not running: it {pause}", hint="See who runs: postroom agents"
            )
        hint = f"Start it again: {known.again}" if known.is_ours else "See who runs: postroom agents"
        return BridgeError(f"{known.address} is not running", hint=hint)

    def _run(self) -> None:
        pause = _FIRST
        while not self._stopping and not self._over:
            began = time.monotonic()
            try:
                self._serve()
            except Exception as exc:
                if self._is_deleted():
                    break
                self.crashes += 1
                pause = _FIRST if time.monotonic() - began > _STEADY else pause
                fail("crashed", agent=self.manifest.address, error=exc, again_in=pause)
                self._has_crashed = True
                self._rest(pause, lambda exc=exc: exc)
                pause = min(_LONGEST, pause * 2)
        if not self._stopping and self._is_deleted():
            self._forget()
        self._errands.refuse(self._not_running())
        while self._route is not None:
            self._close()
        self._bell.close()

    def _is_deleted(self) -> bool:
        """Whether its agent is no longer in the room; no, where the room does not say."""
        try:
            return self._room.store.look().agent(self.manifest.agent) is None
        except PostroomError:
            return False

    def _forget(self) -> None:
        """Nothing is kept for who is in the room no longer, and its pane bears no name."""
        from postroom.bridges.adoption import unlabel  # noqa: PLC0415 - rarely

        self._over = True
        if manifests.get(self._room.home, self.manifest.agent) is None:
            return
        with self._guard:
            manifests.remove(self._room.home, self.manifest.agent)
        if self.manifest.pane:
            unlabel(self.manifest.pane)
        note("forgotten", agent=self.manifest.address)

    def _rest(self, seconds: float, why: Callable[[], Exception]) -> None:
        """Do nothing for so long, whoever rings; what is asked for meanwhile is refused."""
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            self._errands.refuse(why())
            self._bell.wait(left)
        self._errands.refuse(why())

    def _serve(self) -> None:
        if self._bridge is None and host.is_gone(self.manifest.process):
            self._has_ended(self._exit_code())
            return
        try:
            actor = self._live()
        except Orphaned:
            if self._bridge is not None:
                raise
            self._end_orphan()
            self._has_ended(-signal.SIGKILL)
            return
        if actor.has_ended:
            is_told = actor.exit_code is not None or not self.manifest.routes
            self._has_ended(actor.exit_code if is_told else self._exit_code())

    def _exit_code(self) -> int | None:
        if self._ended is not None and self._ended[0] == self.manifest.process:
            return self._ended[1]
        return ending.found_out(self._room, self.manifest, self._way)

    def _live(self) -> Attendant:
        """Step an actor until its agent has ended, or this is to end. A child of ours outlives its crash."""
        knows = self._bridge is not None
        route = self._route = self._route or self._routes.open(self.manifest, self._way)
        bridge = self._bridge = route.bridge
        if not knows or self._questions is None:
            self._questions = Questions(self._room, bridge)
        try:
            actor = self._carried(bridge) if isinstance(bridge, Carried) else self._stepped(route, knows)
        except BaseException:
            if not bridge.capabilities().owned or not self.manifest.process:
                self._close()
            raise
        self._questions.finish("the agent has ended" if actor.has_ended else "the agent was let go of")
        self._close()
        return actor

    def _stepped(self, route: Route, knows: bool) -> Attendant:
        """Others see and type in its terminal, where it has one, whatever brings its mail."""
        route.bridge.attend(self.ring)
        is_base = route.manifest.bridge == self.manifest.bridge
        ground = route.bridge if is_base else self._way.open(self.manifest.berth)
        actor = Actor(
            self._room, route.manifest, route.bridge, self._due, knows=knows, questions=self._questions,
            instead=route.instead, ground=ground,
        )  # fmt: skip
        self._tell_route(route)
        try:
            return self._attended(actor, ground, lambda: self._leaves(route, actor))
        finally:
            if not is_base:
                ground.close()

    def _carried(self, bridge: Carried) -> Attendant:
        """The same for a mailbox, which has somebody of its own, and tells by itself when it has changed."""
        bridge.attend(self.ring)
        carrier = bridge.carrier(self._room, self.manifest.agent)
        try:
            self._bell.watch(carrier.fileno())
            return self._attended(carrier, bridge)
        finally:
            self._bell.watch(-1)
            carrier.close()

    def _attended(
        self, actor: Attendant, bridge: Bridge, leaves: Callable[[], bool] = lambda: False
    ) -> Attendant:
        while not self._stopping and not actor.has_ended and not leaves():
            self._errands.do(actor, bridge)
            pause = actor.step()
            self._has_crashed = False
            if not actor.has_ended and self._errands.is_none:
                self._bell.wait(pause)
        return actor

    def _leaves(self, route: Route, actor: Actor) -> bool:
        """Whether its agent is to be reached by another route: this one fails, or a better one works again.

        Nothing is begun by another while it is open what became of what was handed over by this one, unless
        this one cannot tell any more.
        """
        bridge, name = route.bridge, route.manifest.bridge
        if isinstance(bridge, Answering) and (actor.has_stumbled or bridge.is_lost()):
            actor.has_stumbled = False
            flaps = self._routes.lose() if bridge.is_lost() else ""
            if words := flaps or bridge.canary():
                self._routes.fail(name, words)
                return True
        if not self.manifest.routes or actor.has_open():
            return False
        if isinstance(bridge, Answering) and actor.refusals >= _REFUSALS:
            self._routes.fail(name, f"its server takes no mail: {actor.refused}")
            return True
        if self._routes.is_stale(route):
            return True
        self._next = self._routes.better(name)
        return self._next is not None

    def _tell_route(self, route: Route) -> None:
        """Note it when an agent is reached otherwise than before."""
        now = route.manifest.bridge, bool(route.instead)
        before, self._told = self._told, now
        if now == before or (before is None and not route.instead):
            return
        facts = {"route": now[0], "instead_of": self.manifest.routes[0] if route.instead else None}
        with self._room.write() as tx:
            tx.append("agent.route", self.manifest.agent, payload={**facts, "words": route.instead})
        note("route", agent=self.manifest.address, **facts, words=route.instead)

    def _close(self) -> None:
        """Let go of what it is reached by; what comes next is open already."""
        route, self._route, self._next, self._bridge = self._route, self._next, None, None
        if route is not None:
            route.bridge.close()

    def _end_orphan(self) -> None:
        """It was the child of a daemon that was killed, and lives: nobody can reach it any more."""
        known = self.manifest
        words = "the daemon whose child it was has been killed, so it is ended"
        seen = Glance(Doing.GONE.value, words, Reason.OFFLINE.value, wall(), host.identity())
        glance.put(self._room.home, known.agent, seen)
        warn("orphan", agent=known.address, process=known.process)
        self._way.end(known.berth)
        glance.forget(self._room.home, known.agent)

    def _has_ended(self, code: int | None) -> None:
        """The agent is gone: started again where that was asked for, else its session is over."""
        known = self.manifest
        self._ended = known.process, code
        self._close()  # a route that was about to be taken
        agent = self._room.store.look().agent(known.agent)
        if agent is None:
            self._over = True  # and it is forgotten
            return
        pause = self._restarts_in(code)
        self._note_end(code, pause)
        berth.vacate(self._room, agent)
        if pause is None:
            self._remember(code)
            self._over = True
            return
        self._break = ending.Break(time.monotonic() + pause, self._tries, code)
        self._rest(pause, self._not_running)
        try:
            if not self._stopping:
                self._start_again()
        except NotFound as exc:  # where it ran is no more
            self._note_end(code, None, reason=str(exc))
            self._over = True
        self._break = None  # and not where that has failed: it is tried again

    def _remember(self, code: int | None) -> None:
        """For a later daemon: what has ended well is not taken for what went down with this one."""
        if code is None or not self.manifest.is_ours or self.has_moved():
            return
        with self._guard:
            self.manifest = self.manifest._replace(exit_code=code)
            manifests.put(self._room.home, self.manifest)

    def _note_end(self, code: int | None, again_in: float | None, **more: str) -> None:
        known = self.manifest
        with self._room.write() as tx:
            payload = {"bridge": known.bridge, **ending.facts(code), "again_in": again_in, **more}
            tx.append("agent.ended", known.agent, payload=payload)
        note("ended", agent=known.address, **ending.facts(code), again_in=again_in, **more)

    def _restarts_in(self, code: int | None) -> float | None:
        """Seconds until it is started again; None: it is not."""
        if not self.manifest.is_ours or self._stopping:
            return None
        lived = time.monotonic() - self._began
        is_child = capabilities(self.manifest.bridge).owned
        again = restart(Policy(self.manifest.restart), code, lived, self._tries, is_child=is_child)
        if again is None:
            return None
        self._tries = again.tries
        return again.delay

    def _start_again(self) -> None:
        known = self.manifest
        self._began = time.monotonic()
        begun = self._way.start(known.launch(self._env))  # which may take long: nobody is held up by it
        with self._guard:
            is_wanted = not self._stopping and manifests.get(self._room.home, known.agent) is not None
            if is_wanted:
                self.manifest = known.at(begun)
                manifests.put(self._room.home, self.manifest)
        if not is_wanted:  # it was let go of meanwhile
            self._way.open(begun).close()
            self._over = True
            return
        berth.started(self._room, known.agent, known.bridge, known.program)
        self._way.end(known.berth)
