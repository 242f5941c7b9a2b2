"""A terminal as the gate and the typist need it: to be looked at, pasted into, and to press keys in."""

from typing import NamedTuple, Protocol

from postroom.bridges.terminal.screen import Screen


class View(NamedTuple):
    """All that can be known of a terminal by one look."""

    screen: Screen
    at: float  # on the monotonic clock, before it was read
    alive: bool = True  # the agent's own process, the one that was registered: not another in its place
    foreground: bool = True  # whether the keys go to it
    shell: bool = False  # whether it is a shell, which runs what is typed
    in_mode: bool = False  # scrolled back, or in another of the terminal's own modes
    synchronised: bool = False  # what is typed goes to other terminals, too
    typed_ago: float | None = None  # seconds since a person pressed a key there; None: nobody can, or has
    moved_ago: float | None = None  # seconds since it last wrote something; None: not known
    facts: str = ""  # what must still be so when a key is pressed; only its terminal understands it


class Terminal(Protocol):
    """Every call has an end. It raises `BridgeError` where the terminal is not there; with `silent` among its
    facts where that cannot be told: it did not answer in time, and may yet do what it was told.
    """

    def look(self) -> View: ...

    def paste(self, text: str, view: View) -> bool:
        """Put a text in as one paste; False, and not a byte, if the terminal is no longer as in that view."""
        ...

    def press(self, key: str, view: View | None = None) -> bool:
        """Press one key by its name in tmux; with a view, only if the terminal is still as in it."""
        ...

    def scrollback(self, lines: int) -> str: ...

    def close(self) -> None: ...
