"""An agent in a terminal of its own: a private tmux server with one pane."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Self

from tests.agents.cli import Cli, Place
from tests.agents.log import BOUND, until

_STEADY = 3  # looks in a row at which a screen must be the same before it counts


class Terminal:
    """A pane in which a command runs. Leaves no tmux behind; what the agent leaves is the rig's to end."""

    def __init__(self, command: Sequence[str], *, socket: str, place: Place, cli: Cli) -> None:
        self._tmux = ("tmux", "-S", socket, "-f", os.devnull)
        self._prefix: Sequence[str] = ()
        self._cli = cli
        self._cwd = place.project
        self._consent = cli.consent(place)
        self._command = command
        self._shown: list[str] = []

    def start(self, prefix: Sequence[str], env: dict[str, str]) -> Self:
        """Start the server inside the agent's namespace and environment; both reach the pane from there."""
        size = ["-x", "140", "-y", "50"]
        setting = ["set", "-g", "status", "off", ";", "set", "-g", "history-limit", "20000", ";"]
        session = ["new-session", "-d", *size, "-c", self._cwd, "--", *self._command]
        subprocess.run([*prefix, *self._tmux, *setting, *session], env=env, check=True, timeout=BOUND)
        return self

    def tmux(self, *words: str) -> str:
        """Run a tmux command on this server; what it printed."""
        done = subprocess.run(
            [*self._tmux, *words], capture_output=True, text=True, timeout=BOUND, check=True
        )
        return done.stdout

    def screen(self, *, history: bool = False) -> str:
        """What a person sees; with `history`, what has scrolled away too."""
        return self.tmux("capture-pane", "-p", *(["-S", "-"] if history else []))

    @property
    def pid(self) -> int:
        """The process that tmux started in the pane."""
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def pane(self) -> str:
        """The pane's id, as TMUX_PANE has it."""
        return self.tmux("display-message", "-p", "#{pane_id}").strip()

    def alive(self) -> bool:
        """Whether the agent still has its pane."""
        done = subprocess.run([*self._tmux, "has-session"], capture_output=True, timeout=BOUND, check=False)
        return done.returncode == 0

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: `Enter`, `Escape`, `C-c`."""
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type text key by key, without sending it off: a person's draft."""
        self.tmux("send-keys", "-l", "--", text)

    def paste(self, text: str) -> None:
        """Paste text, bracketed, without sending it off."""
        self.tmux("set-buffer", "-b", "rig", "--", text, ";", "paste-buffer", "-p", "-r", "-b", "rig")

    def submit(self, text: str) -> float:
        """Paste a prompt, see it on the screen, and send it off; when that was."""
        before = self.screen()
        self.paste(text)
        self.wait(lambda: self.screen() != before and self._holds(text), "pasted text")
        now = time.time()
        self.press("Enter")
        return now

    def slash(self, command: str) -> None:
        """Give one of the agent's own commands, like `/compact`; typed, as some take a paste for text."""
        self.type(command)
        self.wait(lambda: self._holds(command), "typed command")
        self.press("Enter")

    def _holds(self, text: str) -> bool:
        """Whether the screen has the end of a text, however it was wrapped, or tells that one was pasted."""
        screen = self.screen()
        end = "".join(text.split())[-20:]
        return end in re.sub(r"[\s│┃|]", "", screen) or "[Pasted" in screen

    def idle(self) -> bool:
        """Whether it waits at its prompt now, as far as one look can tell."""
        screen = self.screen()
        return bool(re.search(self._cli.prompt, screen)) and not (
            re.search(self._cli.busy, screen) or re.search(self._cli.asks, screen)
        )

    def asking(self) -> bool:
        """Whether it asks for a permission now."""
        return bool(re.search(self._cli.asks, self.screen()))

    def wait_idle(self, bound: float = BOUND) -> None:
        """Wait until it waits at its prompt and the screen rests; consent is given on the way."""
        if self._consent:
            self._agree(*self._consent, bound)
            self._consent = None
        self.wait(self.idle, "idle prompt", bound)

    def _agree(self, pattern: str, digit: str, bound: float) -> None:
        """A question is on the screen a little before its keys are heard: they are pressed until it goes."""
        self.wait_screen(pattern, bound)
        for left in reversed(range(6)):
            self.press(digit, "Enter")
            try:
                self.wait(lambda: not re.search(pattern, self.screen()), "consent", bound / 6)
            except AssertionError:
                if not left:
                    raise
            else:
                return

    def wait_asking(self, bound: float = BOUND) -> None:
        """Wait until it asks for a permission."""
        self.wait(self.asking, "question", bound)

    def wait_screen(self, pattern: str, bound: float = BOUND) -> None:
        """Wait until the screen has a pattern."""
        self.wait(lambda: re.search(pattern, self.screen()), f"{pattern!r} on the screen", bound)

    def settle(self, bound: float = BOUND) -> None:
        """Wait until the screen has come to rest, whatever it shows."""
        self.wait(lambda: True, "rest", bound)

    def wait(self, condition: Callable[[], object], what: str, bound: float = BOUND) -> None:
        """Wait until it is so and the screen has come to rest; fails with the screen."""
        self._shown = []

        def steady() -> bool:
            self._shown = [*self._shown[1 - _STEADY :], self.screen()]
            return len(self._shown) == _STEADY and len(set(self._shown)) == 1 and bool(condition())

        try:
            until(steady, bound, what)
        except AssertionError as error:
            screen = self.screen() if self.alive() else "(it has ended)"
            raise AssertionError(f"{error}; the screen:\n{screen}") from None

    def quit(self, bound: float = BOUND) -> None:
        """End the agent as a person would, and wait until its pane is gone."""
        for word in self._cli.quit:
            if re.fullmatch(r"[CM]-.", word):
                self.press(word)
            else:
                self.slash(word)
        until(lambda: not self.alive(), bound, "end of the agent")

    def close(self) -> None:
        """End the tmux server and with it the pane."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=BOUND, check=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
