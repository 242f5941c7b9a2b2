"""Whether a conversation waits for a subagent whose events look like its own.

Kept as a few bytes in a file beside the store, one for each that began or ended, because they may run at
once. Whoever sees the turn begin or end knows that none runs, and forgets them.
"""

import os

from postroom import host


class Lent:
    """The note of one session."""

    def __init__(self, run: str, session: str) -> None:
        self._path = os.path.join(run, "lent", session.replace("/", "_"))

    def note(self, *, begins: bool) -> None:
        host.private_directory(os.path.dirname(self._path))
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, b"+" if begins else b"-")
        os.close(file)

    def is_lent(self) -> bool:
        try:
            with open(self._path, "rb") as file:
                notes = file.read()
        except OSError:
            return False
        return notes.count(b"+") > notes.count(b"-")

    def forget(self) -> None:
        try:
            os.unlink(self._path)
        except OSError:
            pass
