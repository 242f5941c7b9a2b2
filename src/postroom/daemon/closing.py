"""Ending in order: one stage after the other, each for so long. What hangs is told, and holds up no other."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from postroom.daemon.log import detail, fail, warn


class Stage(NamedTuple):
    """One thing that is ended. `act` may say, in words, what it had to leave behind."""

    name: str
    act: Callable[[], str | None]
    seconds: float


def close(stages: Sequence[Stage]) -> bool:
    """Whether all of them have finished in time."""
    late = [stage for stage in stages if not _closed(stage)]
    return not late


def _closed(stage: Stage) -> bool:
    said: list[str] = []
    thread = threading.Thread(target=_act, args=(stage, said), name=f"end of {stage.name}", daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(stage.seconds)
    if thread.is_alive():
        warn("not ended in time", stage=stage.name, seconds=stage.seconds)
        return False
    if said:
        warn("not ended in time", stage=stage.name, seconds=stage.seconds, left=said[0])
    detail("ended", stage=stage.name, seconds=round(time.monotonic() - began, 3))
    return not said


def _act(stage: Stage, said: list[str]) -> None:
    try:
        if words := stage.act():
            said.append(words)
    except Exception as exc:
        fail("ended badly", stage=stage.name, error=exc)
