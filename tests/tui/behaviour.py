"""What the fake agent does with keys and time. Nothing here reads a clock or a terminal."""

import argparse
import math
import random

from tests.tui.composer import Composer
from tests.tui.dialog import DIALOGS, YES, Dialog
from tests.tui.key import Decoder, Key
from tests.tui.log import Log
from tests.tui.option import change

_ESCAPE = 0.05  # seconds after which an Escape of which nothing more has come is one


class Agent:
    """What it knows and does; each call says what time it is."""

    def __init__(self, options: argparse.Namespace, log: Log, now: float) -> None:
        self.options, self.log = options, log
        self.composer = Composer(options)
        self.dialog: Dialog | None = DIALOGS["trust"] if options.trust else None
        self.transcript: list[tuple[str, str]] = [("note", "A fake agent.")]
        self.queue: list[str] = []
        self.mode = "insert"  # of vim's
        self.working = self.strange = self.mounted = self.ended = False
        self.moves = 0  # of the spinner
        self._decoder = Decoder()
        self._last = ""  # the key before
        self._timers: dict[str, float] = {}
        self._begin(now)

    def _begin(self, now: float) -> None:
        if self.options.splash:
            self._timers["splash"] = now + self.options.splash / 1000
        if self.options.slow_start >= 0:
            self._timers["mount"] = now + self.options.slow_start / 1000
        self._throw(now)

    # ------------------------------------------------------------------------------------------ time

    @property
    def loading(self) -> bool:
        return "splash" in self._timers

    @property
    def listening(self) -> bool:
        """Whether it reads its terminal now."""
        return self.mounted and "read" not in self._timers

    @property
    def due(self) -> float:
        """When it must be called next."""
        return min(self._timers.values(), default=math.inf)

    def tick(self, now: float) -> None:
        """Do what is due, unless what was done before has called it off."""
        for name in [name for name, at in self._timers.items() if at <= now]:
            act = getattr(self, f"_on_{name}", None)
            if self._timers.pop(name, None) is not None and act:
                act(now)

    def _on_mount(self, now: float) -> None:
        self.mounted = True
        self.log("mounted")

    def _on_escape(self, now: float) -> None:
        for key in self._decoder.flush():
            self.press(key, now)

    def _on_open(self, now: float) -> None:
        self.do_dialog(now)

    def _on_close(self, now: float) -> None:
        self.do_close(now)

    def _on_random(self, now: float) -> None:
        self.do_dialog(now)
        self._again(now)

    def _throw(self, now: float) -> None:
        """Begin with random moments, or end with them."""
        seed, _, mean = self.options.dialog_random.partition(":")
        self._random, self._mean = random.Random(seed), float(mean or 0)
        self._timers.pop("random", None)
        self._again(now)

    def _again(self, now: float) -> None:
        if self._mean:
            self._timers["random"] = now + self._random.expovariate(1000 / self._mean)

    def _on_spin(self, now: float) -> None:
        if self.working:
            self._timers["spin"] = now + self.options.spinner / 1000
            self.moves += not self.options.stuck

    def _on_turn(self, now: float) -> None:
        self.do_done(now)

    # ------------------------------------------------------------------------------------------ keys

    def read(self, data: bytes, now: float) -> None:
        """Take what was read at that moment."""
        self.log("read", bytes=data.decode("latin-1"))
        if self.options.slow_read:
            self._timers["read"] = now + self.options.slow_read / 1000
        for key in self._decoder.feed(data, bracketed=self.options.bracketed):
            self.press(key, now)
        self._timers.pop("escape", None)
        if self._decoder.waits:
            self._timers["escape"] = now + max(_ESCAPE, self.options.slow_read / 500)

    def press(self, key: Key, now: float) -> None:
        """The topmost thing on the screen takes the key."""
        if self.strange:
            self._choose(key)
        elif self.dialog:
            self._answer(self.dialog, key, now)
        elif self.options.vim and self.mode == "normal":
            self._command(key, now)
        else:
            self._edit(key, now)
        self._last = key.name
        self._arm(key.name, now)

    def _arm(self, name: str, now: float) -> None:
        """A dialog may wait for a key, once. One that waits no longer is there before the next key."""
        moment, _, after = self.options.dialog_after.partition(":")
        if moment in (name.lower(), "key"):
            self.options.dialog_after = ""
            if after:
                self._timers["open"] = now + float(after) / 1000
            else:
                self.do_dialog(now)

    def _choose(self, key: Key) -> None:
        if key.name in ("Enter", "Escape"):
            self.strange = False
            self.log("chosen", by=key.name)

    def _answer(self, dialog: Dialog, key: Key, now: float) -> None:
        match key:
            case Key("Up" | "Down"):
                self.dialog = dialog.moved(1 if key.name == "Down" else -1)
            case Key("Enter"):
                self._decide(dialog, dialog.selected, key.name)
            case Key("Escape" | "C-c"):
                self._decide(dialog, len(dialog.choices) - 1, key.name)
            case Key("text", digit) if digit.isdecimal() and 0 < int(digit) <= len(dialog.choices):
                self._decide(dialog, int(digit) - 1, digit)
            case Key("paste") if self.options.fragile:
                self._decide(dialog, len(dialog.choices) - 1, key.name)
            case Key("paste", text):
                self._spell(text, now)
            case _:
                pass

    def _spell(self, text: str, now: float) -> None:
        """A paste where none is expected: each of its characters is a key."""
        for c in text:
            self.press(Key("Enter") if c == "\n" else Key("text", c), now)

    def _decide(self, dialog: Dialog, choice: int, by: str) -> None:
        self.dialog = None
        self._timers.pop("close", None)
        self.log("approved" if choice == YES else "denied", dialog=dialog.name, by=by)
        self.transcript.append(("note", f"{dialog.question} {dialog.choices[choice]}"))
        self.ended = dialog.name == "trust" and choice != YES

    def _command(self, key: Key, now: float) -> None:
        """In vim's NORMAL mode each character is a command, of a paste too."""
        if key.name == "paste":
            self._spell(key.text, now)
        elif key.text in tuple("iaIAoO"):
            self.mode = "insert"
        elif self.working and key.name in self.options.stops.split(","):
            self._interrupt(key.name, now)
        else:
            self.log("command", key=key.text or key.name)

    def _edit(self, key: Key, now: float) -> None:
        match key:
            case Key("text", character):
                self.composer.type(character, now)
            case Key("paste", text):
                self.log("pasted", text=text)
                self.composer.paste(text, now)
            case Key("Enter"):
                self._enter(now)
            case Key("C-j"):
                self.composer.newline()
            case Key("Backspace"):
                self.composer.backspace()
            case Key("Tab" | "Right") if self.options.ghost:
                self.composer.paste(self.options.ghost, 0)
                self.options.ghost = ""
            case _:
                self._leave(key.name, now)

    def _leave(self, name: str, now: float) -> None:
        """Keys that end something: the picker, INSERT mode, the turn, the draft, and at last the agent."""
        if name == "Escape" and self.composer.picking:
            self.composer.pick()
        elif name in ("Escape", "C-c") and self.options.vim:
            self.mode = "normal"
        elif self.working and name in self.options.stops.split(","):
            self._interrupt(name, now)
        elif name in ("C-u", "C-c") or name == self._last == "Escape":
            self.ended = name == self._last == "C-c"
            self.log("cleared", text=self.composer.take(), by=name)

    # ----------------------------------------------------------------------------------------- turns

    def _enter(self, now: float) -> None:
        if why := self.composer.swallows(now):
            self.log("swallowed", why=why)
        elif word := self.composer.picking:
            self.composer.pick(self.options.completion)
            self.log("picked", word=word)
        elif not self.composer.text.strip():
            ghost, self.options.ghost = self.options.ghost, ""
            if ghost:
                self._submit(ghost, now, ghost=True)
        elif not self.working:
            self._submit(self.composer.take(), now)
        else:
            self._meanwhile(now)

    def _meanwhile(self, now: float) -> None:
        """An Enter while it works."""
        if self.options.busy == "queue":
            self.queue.append(self.composer.take())
            self.log("queued", text=self.queue[-1])
        elif self.options.busy == "interrupt":
            self.queue.append(self.composer.take())
            self._interrupt("Enter", now)
        elif self.options.busy == "steer":
            self._submit(self.composer.take(), now, steered=True)

    def _submit(self, text: str, now: float, **how: bool) -> None:
        self.log("submitted", text=text, **how)
        self.transcript.append(("user", text))
        turn = -1 if self.options.endless and self.options.endless in text else self.options.turn
        if turn and not self.working:
            self.do_busy(now)
            if turn > 0:
                self._timers["turn"] = now + turn / 1000
        elif not self.working:
            self.transcript.append(("agent", "Done."))

    def _interrupt(self, by: str, now: float) -> None:
        self.log("interrupted", by=by)
        self.transcript.append(("note", "Interrupted."))
        self._rest(now)

    def _rest(self, now: float) -> None:
        """The turn is over; what waits makes the next one."""
        self.working = False
        self._timers.pop("turn", None)
        while self.queue and not self.working:
            self._submit(self.queue.pop(0), now, queued=True)

    # --------------------------------------------------------------------------------------- control

    def tell(self, words: list[str], now: float) -> None:
        """Do as the test says."""
        if words[0].startswith("--"):
            change(self.options, words)
            if "--dialog-random" in words:
                self._throw(now)
        else:
            getattr(self, f"do_{words[0]}")(now, *words[1:])

    def do_look(self, now: float) -> None:
        """Nothing; but the screen shows what it knows."""

    def do_dialog(self, now: float, name: str = "permission") -> None:
        if self.dialog is None:
            self.dialog = DIALOGS[name]
            self.log("opened", dialog=name)
            if self.options.dialog_lasts:
                self._timers["close"] = now + self.options.dialog_lasts / 1000

    def do_close(self, now: float) -> None:
        """The dialog goes, as if a person had dealt with it elsewhere."""
        if self.dialog:
            self.log("withdrawn", dialog=self.dialog.name)
            self.dialog = None

    def do_strange(self, now: float) -> None:
        """Show something that no profile knows; Enter or Escape ends it."""
        self.strange = True

    def do_busy(self, now: float) -> None:
        self.working, self.moves = True, 0
        self._timers["spin"] = now + self.options.spinner / 1000
        self.log("working")

    def do_done(self, now: float) -> None:
        self.transcript.append(("agent", "Done."))
        self.log("done")
        self._rest(now)

    def do_vim(self, now: float, mode: str) -> None:
        self.options.vim, self.mode = True, mode

    def do_mount(self, now: float) -> None:
        self._timers["mount"] = now

    def do_freeze(self, now: float, after: str = "inf") -> None:
        """Read nothing for so long; else until it thaws."""
        self._timers["read"] = now + float(after) / 1000

    def do_thaw(self, now: float) -> None:
        self._timers.pop("read", None)

    def do_say(self, now: float, text: str) -> None:
        self.transcript.append(("agent", text))

    def do_draft(self, now: float, text: str) -> None:
        """A text stands in the composer that nobody typed here: from its history, from an editor."""
        self.composer.paste(text, 0)

    def do_exit(self, now: float) -> None:
        self.ended = True
