"""What lies in the outboxes of workspaces (see `room/spool.py`), for who asks about the room."""

import os
from typing import NamedTuple

from postroom.model.message import AgentStatus
from postroom.room.spool import REJECTED, count, places


class Lying(NamedTuple):
    """What lies in one place."""

    path: str
    waiting: int
    rejected: int


def lying(agents: list[AgentStatus]) -> list[Lying]:
    """What lies in this workspace, and in those in which sessions run."""
    known = (str(sight.session.details.get("cwd") or "") for one in agents for sight in one.sessions)
    every = dict.fromkeys(place for cwd in (os.getcwd(), *filter(None, known)) for place in places(cwd))
    found = [Lying(place, count(place), count(place, REJECTED)) for place in every]
    return [one for one in found if one.waiting or one.rejected]
