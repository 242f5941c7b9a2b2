"""Looks at panes: who looks while another look is under way is served by the next, all in one call."""

import secrets
import threading
import time
from typing import NamedTuple

from postroom.bridges.tmux.server import Server
from postroom.errors import BridgeError

_FACTS: tuple[str, ...] = (
    "pid", "pane_id", "pane_dead", "pane_pid", "pane_in_mode", "pane_synchronized", "cursor_x", "cursor_y",
    "pane_width", "pane_height", "alternate_on", "window_activity", "window_panes", "pane_tty",
    "@postroom_agent",
)  # fmt: skip
_FORMAT = "\t".join(f"#{{{fact}}}" for fact in _FACTS)
# What must still be so when a key is pressed: the same program, no mode, and nothing else on the screen.
_HELD = (
    "pane_dead", "pane_pid", "pane_in_mode", "pane_synchronized", "cursor_x", "cursor_y", "pane_width",
    "pane_height", "alternate_on",
)  # fmt: skip
_CLIENTS = "#{client_activity} #{pane_id}"


class Shot(NamedTuple):
    """One pane at one moment."""

    at: float  # on the monotonic clock, before it was taken
    facts: dict[str, str]
    text: str  # with its colours
    typed_at: int  # when a person last pressed a key there, in seconds since the epoch; 0: nobody has it open

    @property
    def condition(self) -> str:
        """A format that is true in tmux while the pane is still as it was."""
        values = " ".join(self.facts[fact] for fact in _HELD)
        return f"#{{==:{' '.join(f'#{{{fact}}}' for fact in _HELD)},{values}}}"


class Camera:
    """Takes the pictures of one server's panes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._wanted: set[str] = set()
        self._round = self._done = 0
        self._shots: dict[str, Shot | BridgeError] = {}
        self.calls = 0

    def look(self, pane: str) -> Shot:
        """A pane as it is after this was called."""
        with self._guard:
            self._wanted.add(pane)
            mine = self._round + 1
        with self._turn:
            if self._done < mine:
                self._take()
            shot = self._shots.get(pane) or BridgeError(f"no pane {pane}")
        if isinstance(shot, BridgeError):
            raise shot
        return shot

    def _take(self) -> None:
        with self._guard:
            wanted, self._wanted = sorted(self._wanted), set()
            self._round += 1
        self._shots = self._all(wanted)
        self._done = self._round

    def _all(self, panes: list[str]) -> dict[str, Shot | BridgeError]:
        try:
            return dict(self._shoot(panes))
        except BridgeError as exc:
            if len(panes) == 1:
                return {panes[0]: exc}
        return {pane: shot for one in panes for pane, shot in self._all([one]).items()}  # one of them is gone

    def _shoot(self, panes: list[str]) -> dict[str, Shot]:
        fence = f"postroom-{secrets.token_hex(8)}"
        words = ["list-clients", "-F", _CLIENTS]
        for pane in panes:
            words += [";", "display-message", "-p", fence, ";", "display-message", "-p", "-t", pane, _FORMAT]
            words += [";", "capture-pane", "-p", "-e", "-N", "-t", pane]
        began = time.monotonic()
        self.calls += 1
        clients, *parts = self._server.run(*words).split(f"{fence}\n")
        typed = _typed(clients)
        return {pane: _shot(began, part, typed) for pane, part in zip(panes, parts, strict=True)}


def _typed(clients: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in clients.splitlines():
        at, _, pane = line.partition(" ")
        found[pane] = max(found.get(pane, 0), int(at) if at.isdecimal() else 0)
    return found


def _shot(began: float, part: str, typed: dict[str, int]) -> Shot:
    head, _, text = part.partition("\n")
    facts: dict[str, str] = dict(zip(_FACTS, head.split("\t"), strict=True))
    return Shot(began, facts, text.removesuffix("\n"), typed.get(facts["pane_id"], 0))


_cameras: dict[str, Camera] = {}
_cameras_guard = threading.Lock()


def camera(server: Server) -> Camera:
    """The one camera of this process for a server."""
    with _cameras_guard:
        return _cameras.setdefault(server.socket, Camera(server))
