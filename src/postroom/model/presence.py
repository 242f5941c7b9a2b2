"""What an agent's session does, as far as its last sign of life tells."""

from enum import StrEnum
from typing import NamedTuple

from postroom.model.message import Session


class Presence(StrEnum):
    """What a session does."""

    IDLE = "idle"
    BUSY = "busy"
    PERMISSION = "permission"  # it waits for a person's leave
    GONE = "gone"  # its process is, or the terminal that showed it
    UNKNOWN = "unknown"  # it runs, and left no sign


class Sight(NamedTuple):
    """One session as it can be seen from outside, and how that is known."""

    session: Session
    presence: Presence
    event: str  # its last one; empty: none was noticed
    since: int | None  # when that was
    title: str  # of its runtime
    wake: str  # how its runtime is woken when it is idle; empty: not at all
    proven: bool  # whether what its hooks show was ever proven to arrive
    because: str = ""  # on what it rests that it does so, where that is no event

    @property
    def is_live(self) -> bool:
        return self.presence is not Presence.GONE
