"""How an agent ended, and the time until it is started again."""

import signal
import time
from typing import NamedTuple

from postroom.bridges.contract import Bridge, Way
from postroom.bridges.manifest import Manifest
from postroom.errors import PostroomError
from postroom.model.message import Json
from postroom.room import berth
from postroom.room.local import LocalRoom

_MOMENT, _PAUSE = 2.0, 0.02  # seconds in which the end of a child is known to who listens to it


class Break(NamedTuple):
    """An agent has ended, and is started again."""

    until: float  # on the monotonic clock
    ends: int  # in a row
    code: int | None  # how the last of them was

    def __str__(self) -> str:
        left, (code, signal) = max(0.0, self.until - time.monotonic()), facts(self.code).values()
        times = "once" if self.ends == 1 else f"{self.ends} times"
        how = f", {signal}" if signal else "" if code is None else f", exit {code}"
        when = f"starts again in {left:.0f} s" if left else "is being started again"
        return f"{when}; ended {times}{how}"


def facts(code: int | None) -> Json:
    """How an agent ended, as the log has it."""
    if code is None or code >= 0:
        return {"exit_code": code, "signal": None}
    names = {one.value: one.name for one in signal.Signals}
    return {"exit_code": None, "signal": names.get(-code, str(-code))}


def found_out(room: LocalRoom, manifest: Manifest, way: Way) -> int | None:
    """How an agent ended that was found gone; None where nobody can tell any more."""
    if manifest.exit_code is not None:
        return manifest.exit_code  # as an earlier daemon saw it
    try:
        bridge = way.open(manifest.berth)
    except PostroomError:
        return None
    try:
        return _last_heard(room, manifest.agent, bridge)
    finally:
        bridge.close()


def _last_heard(room: LocalRoom, agent: str, bridge: Bridge) -> int | None:
    """What it said before it could be listened to is noted."""
    until = time.monotonic() + (_MOMENT if bridge.capabilities().owned else 0.0)
    while True:
        for heard in bridge.receive():
            if heard.text:
                berth.said(room, agent, (heard.stream, heard.text))
            if heard.exit_code is not None:
                return heard.exit_code
        if time.monotonic() >= until:
            return None
        time.sleep(_PAUSE)
