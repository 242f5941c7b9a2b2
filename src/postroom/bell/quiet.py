"""The quiet marker: while its time lies in the future, nothing can be due for an agent.

A hook tests it in the shell and starts Python only when it may not be trusted. The invariant, checked
by tests that kill at every labelled step: **a valid marker means nothing of that agent is due or offered.**

- `lift` inside the write transaction, after BEGIN IMMEDIATE and before COMMIT. Always safe.
- `lower` only after one's own change is committed, while holding the write lock in an otherwise empty
  transaction, and only when nothing is due or offered.
"""

import contextlib
import os
from collections.abc import Iterable

from postroom import config, host, label
from postroom.errors import StoreReadOnly

LONGEST = 3_600_000  # one hour, in milliseconds


class QuietMarkers:
    """The markers of a room, under `run/quiet/`."""

    def __init__(self, run: str) -> None:
        self._agents = os.path.join(run, "quiet", "a")
        self._sessions = os.path.join(run, "quiet", "s")
        self._life = config.beside(os.path.dirname(run), "life")

    def path(self, agent: str) -> str:
        return f"{self._agents}/{agent}"

    def lift(self, agents: Iterable[str]) -> None:
        """Withdraw the promise, to those above them too. Call with the write lock held, before the commit."""
        for agent in agents:
            if "." in agent:
                self.lift((agent.rpartition(".")[0],))
            if label.armed:
                label.here("before-lift")
            path = f"{self._agents}/{agent}"
            # Nobody lowers while we hold the lock, so asking first is safe, and cheaper than an exception.
            if os.access(path, os.F_OK):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def lift_all(self) -> None:
        """Withdraw every promise: for whatever writes deliveries outside the normal path."""
        with contextlib.suppress(FileNotFoundError):
            self.lift(os.listdir(self._agents))

    def lower(self, agent: str, until: int) -> None:
        """Promise quiet until a moment. Call with the write lock held and nothing due or offered."""
        try:
            host.private_directory(self._agents)
            temporary = f"{self._agents}/.{agent}.{os.getpid()}"
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(temporary, ns=(until * 1_000_000, until * 1_000_000))
            label.here("before-lower")
            os.replace(temporary, self.path(agent))
        except OSError as exc:
            raise StoreReadOnly(f"a quiet marker cannot be written: {exc}", path=self._agents) from exc

    def link(self, key: str, agent: str) -> None:
        """Let a session's hooks find their agent's marker, and have a place for their signs of life.

        A key that turns out to serve two agents tells nothing: its link then dangles for good.
        """
        for directory in (self._agents, self._sessions, self._life):
            host.private_directory(directory)
        path, target = f"{self._sessions}/{key}", f"../a/{agent}"
        try:
            os.symlink(target, path)
        except FileExistsError:
            if os.readlink(path) != target:
                temporary = f"{path}.{os.urandom(4).hex()}"
                os.symlink("../a/.shared", temporary)
                os.replace(temporary, path)

    def unlink(self, key: str) -> None:
        """A session is over: its hooks find no marker, and its signs of life mean nothing any more."""
        self.loosen(key)
        with contextlib.suppress(OSError):
            os.unlink(f"{self._life}/{key}")

    def loosen(self, key: str) -> None:
        """The session's hooks find no marker, and so always ask, until it is linked again."""
        with contextlib.suppress(OSError):
            os.unlink(f"{self._sessions}/{key}")

    def until(self, agent: str) -> int | None:
        """The moment until which quiet is promised, or None."""
        try:
            return os.stat(self.path(agent)).st_mtime_ns // 1_000_000
        except OSError:
            return None
