"""How far a session's transcript was read for its tools. Only who records them needs it."""

from typing import NamedTuple

from postroom.model.message import Json


class Reading(NamedTuple):
    """What the next who reads on must know."""

    path: str
    position: int  # in bytes
    calls: Json  # what has been found there
    is_open: bool = True  # whether there may be more
