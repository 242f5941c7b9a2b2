"""What set-up makes beside the room, for all runtimes together; it goes with the last of them."""

import os
from collections.abc import Iterator

from postroom import config
from postroom.hooks import journal, program
from postroom.room.spool import OUTBOX
from postroom.runtimes import NAMES
from postroom.setup import file, record
from postroom.setup.plan import is_wired, target

_SESSIONS = ("life", OUTBOX)  # what the sessions' hooks leave


def directory(home: str) -> str:
    """Where all of it lies."""
    return os.path.dirname(program.path(home))


def is_needed(home: str) -> bool:
    """Whether any runtime is still wired to the room, as far as is known."""
    return any(record.every(home)) or any(
        is_wired(target(home, name, scope)) for name in NAMES for scope in ("user", "project")
    )


def clear(home: str) -> None:
    """Remove what is ours there; what somebody else has put there stays, and the directory with it."""
    for path in _files(home):
        file.delete(path)
    inner = [config.beside(home, name) for name in (*_SESSIONS, "setup", "plugin")]
    file.remove_directories([*inner, directory(home)])


def _files(home: str) -> Iterator[str]:
    log = journal.path(home)
    yield from (program.path(home), log, f"{log}.1")
    for folder in (config.beside(home, name) for name in _SESSIONS):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            yield os.path.join(folder, name)
