"""What all who work at one mailbox share: the room as its agent speaks in it, its shelf, its context."""

from postroom import label
from postroom.bridges.files.shelf import Shelf
from postroom.config import Settings
from postroom.errors import UnknownAgent
from postroom.model.context import session_id
from postroom.model.message import Agent, Session
from postroom.room.identity import MAILBOX, Evidence, Witness
from postroom.room.local import LocalRoom

ROUTE = "files"
HOLDER = "0"  # who has what lies in an inbox: no process, so that no end of one gives it back


class Box:
    """One agent's."""

    def __init__(self, room: LocalRoom, agent: str, shelf: Shelf, own_tree: str = "") -> None:
        """`room`: any, of which the agent's own view is made; `agent`: its id; `own_tree`: the tree that the
        room is in, whose directories are all the addresses there are; empty: it is in none.
        """
        self.shelf, self.own_tree = shelf, own_tree
        self.id = agent
        self.session: Session | None = None  # as of now
        evidence = Evidence(agent, session_id(ROUTE, agent), ROUTE, MAILBOX, "")
        self.project = self._find(room).project  # which it never leaves
        self.room = room.on_behalf(None, self.project, Witness("", evidence), _own)

    @property
    def agent(self) -> Agent:
        """As it is called now."""
        return self._find(self.room)

    def _find(self, room: LocalRoom) -> Agent:
        found = room.store.look().agent(self.id)
        if found is None:
            raise UnknownAgent(f"there is no agent any more whose mailbox is {self.shelf.place}")
        return found


def _own(settings: Settings) -> Settings:
    """A mailbox has a rate of its own."""
    return settings._replace(sender_rate=settings.mailbox_rate)


def step(name: str) -> None:
    """A place where a process may die, for tests."""
    if label.armed:
        label.here(name)
