"""Journals that nobody writes: where no daemon runs, a command that finds them far behind writes some of what
is missing when its own work is done and confirmed.

`Premises.has_overdue_journals` says whether they are, and loads nothing. What takes long is left to
`postroom journal`: mending what a crash of the machine left, taking back, compressing.
"""

import time
from typing import TYPE_CHECKING

from postroom.home import daemon

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

MOST = 0.020  # seconds, about: what is begun is finished, and a file that is full is closed
_PAGE = 100  # events, so many that one is written in much less
_SMALL = 1 << 18  # bytes of open journals that are compared with the store in that time


def write_overdue(room: "LocalRoom") -> str:
    """Write journals that are overdue, for about `MOST` seconds; why that failed, if it did."""
    return "" if room.store.readonly or daemon(room.home) else _write(room)


def _write(room: "LocalRoom") -> str:
    from postroom import errors  # noqa: PLC0415 - rarely
    from postroom.room import journal  # noqa: PLC0415

    until = time.monotonic() + MOST
    try:
        with room.store.hurried():
            while journal.is_simple(room, _SMALL) and journal.extend(room, _PAGE).left:
                if time.monotonic() > until:
                    break
    except errors.StoreBusy:
        return ""  # who writes now is followed by another command
    except errors.PostroomError as exc:
        return str(exc)
    return ""
