"""Holds on the letters of a mailbox that lies in a depot."""

import contextlib
import threading
import time

from postroom.bridges.files.depot import Depot
from postroom.bridges.files.hold import FOLDER, LONGEST, is_ours
from postroom.errors import MailboxUnreachable

_BEAT = 15.0  # seconds between two signs of life of a holder
_SILENT = 60.0  # seconds after which one that gave none is gone


class Elsewhere:
    """In a depot. A holder lives while the file of its name says something new now and then.

    Whoever asks measures that by its own clock, from when it first saw what is said there.
    """

    def __init__(self, depot: Depot, pulse: Depot, mailbox: str) -> None:
        """`pulse`: another connection to the same depot, for the thread that tells that we live."""
        self._depot, self._pulse = depot, pulse
        self._folder = f"{mailbox}/{FOLDER}"
        self._heard: dict[str, tuple[bytes, float]] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, holder: str) -> None:
        self._depot.make(self._folder)
        self._depot.write(self._sign(holder), b"0")
        self._over.clear()
        self._thread = threading.Thread(target=self._live, args=(holder,), name="mailbox-pulse", daemon=True)
        self._thread.start()

    def _live(self, holder: str) -> None:
        beats = 0
        while not self._over.wait(_BEAT):
            beats += 1
            with contextlib.suppress(MailboxUnreachable, FileNotFoundError):
                self._pulse.write(self._sign(holder), str(beats).encode())

    def is_alive(self, holder: str) -> bool:
        try:
            said = self._depot.read(self._sign(holder), LONGEST)
        except FileNotFoundError:
            return False
        now = time.monotonic()
        before, since = self._heard.get(holder, (b"", now))
        if said != before:
            self._heard[holder] = (said, now)
            return True
        return now - since < _SILENT

    def names(self) -> list[str]:
        try:
            return [name for name in self._depot.names(self._folder) if name[0] != "."]
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str:
        try:
            return self._depot.read(f"{self._folder}/{name}", LONGEST).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def create(self, name: str, holder: str) -> bool:
        """A store may have made it, and been asked again because its answer was lost."""
        path = f"{self._folder}/{name}"
        try:
            made = self._depot.create(path, holder.encode())
        except FileNotFoundError:  # all of it went with the inbox
            self._depot.make(self._folder)
            self._depot.write(self._sign(holder), b"0")
            made = self._depot.create(path, holder.encode())
        return made or self.read(name) == holder

    def remove(self, name: str) -> None:
        self._depot.remove(f"{self._folder}/{name}")

    def end(self, holder: str) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(MailboxUnreachable):  # then its silence will tell
            self._depot.remove(self._sign(holder))

    def clear(self) -> None:
        """Whether a holder lives cannot be told at once; one that does makes anew what it needs."""
        try:
            for name in filter(is_ours, self._depot.names(self._folder)):
                self._depot.remove(f"{self._folder}/{name}")
        except FileNotFoundError:
            return
        self._depot.drop(self._folder)

    def forget(self) -> None:
        self._thread = None

    def close(self) -> None:
        self._depot.close()
        self._pulse.close()

    def _sign(self, holder: str) -> str:
        return f"{self._folder}/.{holder}"
