"""What the daemon last saw of an agent whose bridge it watches, one small file each; beside the room.

It looks only while mail waits, or somebody asks: so a glance says when it was, and counts for nothing once
the process that wrote it is gone.
"""

import json
import os
from typing import NamedTuple

from postroom import config, host

_FOLDER = "glance"


class Glance(NamedTuple):
    """One look at an agent."""

    doing: str  # of `postroom.bridges.contract.Doing`
    words: str  # on what that rests
    reason: str  # why its mail is not pushed now; empty: it may be
    at: int
    by: str  # the process that looked
    instead: str = ""  # why it is not reached by a better route
    unsent: str = ""  # why something that it has written waits


def put(home: str, agent: str, glance: Glance) -> None:
    """Never raises: a disk that is full must not keep mail from being delivered."""
    path = config.beside(home, _FOLDER, agent)
    try:
        host.private_directory(config.beside(home, _FOLDER))
        host.replace(path, json.dumps(glance._asdict()).encode())
    except OSError:
        pass


def forget(home: str, agent: str) -> None:
    """What was seen of an agent is no longer so."""
    try:
        os.unlink(config.beside(home, _FOLDER, agent))
    except OSError:
        pass


def get(home: str, agent: str) -> Glance | None:
    """The latest, if who looked is still there to look again."""
    found = last(home, agent)
    return None if found is None or host.is_gone(found.by) else found


def last(home: str, agent: str) -> Glance | None:
    """The latest, whoever has looked."""
    try:
        with open(config.beside(home, _FOLDER, agent), encoding="utf-8") as file:
            return Glance(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None
