"""Ring files: what a runtime watches while it is idle, and what whoever sends touches after the commit.

There is one only while an agent has a session. One that is not empty cannot be watched by its session: it
says what must be called to wake it.
"""

import contextlib
import os
import time
from collections.abc import Iterable

from postroom import host


class RingFiles:
    """The ring files of a room, under `run/ring/`, by agent."""

    def __init__(self, run: str) -> None:
        self._directory = os.path.join(run, "ring")

    def path(self, agent: str) -> str:
        return f"{self._directory}/{agent}"

    def put(self, agent: str, content: str = "") -> str:
        """There is a session from now on; the path. A file that says the same stays, for who watches it."""
        host.private_directory(self._directory)
        path = self.path(agent)
        if not os.path.exists(path) or self.session(agent) != content:
            host.replace(path, content.encode())
        return path

    def session(self, agent: str) -> str:
        """Which session must be called to wake an agent; empty: none."""
        try:
            with open(self.path(agent), encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return ""

    def rung_at(self, agent: str) -> int:
        """When it was last rung, in nanoseconds since the epoch; another number for each time."""
        try:
            return os.stat(self.path(agent)).st_mtime_ns
        except OSError:
            return 0

    def all(self) -> list[tuple[str, int]]:
        """Return the agents that have one, and when each was last rung, as `rung_at` tells it."""
        rung: list[tuple[str, int]] = []
        with contextlib.suppress(OSError), os.scandir(self._directory) as found:
            for one in found:
                with contextlib.suppress(OSError):  # a session that ends meanwhile removes its own
                    if one.is_file():
                        rung.append((one.name, one.stat().st_mtime_ns))
        return rung

    def remove(self, agent: str) -> None:
        try:
            os.unlink(self.path(agent))
        except OSError:
            pass

    def has(self, agent: str) -> bool:
        return os.access(self.path(agent), os.F_OK)

    def touch(self, agents: Iterable[str]) -> dict[str, bool]:
        """Ring; who of them has one, and whether it must be called.

        Nothing is raised: what was committed has not failed.
        """
        woken: dict[str, bool] = {}
        for agent in agents:
            path = f"{self._directory}/{agent}"
            if not os.access(path, os.F_OK):  # as a rule: cheaper than an exception
                continue
            try:
                now = time.time_ns()  # the kernel's own clock for files has ticks of milliseconds
                os.utime(path, ns=(now, now))
                woken[agent] = os.stat(path).st_size > 0
            except OSError:
                pass
        return woken
