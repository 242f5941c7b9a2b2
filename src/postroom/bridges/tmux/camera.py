"""Looks at panes: who looks while another look is under way is served by the next, all in one call."""

import re
import secrets
import threading
import time
from typing import NamedTuple

from postroom.bridges.tmux.format import answer, asking, literal
from postroom.bridges.tmux.server import Server
from postroom.errors import BridgeError

_FACTS: tuple[str, ...] = (
    "pid", "pane_id", "pane_dead", "pane_pid", "pane_in_mode", "pane_input_off", "pane_synchronized",
    "cursor_x", "cursor_y", "pane_width", "pane_height", "alternate_on", "window_activity", "window_panes",
    "pane_tty", "pane_current_command", "session_activity", "@postroom_agent",
)  # fmt: skip
_FORMAT = asking(_FACTS)
# What must still be so when a key is pressed: the same server, the same program, no mode, the same place to
# write in, nobody who has pressed a key since.
_HELD = (
    "pid", "pane_dead", "pane_pid", "pane_in_mode", "pane_input_off", "pane_synchronized", "cursor_x",
    "cursor_y", "pane_width", "pane_height", "alternate_on", "pane_current_command", "session_activity",
)  # fmt: skip
_CLIENTS = "#{client_pid} #{client_activity} #{pane_id}"
_AGAIN = 3  # times that tmux is asked once more if it says nothing at all
_MOST = 20  # panes of one call: tmux takes 16 kB of words
_ROWS = 12  # of a screen, from below, that must still be where they were
_WORDS = re.compile(r"[A-Za-z][A-Za-z ]+[A-Za-z]")  # what can be searched for without quoting


class Shot(NamedTuple):
    """One pane at one moment."""

    at: float  # on the monotonic clock, before it was taken
    facts: dict[str, str]
    text: str  # with its colours
    typed_at: int  # when a person last pressed a key there, in seconds since the epoch; 0: nobody has

    def condition(self, places: dict[str, int]) -> str:
        """A format that is true in tmux while the pane is as it was, and shows some words where it did.

        tmux asks itself, in the moment in which it types: what it has been told to show since counts.
        """
        asked = [*(f"#{{{fact}}}" for fact in _HELD), *(f"#{{C:{words}}}" for words in places)]
        wanted = [*(literal(self.facts[fact]) for fact in _HELD), *(str(row + 1) for row in places.values())]
        return f"#{{==:{' '.join(asked)},{' '.join(wanted)}}}"


def places(rows: list[str]) -> dict[str, int]:
    """Words of the last rows that show some, and where each is found first, as tmux searches."""
    words = [max(found, key=len)[:60].strip() for row in rows if (found := _WORDS.findall(row))]
    return {one: next(n for n, row in enumerate(rows) if one in row) for one in words[-_ROWS:]}


class _Ticket:
    """Somebody's wish to see a pane."""

    def __init__(self, pane: str) -> None:
        self.pane = pane
        self.shot: Shot | BridgeError | None = None


class _Client(NamedTuple):
    """Somebody's window on a server, as a look found it."""

    typed_at: int
    pane: str


class _Keyboard:
    """When somebody pressed a key, by pane; of who has gone elsewhere since the last look, there, too."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}
        self._typed: dict[str, int] = {}

    def note(self, clients: str) -> dict[str, int]:
        """Take in what tmux said of its clients."""
        found = dict(_client(line) for line in clients.splitlines())
        for name, was in self._clients.items():
            now = found.get(name)
            if now is None:  # who leaves has pressed a key, and nobody can tell which came before it
                self._press(was.pane, int(time.time()))
            elif now.typed_at > was.typed_at:
                self._press(was.pane, now.typed_at)
        for one in found.values():
            self._press(one.pane, one.typed_at)
        self._clients = found
        return self._typed

    def _press(self, pane: str, at: int) -> None:
        self._typed[pane] = max(self._typed.get(pane, 0), at)


def _client(line: str) -> tuple[str, _Client]:
    name, at, pane = line.split(" ", 2)
    return name, _Client(int(at) if at.isdecimal() else 0, pane)


class Camera:
    """Takes the pictures of one server's panes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._wanted: list[_Ticket] = []
        self._keyboard = _Keyboard()
        self.calls = 0

    def look(self, pane: str) -> Shot:
        """A pane as it is after this was called."""
        ticket = _Ticket(pane)
        with self._guard:
            self._wanted.append(ticket)
        with self._turn:
            if ticket.shot is None:
                self._serve()
        if not isinstance(ticket.shot, Shot):
            raise ticket.shot or BridgeError(f"no pane {pane}")
        return ticket.shot

    def _serve(self) -> None:
        """All who wait now; each of them has a ticket of their own, whoever comes after them."""
        with self._guard:
            served, self._wanted = self._wanted, []
        panes = sorted({ticket.pane for ticket in served})
        shots: dict[str, Shot | BridgeError] = {}
        for at in range(0, len(panes), _MOST):
            shots |= self._all(panes[at : at + _MOST])
        for ticket in served:
            ticket.shot = shots[ticket.pane]

    def _all(self, panes: list[str]) -> dict[str, Shot | BridgeError]:
        try:
            return dict(self._shoot(panes))
        except ValueError as exc:  # something in between that nobody asked for
            why, there = BridgeError(f"tmux answered something else: {exc}"), set(panes)
        except BridgeError as exc:
            why, there = exc, self._there(exc) if len(panes) > 1 else set[str]()
        if len(panes) == 1:
            return {panes[0]: why}
        if isinstance(there, BridgeError):
            return dict.fromkeys(panes, there)
        gone = {pane: BridgeError(f"tmux: can't find pane: {pane}") for pane in panes if pane not in there}
        return gone | self._each([pane for pane in panes if pane in there], bool(gone))

    def _each(self, panes: list[str], are_fewer: bool) -> dict[str, Shot | BridgeError]:
        """Those that are left, at once; one after the other, if it was not for one that is gone."""
        if are_fewer:
            return self._all(panes) if panes else {}
        return {pane: shot for one in panes for pane, shot in self._all([one]).items()}

    def _there(self, why: BridgeError) -> set[str] | BridgeError:
        """The panes that are there; or why nothing can be known."""
        if "find pane" not in str(why):
            return why
        try:
            return set(self._run(["list-panes", "-a", "-F", "#{pane_id}"]).split())
        except BridgeError as exc:
            return exc

    def _shoot(self, panes: list[str]) -> dict[str, Shot]:
        fence = f"postroom-{secrets.token_hex(8)}"
        commands = [["list-clients", "-F", _CLIENTS]]
        for pane in panes:
            commands += [["display-message", "-p", fence], ["display-message", "-p", "-t", pane, _FORMAT]]
            commands += [["capture-pane", "-p", "-e", "-N", "-t", pane]]
        began, said = self._told(commands)
        clients, *parts = said.split(f"{fence}\n")
        typed = self._keyboard.note(clients)
        return {pane: _shot(began, part, typed) for pane, part in zip(panes, parts, strict=True)}

    def _told(self, commands: list[list[str]]) -> tuple[float, str]:
        """What tmux says, and since when that is so. To some it says nothing, while a client leaves (3.3)."""
        began, said = time.monotonic(), self._run(*commands)
        for _ in range(_AGAIN):
            if said:
                break
            began, said = time.monotonic(), self._run(*commands)
        return began, said

    def _run(self, *commands: list[str]) -> str:
        self.calls += 1
        return self._server.run(*commands)


def _shot(began: float, part: str, typed: dict[str, int]) -> Shot:
    facts, text = answer(part, _FACTS)
    return Shot(began, facts, text.removesuffix("\n"), typed.get(facts["pane_id"], 0))


_cameras: dict[str, Camera] = {}
_cameras_guard = threading.Lock()


def camera(server: Server) -> Camera:
    """The one camera of this process for a server."""
    with _cameras_guard:
        return _cameras.setdefault(server.socket, Camera(server))
