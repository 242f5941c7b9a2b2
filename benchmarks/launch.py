"""Whole processes, timed from spawn to exit, as cheaply as Python can: by posix_spawn."""

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
    stdout: str = os.devnull
    before: Callable[[], object] | None = None
    """What must be done before it and its reference are run, and is not timed."""

    @property
    def is_kept(self) -> bool:
        """Whether somebody reads what it prints."""
        return self.stdout != os.devnull


def seconds(launch: Launch) -> float:
    """Wall time of one run, which must succeed."""
    written = os.O_WRONLY | (os.O_CREAT | os.O_TRUNC if launch.is_kept else 0)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, launch.stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, launch.stdout, written, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    start = time.perf_counter()
    pid = os.posix_spawn(launch.arguments[0], launch.arguments, launch.environment, file_actions=streams)
    _, status = os.waitpid(pid, 0)
    spent = time.perf_counter() - start
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{launch.label} ended with {code}")
    return spent
