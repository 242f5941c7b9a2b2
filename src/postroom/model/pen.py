"""Who may type into a terminal."""

from typing import NamedTuple


class Pen(NamedTuple):
    """A fenced lease on a terminal: whoever has an older fence has it no more."""

    fence: int
    holder: str | None  # a process, as `postroom.host.identity` names it; None: nobody
    until: int
