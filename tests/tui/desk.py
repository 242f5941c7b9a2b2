"""A typist at the pane of a fake agent, and what may happen there in the moments between its acts."""

import re
from collections.abc import Callable, Mapping

from postroom import host
from postroom.bridges.contract import Assent, Delivered, Kind, Result, Text
from postroom.bridges.terminal.port import Terminal as AnyTerminal
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.typist import Typist
from postroom.bridges.tmux.pane import Pane as Terminal
from postroom.bridges.tmux.server import target
from postroom.runtimes.screen import Profile
from tests.tui.profile import PROFILE
from tests.tui.stage import Pane

MOMENTS = ("before paste", "after paste", "before enter", "after enter")

NOTHING: Mapping[str, Callable[[], object]] = {}


class Staged:
    """A terminal in which a test does something right before or right after a paste or an Enter."""

    def __init__(self, terminal: AnyTerminal) -> None:
        self._terminal = terminal
        self.acts: dict[str, Callable[[], object]] = {}  # by moment, each done once

    def _now(self, moment: str) -> None:
        if act := self.acts.pop(moment, None):
            act()

    def look(self) -> View:
        return self._terminal.look()

    def paste(self, text: str, view: View) -> bool:
        self._now("before paste")
        done = self._terminal.paste(text, view)
        self._now("after paste")
        return done

    def press(self, key: str, view: View | None = None) -> bool:
        self._now("before enter")
        done = self._terminal.press(key, view)
        self._now("after enter")
        return done

    def scrollback(self, lines: int) -> str:
        return self._terminal.scrollback(lines)

    def close(self) -> None:
        self._terminal.close()


class Desk:
    """Delivers to one pane, and holds what comes of it against the agent's own log."""

    def __init__(self, pane: Pane, profile: Profile = PROFILE, process: str = "", label: str = "") -> None:
        self.pane = pane
        self.begun = 0
        self.terminal = Staged(Terminal(target(pane.target), process or host.identity_of(pane.pid), label))
        self.typist = Typist(self.terminal, profile)

    def deliver(
        self,
        text: str = "hello",
        *,
        kind: Kind = Kind.BODY,
        while_busy: bool = False,
        holds: Callable[[], bool] = lambda: True,
        at: Mapping[str, Callable[[], object]] = NOTHING,
    ) -> Delivered:
        """`at={"before enter": …}`: what is to happen right then."""
        self.terminal.acts = dict(at)
        return self.typist.deliver(Text(text, kind, while_busy), Assent(self._begin, holds))

    def _begin(self) -> None:
        self.begun += 1

    def check(self, delivered: Delivered, text: str = "hello", before: int = 0) -> None:
        """Whether a result is true: by what the agent took for prompts, and by the bytes that it read."""
        pane = self.pane
        pane_log = pane.log()
        taken = [event["text"] for event in pane_log if event["event"] in ("submitted", "queued")]
        taken = taken[before:]
        assert pane.approvals() == [], delivered
        assert delivered.words
        match delivered.result:
            case Result.REFUSED:
                assert taken == [], delivered
                assert delivered.reason
            case Result.PROVEN | Result.HANDED:
                assert taken == [text], delivered
            case Result.UNCERTAIN:
                assert taken in ([], [text]), delivered


def is_one_paste(data: bytes, text: str, *, entered: bool) -> bool:
    """Whether bytes are a text in brackets, an Enter if it was pressed, and not a byte besides."""
    framed = b"\x1b[200~" + text.encode() + b"\x1b[201~"
    return bool(re.fullmatch(re.escape(framed) + (b"\r" if entered else b""), data))
