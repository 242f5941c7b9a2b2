"""The inbox of a member of a team of Claude Code: a file with an array, which its owner empties as it reads.

Nothing documents it. Seen in version 2.1.325: whoever writes makes the directory `<inbox>.lock`, reads the
array, puts a new file in the place of the old one, and removes the directory again; a lock that nobody has
touched for ten seconds is nobody's. What is not signed by the team itself is shown to it as unverified.
"""

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from postroom import host
from postroom.bridges.team.roster import document
from postroom.clock import iso, wall
from postroom.errors import BridgeError
from postroom.model.ids import uuid7
from postroom.model.message import Json

SENDER = "postroom"
_STALE = 10.0  # seconds after which the CLI takes a lock for abandoned
_PATIENCE, _PAUSE = 1.0, 0.01  # seconds


class Inbox:
    """One such file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def unread(self) -> list[str]:
        """The ids of what lies there and was not read. `BridgeError` if that is not what it should be."""
        return [str(one.get("msg_id") or "") for one in self._entries() if one.get("read") is not True]

    def put(self, text: str, begun: Callable[[], None]) -> str:
        """Add a text, and call `begun` before the first byte; its id. `BridgeError`: nothing was written."""
        with self._locked() as holds:
            entries, new = self._entries(), uuid7()
            entries.append({
                "from": SENDER, "text": text, "timestamp": iso(wall()), "msgV": 1, "msg_id": new,
                "type": "message", "read": False,
            })  # fmt: skip
            data = json.dumps(entries, indent=2, ensure_ascii=False).encode(errors="backslashreplace")
            if not holds():
                raise BridgeError("the lock of its inbox was lost")
            begun()
            host.replace(self._path, data, self._mode())
        return new

    def _mode(self) -> int:
        try:
            return os.stat(self._path).st_mode & 0o777
        except OSError:
            return 0o600

    def _entries(self) -> list[Json]:
        if not os.path.lexists(self._path):
            return []
        found: Any = document(self._path)
        entries = cast("list[Any]", found) if isinstance(found, list) else [None]
        if not all(isinstance(one, dict) for one in entries):
            raise BridgeError("its inbox is not as this version of Claude Code has it")
        return cast("list[Json]", entries)

    @contextmanager
    def _locked(self) -> Generator[Callable[[], bool]]:
        """Within, the CLI does not write there; the result tells whether that is still so."""
        lock, began = f"{self._path}.lock", time.monotonic()
        os.makedirs(os.path.dirname(lock), 0o700, exist_ok=True)
        while not _made(lock):
            if time.monotonic() - began > _PATIENCE:
                raise BridgeError("its inbox is locked")
            time.sleep(_PAUSE)
        taken, held = os.stat(lock).st_mtime_ns, time.monotonic()

        def holds() -> bool:
            try:
                return time.monotonic() - held < _STALE / 2 and os.stat(lock).st_mtime_ns == taken
            except OSError:
                return False

        try:
            yield holds
        finally:
            if holds():
                os.rmdir(lock)


def _made(lock: str) -> bool:
    """Whether the lock is ours now. One that was abandoned is removed, as the CLI itself does."""
    try:
        os.mkdir(lock)
    except FileExistsError:
        try:
            if time.time() - os.stat(lock).st_mtime > _STALE:
                os.rmdir(lock)
        except OSError:
            pass  # another was quicker
        return False
    except OSError as exc:
        raise BridgeError(f"its inbox cannot be written: {exc.strerror}") from None
    return True
