"""The children of this process, by their agents: what `start` made is what `open` finds."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from postroom.bridges.contract import Berth, Launch
from postroom.bridges.process import brood
from postroom.errors import BridgeError


class Owned(Protocol):
    """A bridge to a child of ours."""

    @property
    def process(self) -> str: ...

    @property
    def is_gone(self) -> bool: ...

    def close(self) -> None: ...


_Owned = TypeVar("_Owned", bound=Owned)
_kept: dict[str, Owned] = {}
_starting: set[str] = set()
_guard = threading.Lock()


def refuse_second(launch: Launch) -> None:
    """An agent runs once. Of two that get past this at once, `keep` ends the second."""
    with _guard:
        _refuse_second(launch)


def _refuse_second(launch: Launch) -> None:
    if launch.agent in _starting or _runs(_kept.get(launch.agent)):
        raise _second(launch)


def _runs(owned: Owned | None) -> bool:
    return owned is not None and not owned.is_gone


def _second(launch: Launch) -> BridgeError:
    return BridgeError(
        f"{launch.address} is running already", hint=f"End it first: postroom stop {launch.address}"
    )


@contextmanager
def reserved(launch: Launch) -> Generator[None]:
    """An agent runs once: nobody else starts it meanwhile, however long that takes."""
    with _guard:
        _refuse_second(launch)
        _starting.add(launch.agent)
    try:
        yield
    finally:
        with _guard:
            _starting.discard(launch.agent)


def keep(launch: Launch, owned: Owned) -> Berth:
    """Remember a child for whoever opens the bridge to it, in place of one that has ended. Where it runs."""
    with _guard:
        earlier = _kept.get(launch.agent)
        is_second = _runs(earlier)
        if not is_second:
            _kept[launch.agent] = owned
    if is_second:
        owned.close()
        raise _second(launch)
    if earlier is not None:
        earlier.close()
    return Berth(
        launch.agent, launch.address, owned.process, runtime=launch.runtime, details=dict(launch.details)
    )


def find(berth: Berth, kind: type[_Owned]) -> _Owned:
    with _guard:
        owned = _kept.get(berth.agent)
    if not isinstance(owned, kind) or (berth.process and owned.process != berth.process):
        raise BridgeError(
            f"{berth.address} is no child of this process",
            hint="Whoever started it has ended, and it with them. Start it anew: postroom spawn",
            orphan=True,
        )
    return owned


def end(berth: Berth) -> None:
    """End what an earlier process of ours has left running there; `BridgeError` if it cannot be ended."""
    if not brood.end(berth.process):
        raise BridgeError(
            f"{berth.address} was left running by a daemon that was killed, and does not end",
            hint=f"End it yourself: process {berth.process.partition('.')[0]}",
        )


def let_go(owned: Owned) -> None:
    with _guard:
        for agent in [agent for agent, each in _kept.items() if each is owned]:
            del _kept[agent]
