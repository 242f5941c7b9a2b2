"""By which of its routes an agent is reached: the best one whose canary holds, else the next.

A route that fails is tried again after longer and longer pauses, when something is to be done anyway. That
there is no such route (no server runs there) is nothing to tell; that one does not answer is.
"""

import time
from typing import NamedTuple

from postroom.bridges.contract import Bridge, Way
from postroom.bridges.manifest import Manifest
from postroom.bridges.registry import load
from postroom.errors import BridgeError
from postroom.model.context import own_id
from postroom.room import berth
from postroom.room.local import LocalRoom

_SESSION = "session"  # in the details of a berth
_FIRST, _LONGEST = 2.0, 60.0  # seconds before a route is tried again


class Route(NamedTuple):
    """How an agent is reached now."""

    manifest: Manifest  # with that route as its bridge
    bridge: Bridge
    instead: str = ""  # why it is not a better one; empty: there is none


class _Failure(NamedTuple):
    """A route that did not work when it was tried last."""

    words: str  # empty: it was not there
    pause: float
    at: float


class Routes:
    """Those of one agent. Used by one thread."""

    def __init__(self, room: LocalRoom, manifest: Manifest) -> None:
        self._room = room
        self._manifest = manifest
        self._failures: dict[str, _Failure] = {}

    def open(self, manifest: Manifest, way: Way) -> Route:
        """The best that works now, for an agent that is where its manifest says; at worst, `way`."""
        self._manifest = manifest
        better = self._open_best(manifest.routes)
        if better is not None:
            return better
        return Route(manifest, way.open(manifest.berth), self.instead)

    def better(self, than: str) -> Route | None:
        """One that is better than that, and works again."""
        names = self._manifest.routes
        return self._open_best(names[: names.index(than)] if than in names else names)

    def is_stale(self, route: Route) -> bool:
        """Whether its hooks have told of another conversation than the one that this route leads to."""
        if route.manifest.bridge not in self._manifest.routes:
            return False
        return self._told().get(_SESSION) != route.manifest.details.get(_SESSION)

    @property
    def instead(self) -> str:
        """Why the best is not used."""
        words = [failure.words for failure in self._failures.values() if failure.words]
        return words[0] if words else ""

    def fail(self, name: str, words: str) -> None:
        """That route does not work; `words` say why, where that is worth telling."""
        known, now = self._failures.get(name), time.monotonic()
        is_known = known is not None and now <= known.at + known.pause + _LONGEST
        pause = min(_LONGEST, known.pause * 2) if known and is_known else _FIRST
        self._failures[name] = _Failure(words or (known.words if known else ""), pause, now)

    def _open_best(self, names: list[str]) -> Route | None:
        for name in names:
            if self._is_due(name):
                try:
                    return self._open(name)
                except BridgeError as exc:
                    self.fail(name, "" if exc.facts.get("absent") else str(exc))
        return None

    def _is_due(self, name: str) -> bool:
        failure = self._failures.get(name)
        return failure is None or time.monotonic() >= failure.at + failure.pause

    def _open(self, name: str) -> Route:
        known = self._manifest
        there = known._replace(bridge=name, details={**known.details, **self._told()})
        bridge = load(name).open(there.berth)
        if failure := self._failures.get(name):  # it answers; whether it takes mail is not known yet
            self._failures[name] = failure._replace(words="")
        return Route(there, bridge)

    def _told(self) -> dict[str, str]:
        """Its conversation, where its hooks have told which that is."""
        carrier = berth.carrier(self._room.store.look(), self._manifest.agent)
        if carrier is None or carrier.runtime != self._manifest.runtime:
            return {}
        return {_SESSION: own_id(carrier.id)}
