"""Any program with a screen, in a terminal of its own that no window shows; people may attach to it.

The terminal is emulated by the library `pyte`, the extra `postroom[pty]`.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom import extra
from postroom.bridges.contract import (
    Assent,
    Berth,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Text,
)
from postroom.bridges.process import nursery
from postroom.bridges.process.child import Child, Size
from postroom.bridges.process.key import sent
from postroom.bridges.process.tape import Tape
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.profile import profile_of
from postroom.bridges.terminal.shell import is_shell
from postroom.bridges.terminal.typist import Typist
from postroom.clock import wall
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.protocol.plain import clean
from postroom.runtimes.screen import Profile

if TYPE_CHECKING:
    from postroom.bridges.process.emulator import Emulator

NAME = "pty"
ABOUT = "any program with a screen, in a terminal that no window shows"
CAPABILITIES = Capabilities(screen=True, proves=(Evidence.TERMINAL,), interrupts=True, owned=True)
BY_CALLER = False
_WRITE = 5.0  # seconds for a program to take what is typed
_LINE = 1_000  # bytes that every system's terminals hold of one line
_TERM = "xterm-256color"
_SMALLEST, _LARGEST = 10, 1_000  # columns or lines
# What tells a program of the terminal in which we were started, and would be wrong of its own.
_FOREIGN = (
    "TMUX", "TMUX_PANE", "STY", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "WINDOWID", "LINES",
    "COLUMNS", "VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "ITERM_SESSION_ID",
)  # fmt: skip


def start(launch: Launch) -> Berth:
    env = {name: value for name, value in launch.env.items() if name not in _FOREIGN} | {"TERM": _TERM}
    with nursery.reserved(launch):
        return nursery.keep(launch, Pty(launch._replace(env=env), _size(launch)))


def open(berth: Berth) -> "PtyBridge":
    return PtyBridge(nursery.find(berth, Pty), profile_of(berth))


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; of a child that was closed nothing is left."""
    nursery.end(berth)


def _size(launch: Launch) -> Size:
    wanted = [launch.details.get(name) or usual for name, usual in Size()._asdict().items()]
    try:
        return _bounded(*map(int, wanted))
    except ValueError:
        raise BridgeError(
            f"{wanted} is no size of a terminal", hint="For example: columns 140, lines 50"
        ) from None


def _bounded(columns: int, lines: int) -> Size:
    return Size(*(min(max(_SMALLEST, number), _LARGEST) for number in (columns, lines)))


def _emulator(size: Size, answer: Callable[[str], None]) -> "Emulator":
    try:
        from postroom.bridges.process.emulator import Emulator  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise BridgeError(
            "agents in a terminal of ours need the library pyte",
            hint=extra.hint("pty"),
        ) from exc
    return Emulator(size.columns, size.lines, answer)


class Pty:
    """A terminal in which a child runs. What it shows is read, typed and attached to by any thread."""

    def __init__(self, launch: Launch, size: Size | None = None) -> None:
        size = size or Size()
        self._guard = threading.Lock()  # of the screen; never held while something is written
        self._hand = threading.Lock()  # of whoever types
        self._answers: list[str] = []
        self._emulator = _emulator(size, self._answers.append)
        self._watchers: list[Callable[[bytes], None]] = []
        self._moved_at: float | None = None
        self._typed_at: float | None = None
        self._typed = 0
        self._tape = Tape()
        self._ring: Callable[[], None] = lambda: None
        self._child = Child(launch, self, size)
        self._child.listen()

    @property
    def process(self) -> str:
        return self._child.process

    @property
    def is_gone(self) -> bool:
        return self._child.is_gone

    # ------------------------------------------------------------------------------- by the child's thread

    def heard(self, stream: str, data: bytes) -> None:
        with self._guard:
            self._moved_at = time.monotonic()
            self._emulator.feed(data)
            answers = "".join(self._answers)
            self._answers.clear()
            for watcher in [*self._watchers]:
                self._show(watcher, data)
        if answers:
            self._child.answer(answers.encode())

    def _show(self, watcher: Callable[[bytes], None], data: bytes) -> None:
        """Whoever is attached and fails is so no longer: the agent runs on."""
        try:
            watcher(data)
        except Exception:
            self._watchers.remove(watcher)

    def ended(self, code: int) -> None:
        self._tape.add(Heard(exit_code=code))
        with self._guard:
            for watcher in [*self._watchers]:
                self._show(watcher, b"")
        self._ring()

    # ---------------------------------------------------------------------------------------- as a terminal

    def look(self) -> View:
        with self._guard:
            now, alive = time.monotonic(), not self._child.is_gone
            return View(
                self._emulator.screen(), now, alive,
                foreground=alive and self._child.is_in_foreground(),
                shell=is_shell(self._child.process),
                typed_ago=None if self._typed_at is None else now - self._typed_at,
                moved_ago=None if self._moved_at is None else now - self._moved_at,
                facts=self._facts(),
            )  # fmt: skip

    def _facts(self) -> str:
        return f"{self._emulator.facts} {self._typed} {self._child.is_in_foreground()}"

    def paste(self, text: str, view: View) -> bool:
        """One paste, if the program has asked to be told of them; else no more than one line."""
        plain = clean(text)
        with self._hand:
            is_framed = self._emulator.takes_pastes
            data = (f"\x1b[200~{plain}\x1b[201~" if is_framed else plain).encode(errors="replace")
            if not self._is_as_in(view) or ("\n" in plain and not is_framed):
                return False
            return not (len(data) > _LINE and self._child.is_line_by_line()) and self._type(data)

    def press(self, key: str, view: View | None = None) -> bool:
        data = sent(key, self._emulator.has_cursor_keys)
        with self._hand:
            return (view is None or self._is_as_in(view)) and self._type(data)

    def _is_as_in(self, view: View) -> bool:
        with self._guard:
            return self._facts() == view.facts

    def _type(self, data: bytes) -> bool:
        done = self._child.write(data, _WRITE)
        if done and done < len(data):
            raise BridgeError(f"its terminal took {done} of {len(data)} bytes")
        return done == len(data)

    def scrollback(self, lines: int) -> str:
        with self._guard:
            shown = [*self._emulator.history(lines), *self._emulator.screen().text.split("\n")]
        return "\n".join(line.rstrip() for line in shown).rstrip()

    def close(self) -> None:
        self._child.close()

    # -------------------------------------------------------------------------------- for whoever attaches

    def subscribe(self, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Show somebody the screen as it is, then all that is written to it, until the result is called.

        Whoever is called must not wait for anything: the agent would.
        """
        with self._guard:
            callback(self._emulator.painted())
            self._watchers.append(callback)
        return lambda: self._unsubscribe(callback)

    def _unsubscribe(self, callback: Callable[[bytes], None]) -> None:
        with self._guard:
            self._watchers = [watcher for watcher in self._watchers if watcher is not callback]

    def type_by_person(self, data: bytes) -> None:
        """What somebody typed who is attached: as it is, and noted, so that nothing is typed in between."""
        with self._hand:
            with self._guard:
                self._typed += 1
                self._typed_at = time.monotonic()
            self._child.write(data, _WRITE)

    def resize(self, columns: int, lines: int) -> None:
        """As near to it as a terminal of ours can be: what one has no end of, the emulator would draw."""
        size = _bounded(columns, lines)
        with self._guard:
            self._emulator.resize(*size)
            self._child.resize(size)

    def attend(self, ring: Callable[[], None]) -> None:
        """Have `ring` called when it ends."""
        self._ring = ring

    def ends(self) -> list[Heard]:
        """That it has ended, once."""
        return self._tape.take()


class PtyBridge:
    """A bridge to a program in such a terminal."""

    name = NAME

    def __init__(self, terminal: Pty, profile: Profile) -> None:
        self._terminal = terminal
        self._profile = profile
        self._typist = Typist(terminal, profile)

    def capabilities(self) -> Capabilities:
        return CAPABILITIES._replace(busy=self._profile.queues)

    def setup(self) -> None:
        """Nothing is missing where it runs."""

    def observe(self) -> Observation:
        if self._terminal.is_gone:
            return Observation(Doing.GONE, "its process has ended", "offline", at=wall())
        return self._typist.observe()

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        return self._typist.deliver(text, assent)

    def attend(self, ring: Callable[[], None]) -> None:
        """Its end is told; whoever waits for a proof looks again."""
        self._terminal.attend(ring)

    def receive(self) -> list[Heard]:
        return [*self._typist.receive(), *self._terminal.ends()]

    def interrupt(self) -> Interrupted:
        return self._typist.interrupt()

    def answer(self, question: str, option: str) -> bool:
        """What its screen asks, people answer there."""
        return False

    def screen(self, lines: int = 0) -> str:
        return self._typist.screen(lines)

    def terminal(self) -> Pty:
        return self._terminal

    def close(self) -> None:
        nursery.let_go(self._terminal)
        self._typist.close()
