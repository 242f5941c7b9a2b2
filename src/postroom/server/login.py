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
from postroom.room import token

ONCE = 60.0  # seconds in which a link must be opened
LASTS = 30 * 86_400_000  # milliseconds of a session
_MOST = 100  # links that nobody has opened


class Session(NamedTuple):
    """Somebody in a browser."""

    person: str  # by id
    began_at: int


class _Link(NamedTuple):
    person: str  # by id
    until: float
    tokens: frozenset[str]  # by digest: those of that person when it was given out


class Links:
    """Links that were given out and not yet opened. They end with the daemon, and when a token of whose they
    are is revoked: whoever had that may have asked for one.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._open: dict[str, _Link] = {}  # by digest
        self._guard = threading.Lock()

    def make(self, person: str, *, by: str = "", lasts: float = ONCE) -> str:
        """The secret of a new link, which must be opened within so many seconds. `by` is the digest of the
        token that asked for it, which may have been revoked since it was looked at.
        """
        secret = secrets.token_urlsafe(24)
        theirs = {one.digest for one in token.issued(self._home) if one.agent == person}
        tokens = frozenset(theirs | {by} if by else theirs)
        with self._guard:
            self._forget()
            self._open[_digest(secret)] = _Link(person, time.monotonic() + lasts, tokens)
        return secret

    def take(self, secret: str) -> str:
        """Whose link that is; it is worth nothing any more. Empty: nobody's."""
        with self._guard:
            self._forget()
            link = self._open.pop(_digest(secret), None)
        is_good = link is not None and all(token.kept(self._home, one) for one in link.tokens)
        return link.person if link is not None and is_good else ""

    def _forget(self) -> None:
        now = time.monotonic()
        live = [(key, one) for key, one in self._open.items() if one.until > now]
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


def lasting(home: str, person: str) -> int:
    """How many sessions somebody has."""
    found = (_read(_path(home, name)) for name in _names(home))
    return sum(1 for one in found if one is not None and one.person == person)


def forget(home: str, person: str = "") -> int:
    """End all sessions, or those of one person; how many that were."""
    ended = 0
    for name in _names(home):
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


def _names(home: str) -> list[str]:
    try:
        return os.listdir(_path(home))
    except FileNotFoundError:
        return []


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
