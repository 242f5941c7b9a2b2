"""How often mail has kept a turn from ending: an agent must come to an end of its work, too.

Three times in a row without a word of a person; then only urgent mail does, or ten minutes must pass. An idle
session that is woken is not counted. Kept in a file beside the store, written before the claim is
committed, and worth nothing after the session. It lies in a directory that is named by the key of the
session's hooks: while that is there, a prompt starts Python though quiet is promised, or nobody would learn
that a person has spoken.
"""

import os

from postroom import host
from postroom.model.message import Session

_IN_A_ROW = 3
_REST = 600_000  # milliseconds


class Stops:
    """The count of one session."""

    def __init__(self, run: str, session: Session) -> None:
        key = str(session.details.get("key") or "")
        self._path = os.path.join(run, "stops", key, session.id.replace("/", "_"))

    def may_go_on(self, now: int) -> bool:
        count, last = self._read()
        return count < _IN_A_ROW or not 0 <= now - last < _REST

    def count(self, now: int) -> None:
        count, last = self._read()
        host.private_directory(os.path.dirname(self._path))
        host.replace(self._path, f"{count + 1 if 0 <= now - last < _REST else 1} {now}".encode())

    def forget(self) -> None:
        """A person has said something, or the session is over."""
        try:
            os.unlink(self._path)
            os.rmdir(os.path.dirname(self._path))  # unless a subagent, or another session, has one here, too
        except OSError:
            pass

    def _read(self) -> tuple[int, int]:
        try:
            with open(self._path, encoding="ascii") as file:
                count, last = file.read().split()
            return int(count), int(last)
        except (OSError, ValueError):
            return 0, 0
