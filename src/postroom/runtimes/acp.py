"""How an agent is made to speak the Agent Client Protocol, as data.

A runtime that can has a function `acp()` in its module.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple


class Acp(NamedTuple):
    """One runtime's way to speak it: itself, when it is told to, or by an adapter."""

    word: str = ""  # the argument that tells it to
    also: tuple[str, ...] = ()  # others that do
    adapter: str = ""  # the program that speaks it instead
    package: str = ""  # in which that comes, by npm
    failed: str = ""  # a pattern of what it says itself at the end of a turn that no model answered

    def missing(self, command: Sequence[str]) -> list[str]:
        """What a command must have, too."""
        is_told = any(word in command for word in (self.word, *self.also))
        return [] if self.adapter or is_told else [self.word]

    def is_adapted(self, command: Sequence[str]) -> bool:
        """Whether a command runs the adapter."""
        return any(self.adapter in os.path.basename(word) or self.package in word for word in command)


def of(name: str) -> Acp | None:
    """How a runtime speaks it; None if it does not, or is not known."""
    import importlib  # noqa: PLC0415 - not where hooks run

    from postroom.runtimes import NAMES  # noqa: PLC0415

    if name not in NAMES:
        return None
    make = getattr(importlib.import_module(f"postroom.runtimes.{name}"), "acp", None)
    return make() if make else None
