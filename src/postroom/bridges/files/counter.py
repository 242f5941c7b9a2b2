"""Where a program deals with its mailbox: what it needs of whoever carries there."""

import select
import time
from typing import Protocol

from postroom.bridges.files.hold import Place
from postroom.bridges.files.shelf import Shelf
from postroom.config import Settings
from postroom.model import address


class Counter(Protocol):
    """One mailbox, as its own program sees it."""

    settings: Settings

    def shelf(self) -> Shelf:
        """Another one for each thread."""
        ...

    def place(self) -> Place:
        """Where it is noted what is in hand."""
        ...

    def carry(self) -> None:
        """Bring what was written to whom it is for, and what is here for this one; if that is ours to do."""
        ...

    def descriptors(self) -> list[int]:
        """What tells, besides the shelf, that there is something to carry."""
        ...

    def pause(self) -> float:
        """In how many seconds to carry again, whatever that tells."""
        ...

    def close(self) -> None: ...


def wait(descriptors: list[int], seconds: float) -> list[int]:
    """Sleep until one of these is readable, or so long; those that are."""
    if not descriptors:
        time.sleep(seconds)
        return []
    if not hasattr(select, "poll"):
        return select.select(descriptors, (), (), seconds)[0]
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    return [one for one, _ in poll.poll(1000 * seconds)]


def can_be_named(name: str) -> bool:
    """Whether an agent can have that name, in just these letters."""
    return address.is_name(name) and address.name(name) == name
