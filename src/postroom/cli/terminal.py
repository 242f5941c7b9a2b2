"""The terminal that somebody names on the command line: an agent's, or any pane of tmux."""

import re
from typing import TYPE_CHECKING, NamedTuple

from postroom.cli.output import clean
from postroom.errors import BridgeError

if TYPE_CHECKING:
    from postroom.bridges.manifest import Manifest
    from postroom.bridges.tmux.server import Target
    from postroom.cli.context import Context
    from postroom.model.message import Agent

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")
_HINT = "Take it over first: postroom adopt PANE; or read a pane: postroom screen %3"


class Named(NamedTuple):
    """What a name means."""

    name: str
    agent: "Agent | None" = None  # None: it is a pane's name
    manifest: "Manifest | None" = None  # of an agent that a bridge reaches
    pane: "Target | None" = None

    @property
    def there(self) -> "Target":
        if self.pane is None:
            raise BridgeError(f"no pane of tmux is known in which {self.name} runs", hint=_HINT)
        return self.pane

    @property
    def runtime(self) -> str:
        return self.manifest.runtime if self.manifest else ""


def named(name: str, context: "Context") -> Named:
    """A pane by its name, or an agent with the pane in which its bridge or its hooks have found it."""
    from postroom.bridges.tmux.place import find, is_pane

    if is_pane(name):
        place = find(name)
        return Named(place.name, pane=place.target)
    from postroom.bridges import manifest
    from postroom.bridges.tmux.server import target
    from postroom.room.seat import is_live

    room = context.room()
    agent = room.known(name)
    known = manifest.get(room.home, agent.id)
    sessions = [one for one in room.store.look().sessions(agent.id) if one.pane and is_live(one)]
    pane = (known.pane if known else "") or next((one.pane or "" for one in sessions), "")
    return Named(agent.called, agent, known, target(pane) if pane else None)


def harmless(text: str) -> str:
    """What a terminal has shown, for another: of all that is no text only colours stay."""
    parts = _COLOUR.split(text)
    return "".join(part if at % 2 else clean(part) for at, part in enumerate(parts))
