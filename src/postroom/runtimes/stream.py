"""How an agent is spoken to by lines of JSON, as data: what to say to it, and what its lines mean.

A runtime that can has a function `stream()` in its module.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from postroom.model.message import Json


class Sign(StrEnum):
    """What a line of an agent is to us."""

    NOTHING = "nothing"
    BEGUN = "begun"  # a turn
    TAKEN = "taken"  # a text, by its id: it stands in what the model is asked next
    ANSWERED = "answered"  # by the model itself, by the id of its answer
    ENDED = "ended"  # a turn
    FAILED = "failed"  # a turn, by an error of the API: no model has answered since
    ASKS = "asks"  # a person, by the id of the question
    ASKS_NO_MORE = "asks_no_more"
    STOPPED = "stopped"  # that it was told to stop, by the id of that


class Meaning(NamedTuple):
    """Of one line."""

    sign: Sign
    id: str = ""
    words: str = ""  # what people are shown of it
    details: str = ""  # of what it asks: what exactly it wants to do


class Stream(NamedTuple):
    """One runtime's stream."""

    arguments: tuple[tuple[str, ...], ...]  # what its command must have, each with its value
    say: Callable[[str, str], Json]  # a text, by an id
    stop: Callable[[str], Json]  # the turn, by an id
    read: Callable[[Json], Meaning]
    answer: Callable[[Json, bool], Json]  # a line that asks: yes, or no

    def missing(self, command: Sequence[str]) -> list[str]:
        """The arguments that a command does not have yet."""
        return [word for words in self.arguments if words[0] not in command for word in words]


def of(name: str) -> Stream | None:
    """The stream of a runtime; None if it has none."""
    import importlib  # noqa: PLC0415 - not where hooks run

    from postroom.runtimes import NAMES  # noqa: PLC0415

    if name not in NAMES:
        return None
    make = getattr(importlib.import_module(f"postroom.runtimes.{name}"), "stream", None)
    return make() if make else None
