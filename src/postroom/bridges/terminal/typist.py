"""Typing into an agent's terminal with open eyes: look, paste, see it there, look again, Enter, see it go.

One Enter, and only while the composer holds exactly our text; not a key besides. Whatever goes wrong after
the first byte is `uncertain`: what stands in the composer then is left to a person.
"""

import time
from collections.abc import Callable

from postroom import label
from postroom.bridges.contract import (
    Assent,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Kind,
    Observation,
    Result,
    Text,
)
from postroom.bridges.terminal.gate import refusal
from postroom.bridges.terminal.port import Terminal, View
from postroom.bridges.terminal.reading import Reading, State, holds, read
from postroom.clock import wall
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.protocol.plain import clean
from postroom.runtimes.screen import Profile

FRESH = 0.02  # seconds: Enter comes at most so long after the look that allowed it
_RENDER = 5.0  # seconds for a paste to be shown
_SETTLE = 0.25  # seconds after it is: some take an Enter right behind a paste for a part of it
_PATIENCE = 15.0  # seconds in which what came between paste and Enter may go away again
_CLEAR = 5.0  # seconds for the composer to be empty after Enter
_STOP = 5.0  # seconds for a turn to end
_STUCK = 60.0  # seconds without a character written, while it seems to work
_PAUSE = 0.05
_KEYS = 0.15  # seconds between two keys of one interrupt


class Typist:
    """Types into one terminal, for one runtime."""

    def __init__(
        self, terminal: Terminal, profile: Profile, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._terminal = terminal
        self._profile = profile
        self._sleep = pause
        self._submitted = ""  # what was, and was not yet seen to leave the composer
        self._was_ready = False

    def observe(self) -> Observation:
        """What the agent does, by its screen; `reason` is why no mail may be typed."""
        try:
            view = self._terminal.look()
        except BridgeError as exc:
            return Observation(Doing.GONE, str(exc), "offline", at=wall())
        reading = read(view.screen, self._profile)
        refused = refusal(view, reading, self._profile, Text(""))
        doing, words = self._doing(view, reading)
        self._was_ready = self._was_ready or doing is Doing.IDLE
        reason = refused.reason if refused else ""
        return Observation(doing, words, reason, reading.dialog, wall())

    def _doing(self, view: View, reading: Reading) -> tuple[Doing, str]:
        if not view.alive:
            return Doing.GONE, "its process has ended"
        match reading.state:
            case State.DIALOG:
                return Doing.ASKING, f"its screen shows a dialog: {reading.dialog}"
            case State.BUSY:
                return _working(view.moved_ago)
            case State.IDLE:
                return Doing.IDLE, "its composer holds a draft" if reading.draft else "its composer is empty"
            case State.UNKNOWN:
                doing = Doing.UNKNOWN if self._was_ready else Doing.STARTING
                return doing, "its screen shows nothing that is known"

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        """See `Bridge.deliver`."""
        plain = self._plain(text)
        try:
            view = self._terminal.look()
        except BridgeError as exc:
            return Delivered(Result.REFUSED, "offline", words=str(exc))
        if refused := refusal(view, read(view.screen, self._profile), self._profile, text):
            return Delivered(Result.REFUSED, refused.reason, words=refused.words)
        if not plain or not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        label.here("before-typing")
        assent.begun()
        try:
            if not self._terminal.paste(plain, view):
                return Delivered(Result.REFUSED, "busy", words="its terminal changed in that moment")
            label.here("typed")
            return self._submit(plain, text, assent)
        except BridgeError as exc:
            return Delivered(Result.UNCERTAIN, words=f"after it was typed: {exc}")

    def _plain(self, text: Text) -> str:
        """Without what could end a paste or press a key; in one line where several would be several texts."""
        plain = clean(text.text).replace("\t", "    ").strip("\n")
        return plain if self._profile.lines else " ".join(plain.split("\n"))

    def _submit(self, plain: str, text: Text, assent: Assent) -> Delivered:
        if not self._until(lambda: self._holds(self._terminal.look(), plain), _RENDER):
            return Delivered(Result.UNCERTAIN, words="it was typed, and the composer does not show it")
        self._sleep(_SETTLE)
        words = self._enter(plain, text, assent)
        if words:
            return Delivered(Result.UNCERTAIN, words=f"it was typed and not submitted: {words}")
        label.here("submitted")
        self._submitted = plain
        return self._verified()

    def _holds(self, view: View, plain: str) -> bool:
        draft = read(view.screen, self._profile).draft
        return draft is not None and holds(draft, plain, self._profile)

    def _enter(self, plain: str, text: Text, assent: Assent) -> str:
        """Press Enter once all is right; empty when it was pressed, else what was in the way to the end."""
        until, words = time.monotonic() + _PATIENCE, ""
        while time.monotonic() < until:
            if words:
                self._sleep(_PAUSE)
            words = "its hooks say that it works, or another has the terminal"
            if not assent.holds():
                continue
            view = self._terminal.look()
            words = self._objection(view, plain, text)
            if not words and time.monotonic() - view.at <= FRESH:
                if self._terminal.press(self._profile.submit, view):
                    return ""
                words = "its terminal changed in that moment"
        return words or "this machine is too slow to look and press at once"

    def _objection(self, view: View, plain: str, text: Text) -> str:
        reading = read(view.screen, self._profile)
        refused = refusal(view, reading, self._profile, text, held=reading.draft or "")
        if refused:
            return refused.words
        return "" if self._holds(view, plain) else "the composer holds something else"

    def _verified(self) -> Delivered:
        words = "the composer held our text, and cleared"
        if self._until(self._has_gone, _CLEAR):
            return Delivered(Result.PROVEN, evidence=Evidence.TERMINAL, words=words)
        if self._holds(self._terminal.look(), self._submitted):
            self._submitted = ""
            return Delivered(Result.UNCERTAIN, words="Enter was pressed, and the composer still holds it")
        return Delivered(Result.HANDED, words="it was submitted, and the composer is not to be seen since")

    def _has_gone(self) -> bool:
        """Whether the composer, which held our text, can be seen and is empty."""
        if not self._submitted or read(self._terminal.look().screen, self._profile).draft != "":
            return False
        self._submitted = ""
        return True

    def receive(self) -> list[Heard]:
        """That what was submitted has left the composer, as soon as that can be seen."""
        try:
            gone = self._has_gone()
        except BridgeError:
            return []
        return [Heard(proves=Evidence.TERMINAL)] if gone else []

    def interrupt(self) -> Interrupted:
        """End the turn by the runtime's own keys; nothing is pressed where there is none, or a dialog."""
        try:
            view = self._terminal.look()
            reading = read(view.screen, self._profile)
            if not view.alive:
                return Interrupted(False, "it is not running")
            if reading.state is State.IDLE:
                return Interrupted(True, "it was idle, so nothing was pressed")
            if reading.state is State.DIALOG or view.in_mode or view.synchronised or not view.foreground:
                refused = refusal(view, reading, self._profile, Text("", Kind.COMMAND))
                return Interrupted(False, f"nothing was pressed: {refused.words if refused else 'no'}")
            return self._stop()
        except BridgeError as exc:
            return Interrupted(False, str(exc))

    def _stop(self) -> Interrupted:
        keys = " ".join(self._profile.stop)
        for n, key in enumerate(self._profile.stop):
            if n:
                self._sleep(_KEYS)
            self._terminal.press(key)
        began = time.monotonic()
        if self._until(lambda: read(self._terminal.look().screen, self._profile).state is State.IDLE, _STOP):
            return Interrupted(
                True, f"{keys} was pressed, and {time.monotonic() - began:.1f} s later it was idle"
            )
        return Interrupted(False, f"{keys} was pressed, and its screen does not say that it has stopped")

    def screen(self, lines: int = 0) -> str:
        if lines:
            return self._terminal.scrollback(lines)
        return self._terminal.look().screen.text.rstrip()

    def close(self) -> None:
        self._terminal.close()

    def _until(self, condition: Callable[[], bool], bound: float) -> bool:
        until = time.monotonic() + bound
        while not condition():
            if time.monotonic() > until:
                return False
            self._sleep(_PAUSE)
        return True


def _working(moved_ago: float | None) -> tuple[Doing, str]:
    """Whether something that looks like work is: what works shows it, if only by a moving sign."""
    if moved_ago is None:
        return Doing.PROCESSING, "its screen says so"
    if moved_ago >= _STUCK:
        return Doing.STUCK, f"its screen says that it works, but has not changed for {moved_ago:.0f} s"
    return Doing.PROCESSING, f"its screen says so, and changed {moved_ago:.0f} s ago"
