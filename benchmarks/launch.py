"""Whole processes, timed from spawn to exit, as cheaply as Python can: posix_spawn, output thrown away."""

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Launch(NamedTuple):
    name: str
    label: str
    arguments: list[str]
    environment: Mapping[str, str]
    reference: str = ""
    """The name of the launch it is held against."""
    stdin: str = os.devnull
    before: Callable[[], object] | None = None
    """What must be done before each run, and is not timed."""


def seconds(launch: Launch) -> float:
    """Wall time of one run, which must succeed."""
    if launch.before is not None:
        launch.before()
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
    nowhere.append((os.POSIX_SPAWN_OPEN, 0, launch.stdin, os.O_RDONLY, 0))
    start = time.perf_counter()
    pid = os.posix_spawn(launch.arguments[0], launch.arguments, launch.environment, file_actions=nowhere)
    _, status = os.waitpid(pid, 0)
    spent = time.perf_counter() - start
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{launch.label} ended with {code}")
    return spent
