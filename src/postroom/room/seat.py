"""Where a session runs, as its hook found it; and whether one still does."""

from typing import NamedTuple

from postroom import host
from postroom.model.context import is_main, is_part, session_id
from postroom.model.message import Json, Session
from postroom.runtimes import NAMES

BRIDGE = "bridge"  # in the details of the session of a bridge
TOOLS = "mcp"  # the runtime of a session of which only the agent's tools have told


class Terminal(NamedTuple):
    """A terminal that may show a session which a runtime's own server hosts."""

    process: str  # of the runtime's program there
    name: str  # POSTROOM_AGENT, where that was started
    token: str  # POSTROOM_TOKEN, likewise
    pane: str
    label: str  # the name of that pane
    is_read: bool  # whether its program has read a key lately, or that is not known


class Around(NamedTuple):
    """What surrounds a session that begins: who started it where."""

    name: str = ""  # POSTROOM_AGENT, where it was started
    token: str = ""  # POSTROOM_TOKEN, likewise
    pane: str = ""  # unique on this machine: `%3@SOCKET,SERVER`
    label: str = ""  # the name that the pane bears
    served: bool = False  # whether a server hosts it, which outlives the terminals it is shown in
    clients: tuple[str, ...] = ()  # these terminals, as far as they could be found: it is in one of them
    terminals: tuple[Terminal, ...] = ()  # the same ones, where there are several


class Seat(NamedTuple):
    """Where a session runs."""

    runtime: str
    session: str  # the runtime's own id
    child: str  # the runtime's own id of a subagent; empty in the main conversation
    child_type: str
    process: str  # that hosts it
    cwd: str
    details: Json
    around: Around = Around()
    queued: frozenset[str] = frozenset()  # nonces of what the runtime's queue brings into its next context
    follows: bool = False  # whether it takes the place of another, which was cleared

    @property
    def id(self) -> str:
        return session_id(self.runtime, self.session, self.child)

    @property
    def main(self) -> "Seat":
        """That of the conversation, where this is a subagent's in it."""
        return self._replace(child="", child_type="")


def is_live(session: Session) -> bool:
    return session.ended_at is None and not host.is_gone(session.process) and not is_left(session)


def goes_on_elsewhere(session: Session, process: str) -> bool:
    """Whether it runs in another process than this one, and that can be seen from here to live."""
    return session.process != process and is_live(session) and not host.is_elsewhere(session.process)


def bears(session: Session) -> bool:
    """Whether it runs, and nobody else may have its agent's name: who only looks (`hook plain`) has not."""
    return session.runtime in (*NAMES, TOOLS) and not is_bridged(session) and is_live(session)


def is_bridged(session: Session) -> bool:
    """Whether it is no conversation that hooks have told of, but the terminal or process of a bridge."""
    return BRIDGE in session.details


def is_left(session: Session) -> bool:
    """Whether the server that hosts a session runs on, and no terminal in which it could be shown does."""
    clients = session.details.get("clients")
    return bool(clients) and all(map(host.is_gone, clients))


def followed(hosted: list[Session], seat: Seat) -> list[Session]:
    """Those of a process's conversations whose place the new one of a seat has taken."""
    if seat.around.served:
        return [one for one in hosted if is_followed(one, seat)]
    others = [one for one in hosted if one.id != seat.id and is_main(one.id) and one.ended_at is None]
    return others if seat.follows and len(others) == 1 else []


def is_followed(session: Session, seat: Seat) -> bool:
    """Whether a server shows the new conversation of a seat in the terminal that showed this one."""
    clients = session.details.get("clients") or ()
    alone = len(clients) == 1 and tuple(clients) == seat.around.clients
    return alone and not is_part(session.id, seat.id)
