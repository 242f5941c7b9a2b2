"""The mark in an inbox, by which the one that is served is known from another that takes its place.

An inbox may be moved away, and an older copy of it put there, mark and all: then what lies there no longer
was not taken by anybody. So beside the room is noted what the mark says, and what it is: a copy is another
file. On a shelf that cannot tell that, the mark says something new whenever letters were put beside it, and a
copy from before says what it said then.
"""

import contextlib
import os

from postroom import host
from postroom.bridges.files import note
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.errors import InvalidLetter

_KIND = "inboxes"
_LARGEST = 100  # bytes


class Mark:
    """That of one agent's inbox. Calls may raise `FileNotFoundError`, or a `BridgeError`."""

    def __init__(self, home: str, agent: str, shelf: Shelf) -> None:
        self._home, self._agent, self._shelf = home, agent, shelf
        self._known = _noted(home, agent)  # what it says, and what it is

    def boot(self) -> str:
        """When this machine was started as it was written; empty where it does not say."""
        return self._says().partition(".")[0]

    def is_same(self) -> bool:
        """Whether it is the one that was put there last, and its inbox the one where that was."""
        try:
            return bool(self._known[0]) and self._known == (self._says(), self._shelf.identity())
        except FileNotFoundError:
            return False

    def ask_again(self) -> None:
        """Another carrier may have put one there."""
        self._known = _noted(self._home, self._agent)

    def put(self) -> None:
        """Another one, that says what none has said. If it cannot be noted, the next carrier knows none."""
        says = f"{host.boot()}.{os.urandom(8).hex()}"
        self._shelf.write(Folder.INBOX, MARK, says.encode())
        self._known = says, self._shelf.identity()
        with contextlib.suppress(OSError):
            note.put(self._home, _KIND, self._agent, {"says": says, "identity": self._known[1]})

    def _says(self) -> str:
        try:
            return self._shelf.read(Folder.INBOX, MARK, _LARGEST).data.decode(errors="replace")
        except InvalidLetter:
            return ""


def forget(home: str, agent: str) -> None:
    """Its inbox is served no longer."""
    note.remove(home, _KIND, agent)


def _noted(home: str, agent: str) -> tuple[str, str]:
    facts = note.get(home, _KIND, agent)
    return str(facts.get("says", "")), str(facts.get("identity", ""))
