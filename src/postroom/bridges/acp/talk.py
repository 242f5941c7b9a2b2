"""What an agent says, gathered: a model's answer comes token by token, and is told in pieces worth a line."""

from collections.abc import Callable
from typing import Any, Protocol

from postroom.bridges.acp.console import AGENT
from postroom.bridges.contract import Heard
from postroom.text import encode, storable

_LARGEST = 8_000  # characters of one piece
_LATEST = 1.0  # seconds that a token may wait for others


class Timer(Protocol):
    """One that can be stopped."""

    def cancel(self) -> None: ...


class Talk:
    """Used on one loop. `tell` gets each piece, `show` what people are shown of it, in whole lines, and the
    mark that stands before each.
    """

    def __init__(
        self,
        tell: Callable[[Heard], None],
        show: Callable[[str, str], None],
        later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._tell, self._show, self._later = tell, show, later
        self._kind = ""
        self._said = self._unshown = ""
        self._timer: Timer | None = None

    def add(self, kind: str, text: str) -> None:
        """More of a `message` or a `thought`."""
        if kind != self._kind:
            self.flush()
        self._kind = kind
        self._said += text
        lines, end, rest = (self._unshown + text).rpartition("\n")
        self._unshown = rest
        if end:
            self._show(storable(lines), _mark(kind))
        if len(self._said) >= _LARGEST:
            self._pass()
        elif self._timer is None:
            self._timer = self._later(_LATEST, self._pass)

    def tell(self, facts: dict[str, Any], shown: str = "", heard: Heard | None = None) -> None:
        """Something that is no prose, after what was said before it."""
        self.flush()
        self._tell((heard or Heard())._replace(text=encode(facts), stream="event"))
        if shown:
            self._show(shown, "")

    def _pass(self) -> None:
        """What was said so far, but for the first half of a character: the other one comes next."""
        half = self._said[-1:] if "\ud800" <= self._said[-1:] <= "\udbff" else ""
        self._said = self._said.removesuffix(half)
        self._unshown = self._unshown.removesuffix(half)
        self.flush()
        self._said = self._unshown = half

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._unshown:
            self._show(storable(self._unshown), _mark(self._kind))
        if self._said:
            prose = self._kind == "message"
            said = storable(self._said)
            text = said if prose else encode({self._kind: said})
            self._tell(Heard(text, "output" if prose else "event"))
        self._said = self._unshown = ""


def _mark(kind: str) -> str:
    return AGENT if kind == "message" else f"{AGENT}~ "
