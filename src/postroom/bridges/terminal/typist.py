"""Typing into an agent's terminal with open eyes: look, paste, see it there, look again, Enter, see it go.

One Enter, and only while the composer holds exactly our text; not a key besides. Whatever goes wrong after
the first byte is `uncertain`: what stands in the composer then is left to a person.
"""

import re
import time
from collections.abc import Callable
from typing import NamedTuple

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
from postroom.bridges.terminal import measure
from postroom.bridges.terminal.gate import OURS, QUIET, Refusal, is_ours, refusal
from postroom.bridges.terminal.port import Terminal, View
from postroom.bridges.terminal.reading import Reading, State, holds, read
from postroom.bridges.terminal.screen import Screen
from postroom.clock import wall
from postroom.errors import BridgeError, PostroomError
from postroom.model.ladder import Evidence, Reason
from postroom.protocol.plain import clean
from postroom.runtimes.screen import Profile

FRESH = 0.02  # seconds: Enter comes at most so long after the look that allowed it
_RENDER = 5.0  # seconds for a paste to be shown
_SETTLE = 0.25  # seconds for which it must be: some take an Enter right behind a paste for a part of it
_PATIENCE = 15.0  # seconds in which what came between paste and Enter may go away again
_CLEAR = 5.0  # seconds for the composer to be empty after Enter
_PROOF = 600.0  # seconds after which what was submitted, and not seen to go, is given up
_STOP = 5.0  # seconds for a turn to end
_WHOLE = 1.0  # second: some terminals tell no parts of one
_STUCK = 60.0  # seconds without a character written, while it seems to work
_PAUSE = 0.05


class _Entered(NamedTuple):
    """A text after which Enter was pressed, and that was not yet seen to go."""

    text: str
    at: float  # on the monotonic clock
    until: float  # from then on it is uncertain
    is_queued: bool  # whether the agent was at work


class Typist:
    """Types into one terminal, for one runtime."""

    def __init__(
        self, terminal: Terminal, profile: Profile, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._terminal = terminal
        self._profile = profile
        self._sleep = pause
        self._entered: _Entered | None = None
        self._news: list[Heard] = []  # what was found out before anybody asked
        self._was_ready = False
        self._seen: tuple[Screen, Reading] | None = None  # the last screen, and what it means

    def observe(self) -> Observation:
        """What the agent does, by its screen; `reason` is why no mail may be typed."""
        try:
            view = self._terminal.look()
        except BridgeError as exc:
            doing = Doing.UNKNOWN if _is_silent(exc) else Doing.GONE
            return Observation(doing, str(exc), _unreached(exc), at=wall())
        reading = self._read(view)
        refused = refusal(view, reading, self._profile, Text(""))
        doing, words = self._doing(view, reading)
        self._was_ready = self._was_ready or doing is Doing.IDLE
        reason = refused.reason if refused else ""
        size = view.screen.width, len(view.screen.lines)
        room = measure.room(self._profile, *size)
        still = max(0.0, (view.moved_ago or 0.0) - _WHOLE)
        return Observation(doing, words, reason, reading.dialog, wall(), room, size, still)

    def _doing(self, view: View, reading: Reading) -> tuple[Doing, str]:
        if not view.alive:
            return Doing.GONE, "its process has ended"
        match reading.state:
            case State.DIALOG:
                return Doing.ASKING, f"its screen shows a dialog: {reading.dialog}"
            case State.BUSY:
                return _working(view.moved_ago)
            case State.IDLE:
                return Doing.IDLE, _composer(reading.draft)
            case State.UNKNOWN:
                doing = Doing.UNKNOWN if self._was_ready else Doing.STARTING
                return doing, "its screen shows nothing that is known"

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        """See `Bridge.deliver`."""
        plain = self._plain(text)
        self._news += self._learnt()  # of the text before, while that can still be told apart
        try:
            view = self._terminal.look()
        except BridgeError as exc:
            return Delivered(Result.REFUSED, _unreached(exc), words=str(exc))
        if text.kind is Kind.BODY:
            plain = measure.fitted(plain, self._profile, view.screen.width, len(view.screen.lines))
        if refused := self._refusal(view, plain, text):
            return Delivered(Result.REFUSED, refused.reason, words=refused.words)
        if not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        label.here("before-typing")
        assent.begun()
        try:
            if not self._terminal.paste(plain, view):
                return Delivered(Result.REFUSED, "busy", words="its terminal changed in that moment")
            label.here("typed")
            return self._submit(plain, text, assent)
        except PostroomError as exc:
            self._entered = None
            return Delivered(Result.UNCERTAIN, words=f"after it was typed: {exc}")

    def _refusal(self, view: View, plain: str, text: Text) -> Refusal | None:
        if refused := refusal(view, self._read(view), self._profile, text):
            return refused
        if not plain.strip():
            return Refusal(Reason.UNKNOWN_SCREEN.value, "nothing of the text can be typed")
        if text.kind is Kind.COMMAND and self._profile.picks and re.search(self._profile.picks, plain):
            return Refusal("", "its last word opens a list, and Enter would take from that: end it otherwise")
        if not measure.fits(plain, self._profile, view.screen.width, len(view.screen.lines)):
            return Refusal(Reason.TOO_LONG.value, "its screen is too small to show all of the text")
        return None

    def _plain(self, text: Text) -> str:
        """Without what could end a paste or press a key; in one line where several would be several texts."""
        plain = clean(text.text).replace("\t", "    ").strip("\n")
        return plain if self._profile.lines else " ".join(plain.split("\n"))

    def _submit(self, plain: str, text: Text, assent: Assent) -> Delivered:
        if not self._until(lambda: self._is_shown(plain), _RENDER):
            return Delivered(Result.UNCERTAIN, words="it was typed, and the composer does not show it")
        entered = self._enter(plain, text, assent)
        if isinstance(entered, str):
            return Delivered(Result.UNCERTAIN, words=f"it was typed and not submitted: {entered}")
        label.here("submitted")
        return self._verified(entered)

    def _is_shown(self, plain: str) -> bool:
        """Whether the composer holds it, or is covered by something that may go away again."""
        reading = self._reading()
        return reading.draft is None or holds(reading.draft, plain, self._profile)

    def _enter(self, plain: str, text: Text, assent: Assent) -> _Entered | str:
        """Press Enter once all is right; else what was in the way to the end."""
        until, words, is_settled = time.monotonic() + _PATIENCE, "", False
        while time.monotonic() < until:
            words = self._try_to_enter(plain, text, assent, is_settled)
            if isinstance(words, _Entered):
                return words
            self._sleep(_PAUSE if words or is_settled else _SETTLE)
            is_settled = not words
        return words or "this machine is too slow to look and press at once"

    def _try_to_enter(self, plain: str, text: Text, assent: Assent, is_settled: bool) -> _Entered | str:
        """That it was pressed. Empty: it may be, now or a moment later. Else what is in the way."""
        if not assent.holds():
            return "its hooks say that it works, or another has the terminal"
        view = self._terminal.look()
        reading = self._read(view)
        if words := self._objection(view, reading, plain, text):
            return words
        if not is_settled or time.monotonic() - view.at > FRESH:
            return ""
        now = time.monotonic()
        entered = _Entered(plain, now, now + _PROOF, reading.state is State.BUSY)
        if self._terminal.press(self._profile.submit, view):
            self._entered = entered
            return entered
        return "its terminal changed in that moment"

    def _objection(self, view: View, reading: Reading, plain: str, text: Text) -> str:
        refused = refusal(view, reading, self._profile, text, held=reading.draft or "")
        if refused:
            return refused.words
        return "" if holds(reading.draft or "", plain, self._profile) else "the composer holds something else"

    def _verified(self, entered: _Entered) -> Delivered:
        until = time.monotonic() + _CLEAR
        while (fate := self._fate(entered)) is None and time.monotonic() < until:
            self._sleep(_PAUSE)
        fate = fate or self._unseen(entered)
        if fate.result is not Result.HANDED:
            self._entered = None
        return fate

    def _fate(self, entered: _Entered) -> Delivered | None:
        """What one look tells of what was submitted; None: nothing yet.

        A composer that is empty says that our text has gone, but not by whose key: so a person's comes first.
        """
        view = self._terminal.look()
        reading = self._read(view)
        if _has_typed(view, entered.at):
            return Delivered(
                Result.UNCERTAIN, words="somebody pressed a key there before our text was seen to go"
            )
        if entered.is_queued and reading.state is State.BUSY:
            words = "the composer held our text, and cleared: it waits for the turn that goes on"
            return Delivered(Result.HANDED, words=words) if reading.draft == "" else None
        if reading.draft == "":
            return _proven("the composer held our text, and cleared")
        if reading.draft is None and reading.state is State.BUSY:
            return _proven("the composer held our text, and the agent went to work")
        return None

    def _unseen(self, entered: _Entered) -> Delivered:
        if holds(self._reading().draft or "", entered.text, self._profile):
            return Delivered(Result.UNCERTAIN, words="Enter was pressed, and the composer still holds it")
        return Delivered(Result.HANDED, words="it was submitted, and the composer is not to be seen since")

    def _reading(self) -> Reading:
        return self._read(self._terminal.look())

    def _read(self, view: View) -> Reading:
        """What a view shows; nothing is read twice, so that a look and the Enter after it are close."""
        if self._seen is None or self._seen[0] is not view.screen:
            self._seen = view.screen, read(view.screen, self._profile)
        return self._seen[1]

    def receive(self) -> list[Heard]:
        """What became of what was submitted, as soon as that can be seen, or no longer can."""
        news, self._news = [*self._news, *self._learnt()], []
        return news

    def _learnt(self) -> list[Heard]:
        entered = self._entered
        if entered is None:
            return []
        try:
            fate = self._fate(entered)
        except BridgeError:
            fate = None
        if fate is not None and fate.result is Result.HANDED:  # the turn goes on
            self._entered = entered._replace(until=time.monotonic() + _PROOF)
            return []
        if fate is None and time.monotonic() < entered.until:
            return []
        self._entered = None
        if fate is not None and fate.evidence is not None:
            return [Heard(proves=fate.evidence)]
        return [Heard(doubts=fate.words if fate else f"it was not seen to go within {_PROOF:.0f} s")]

    def interrupt(self) -> Interrupted:
        """End the turn by the runtime's own keys; nothing is pressed where there is none, or a dialog."""
        try:
            view = self._terminal.look()
            reading = self._read(view)
            if not view.alive:
                return Interrupted(False, "it is not running")
            if reading.state is State.IDLE:
                return self._found_idle()
            if words := self._keeps_from_stopping(view, reading):
                return Interrupted(False, f"nothing was pressed: {words}")
            return self._stop()
        except BridgeError as exc:
            return Interrupted(False, str(exc))

    def _found_idle(self) -> Interrupted:
        """Where only a prompt is known, what asks or works looks the same while the prompt is shown."""
        if self._profile.busy or self._profile.dialogs:
            return Interrupted(True, "it was idle, so nothing was pressed")
        return Interrupted(
            False, "its prompt was there, so nothing was pressed; its profile knows no dialog, and no work"
        )

    def _keeps_from_stopping(self, view: View, reading: Reading) -> str:
        """A key that stops a turn answers a dialog, and nobody knows what it does elsewhere."""
        refused = refusal(view, reading, self._profile, Text("", Kind.COMMAND))
        goes_elsewhere = view.in_mode or view.synchronised or not view.foreground or view.shell
        return refused.words if refused and (goes_elsewhere or reading.state is not State.BUSY) else ""

    def _presses(self, key: str) -> bool:
        """Press a key that stops a turn, while there is one; whether that is done, or needs no doing."""
        view = self._terminal.look()
        reading = self._read(view)
        if reading.state is State.IDLE:
            return True
        return not self._keeps_from_stopping(view, reading) and self._terminal.press(key, view)

    def _stop(self) -> Interrupted:
        keys = " ".join(self._profile.stop)
        for n, key in enumerate(self._profile.stop):
            if n:
                self._sleep(self._profile.apart)
            if not self._until(lambda key=key: self._presses(key), _STOP):
                return Interrupted(False, f"{key} was not pressed: its terminal changed all the time")
        began = time.monotonic()
        if self._until(lambda: self._reading().state is State.IDLE, _STOP):
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


def _has_typed(view: View, since: float) -> bool:
    """Whether a person has pressed a key since an Enter of ours, before which they had not for a while.

    Half of that while makes up for clocks that tell whole seconds only.
    """
    return view.typed_ago is not None and view.typed_ago < view.at - since + QUIET / 2


def _proven(words: str) -> Delivered:
    return Delivered(Result.PROVEN, evidence=Evidence.TERMINAL, words=words)


def _composer(draft: str | None) -> str:
    """What an idle one holds."""
    if not draft:
        return "its composer is empty"
    return OURS if is_ours(draft) else "its composer holds a draft"


def _is_silent(exc: BridgeError) -> bool:
    return bool(exc.facts.get("silent"))


def _unreached(exc: BridgeError) -> str:
    """Why nothing is typed into a terminal that cannot be looked at."""
    return (Reason.UNKNOWN_SCREEN if _is_silent(exc) else Reason.OFFLINE).value


def _working(moved_ago: float | None) -> tuple[Doing, str]:
    """Whether something that looks like work is: what works shows it, if only by a moving sign."""
    if moved_ago is None:
        return Doing.PROCESSING, "its screen says so"
    if moved_ago >= _STUCK:
        return Doing.STUCK, f"its screen says that it works, but has not changed for {moved_ago:.0f} s"
    return Doing.PROCESSING, f"its screen says so, and changed {moved_ago:.0f} s ago"
