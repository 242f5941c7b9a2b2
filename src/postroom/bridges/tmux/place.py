"""Panes by what people call them (`%3`, `work:1.0`), and what they show, whoever runs in them."""

import re
from typing import NamedTuple

from postroom.bridges.tmux.format import answers, asking
from postroom.bridges.tmux.server import Server, Target, at, is_over, own_socket, server_of, target
from postroom.errors import BridgeError, NotFound

_FACTS: tuple[str, ...] = (
    "pane_id", "pid", "session_name", "window_index", "window_name", "pane_index", "pane_active", "pane_dead",
    "pane_pid", "pane_pipe", "cursor_x", "cursor_y", "cursor_flag", "pane_width", "pane_height",
    "alternate_on", "pane_current_command",
)  # fmt: skip
_NOT_PANES = ("human", "topic", "one")
_ELSEWHERE = "See who runs where: postroom agents"
_HINT = "See them: tmux list-panes -a"


class Place(NamedTuple):
    """A pane that is there now."""

    target: Target
    facts: dict[str, str]

    @property
    def name(self) -> str:
        """`work:1.0`, as people name it."""
        return "{session_name}:{window_index}.{pane_index}".format_map(self.facts)

    @property
    def root(self) -> int:
        """The process that tmux started there."""
        return int(self.facts["pane_pid"] or 0)

    @property
    def is_piped(self) -> bool:
        return self.facts["pane_pipe"] == "1"


def is_pane(name: str) -> bool:
    """Whether this is the name of a pane, and not of an agent or a person."""
    head, colon, _ = name.partition(":")
    return name.startswith("%") or (bool(colon) and head not in _NOT_PANES)


def find(name: str, server: Server | None = None) -> Place:
    """The pane that somebody names: `%3`, `work:1.0`, `work:logs`, or as we write it, with its server.

    A name means one pane exactly; tmux itself would take the beginning of one.
    """
    if "@" in name:
        return standing(target(name))
    wanted = re.fullmatch(r"(?P<session>[^:]*):(?P<window>.*?)(?:\.(?P<pane>\d+))?", name)
    found = [
        place
        for place in every(server or Server(own_socket()))
        if (place.target.id == name if wanted is None else _fits(place.facts, wanted.groupdict()))
    ]
    if not found:
        raise NotFound(f"there is no pane {name!r}", hint=_HINT)
    return found[0]


def _fits(facts: dict[str, str], wanted: dict[str, str | None]) -> bool:
    if facts["session_name"] != wanted["session"]:
        return False
    if wanted["window"] not in (facts["window_index"], facts["window_name"]):
        return False
    return facts["pane_index"] == wanted["pane"] if wanted["pane"] else facts["pane_active"] == "1"


def every(server: Server) -> list[Place]:
    """All panes of a server."""
    try:
        found = asked(server, _FACTS)
    except BridgeError:
        if server.run(["list-sessions", "-F", "#{session_id}"]):
            raise
        return []  # a server may outlive its last session, and has no word for it
    return [Place(where(server, facts), facts) for facts in found]


def asked(server: Server, facts: tuple[str, ...]) -> list[dict[str, str]]:
    """Facts of all panes of a server."""
    said = server.run(["list-panes", "-a", "-F", asking(facts)])
    try:
        return answers(said, facts)
    except ValueError as exc:
        raise BridgeError(f"tmux answered something else: {exc}") from None


def where(server: Server, facts: dict[str, str]) -> Target:
    """The pane that facts are of."""
    return Target(facts["pane_id"], server.socket, server_of(int(facts["pid"])))


def standing(pane: Target) -> Place:
    """A pane as it is now. `NotFound` if it is certainly gone; `BridgeError` if tmux does not answer."""
    if is_over(pane):
        raise NotFound(f"the tmux server of pane {pane.id} has ended", hint=_ELSEWHERE)
    for place in every(Server(pane.socket)):
        if place.target == pane:
            return place
    raise NotFound(f"pane {pane.id} has been closed", hint=_ELSEWHERE)


def captured(pane: Target, lines: int = 0, *, colour: bool = False, padded: bool = False) -> str:
    """What a pane shows, and so many lines that have scrolled away; `padded`: with its trailing blanks."""
    standing(pane)
    words = ["capture-pane", "-p", "-t", pane.id, *(("-e",) if colour else ()), *(("-N",) if padded else ())]
    if lines:
        words += ["-S", f"-{lines}"]
    text = at(pane, words)
    if not text:
        raise BridgeError(f"tmux shows nothing of pane {pane.id}")
    return text
