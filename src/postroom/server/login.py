"""People in browsers: a link that works once, and the session that it begins.

A session is a file beside the room, named by the digest of its secret: whoever reads it cannot log in with
it, and a daemon that starts anew knows it still.
"""

import hashlib
import os
import secrets
import threading
import time
from typing import NamedTuple

from postroom import config, host
from postroom.clock import wall

ONCE = 60.0  # seconds in which a link must be opened
LASTS = 30 * 86_400_000  # milliseconds of a session
_MOST = 100  # links that nobody has opened


class Session(NamedTuple):
    """Somebody in a browser."""

    person: str  # by id
    began_at: int


class Links:
    """Links that were given out and not yet opened. They end with the daemon."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}  # by digest: whose, and until when
        self._guard = threading.Lock()

    def make(self, person: str, *, lasts: float = ONCE) -> str:
        """The secret of a new link, which must be opened within so many seconds."""
        secret = secrets.token_urlsafe(24)
        with self._guard:
            self._forget()
            self._open[_digest(secret)] = person, time.monotonic() + lasts
        return secret

    def take(self, secret: str) -> str:
        """Whose link that is; it is worth nothing any more. Empty: nobody's."""
        with self._guard:
            self._forget()
            return self._open.pop(_digest(secret), ("", 0.0))[0]

    def _forget(self) -> None:
        now = time.monotonic()
        live = [(key, one) for key, one in self._open.items() if one[1] > now]
        self._open = dict(live[-_MOST:])


def begin(home: str, person: str) -> str:
    """A new session; its secret, which is kept nowhere else."""
    secret = secrets.token_urlsafe(32)
    host.private_directory(_path(home))
    host.replace(_path(home, _digest(secret)), f"{person} {wall()}\n".encode())
    return secret


def find(home: str, secret: str) -> Session | None:
    """Whose session that is, if it has not ended."""
    return _read(_path(home, _digest(secret)))


def forget(home: str, person: str = "") -> int:
    """End all sessions, or those of one person; how many that were."""
    try:
        names = os.listdir(_path(home))
    except FileNotFoundError:
        return 0
    ended = 0
    for name in names:
        kept = _read(_path(home, name))
        if kept is None or person in ("", kept.person):
            os.unlink(_path(home, name))
            ended += kept is not None
    return ended


def stamp(home: str) -> int:
    """Another one after every session that began or ended; cheap enough to be asked before each event."""
    try:
        return os.stat(_path(home)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _read(path: str) -> Session | None:
    try:
        with open(path, encoding="ascii") as file:
            person, began_at = file.read(200).split()
        found = Session(person, int(began_at))
    except (OSError, ValueError):
        return None
    return found if 0 <= wall() - found.began_at < LASTS else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def _path(home: str, *names: str) -> str:
    return config.beside(home, "logins", *names)
