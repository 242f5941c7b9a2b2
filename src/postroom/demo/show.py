"""The demo: puts the agents on the stage, follows the room's events, and kills the builder on the way."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import Any

from postroom.demo import caption, pane, script
from postroom.demo.account import account
from postroom.demo.board import Board, Note
from postroom.demo.screen import Output, Screen
from postroom.demo.stage import Stage
from postroom.errors import TimedOut
from postroom.model.message import Event, Message
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE

After = Callable[[LocalRoom, dict[str, Any], "pane.Act | None"], None]

UNIT = 0.5  # seconds a unit of work takes when people watch
LONGEST = 20.0
TICK = 0.1


class Show:
    """One run of the demo."""

    def __init__(
        self, stage: Stage, screen: Screen, board: Board, pace: script.Pace, asked: list[int]
    ) -> None:
        self._stage = stage
        self._asked = asked  # the signals that asked it to end
        self._screen = screen
        self._board = board
        self._pace = pace
        self._deadline = time.monotonic() + LONGEST
        self._names: dict[str, str] = {}
        self._cursor = ""
        self._killed = False
        self._captions = caption.Captions()
        self._later: list[tuple[float, Callable[[], None]]] = []

    def run(self) -> None:
        self._stage.start(script.REVIEWER)
        self._stage.start(script.CRITIC)
        self._stage.start(script.BUILDER, stuck_on=script.FATAL)
        self._await_ready()
        self._stage.start(script.PLANNER)
        left = 0
        for event in self._events():
            left += event.type == "agent.left"
            if left == len(script.NAMES):
                break
        while not self._stage.has_ended(TICK):
            self._tick()

    def _await_ready(self) -> None:
        """Who is written to must have an address, and must follow what it will follow."""
        waiting = {
            ("agent.joined", script.BUILDER),
            ("agent.joined", script.REVIEWER),
            ("topic.subscribed", script.CRITIC),
        }
        for event in self._events():
            waiting.discard((event.type, self._name(event.party)))
            if not waiting:
                return

    def _events(self) -> Iterator[Event]:
        """Events as they come, each shown; between them the picture moves, and nobody waits for ever."""
        room = self._stage.room
        bell = room.bell.waiter(EVERYONE)
        try:
            while True:
                for event in room.store.look().events(self._cursor):
                    self._cursor = room.store.look().cursor(event)
                    self._take_in(event)
                    yield event
                self._tick()
                bell.wait(TICK)
        finally:
            bell.close()

    def _take_in(self, event: Event) -> None:
        message, party = self._message(event), self._name(event.party)
        recipients = [self._name(one) for one in event.payload.get("recipients", ())]
        row = self._board.feed(event, message, party, recipients)
        if row is not None:
            self._screen.changed(row)
            self._tell(self._captions.about(event, row))
        if message is not None and self._is_fatal(event, message):
            self._killed = True
            self._in(2.6, partial(self._kill, _task(message)))
        if event.type == "delivery.offered" and event.payload["n"] > 1:
            self._tell(caption.back(party, _task(message)))

    def _tell(self, note: Note | None) -> None:
        if note is not None:
            self._screen.changed(self._board.add(note))

    def _is_fatal(self, event: Event, message: Message) -> bool:
        return event.type == "delivery.offered" and not self._killed and _task(message) == script.FATAL and (
            self._name(event.party) == script.BUILDER
        )  # fmt: skip

    def _kill(self, task: str) -> None:
        """The builder has the task in hand, and will not let go by itself."""
        pid = self._stage.kill(script.BUILDER)
        self._board.killed(script.BUILDER)
        self._tell(caption.killed(script.BUILDER, pid, task))
        self._in(2.6, self._start_again)

    def _start_again(self) -> None:
        self._stage.start(script.BUILDER)
        self._board.started(script.BUILDER)

    def _in(self, units: float, action: Callable[[], None]) -> None:
        """Do something later: people need time to look."""
        self._later.append((time.monotonic() + units * self._pace.unit, action))

    def _tick(self) -> None:
        _end_if(self._asked)
        self._stage.check()
        if time.monotonic() > self._deadline:
            raise TimedOut(
                f"the demo did not end within {LONGEST:g} s", hint="Is the machine very busy? Try again."
            )
        due = [action for at, action in self._later if at <= time.monotonic()]
        self._later = [one for one in self._later if one[1] not in due]
        for action in due:
            action()
        self._screen.draw()

    def _name(self, party: str) -> str:
        if party not in self._names:
            agent = self._stage.room.store.look().agent(party)
            self._names[party] = agent.name if agent else ""
        return self._names[party]

    def _message(self, event: Event) -> Message | None:
        ref = event.refs.get("message")
        return self._stage.room.store.look().message(ref) if ref else None


def _task(message: Message | None) -> str:
    return (message.payload or {}).get("task_id", "") if message else ""


def run(
    out: Output, person: str, *, fast: bool = False, keep: bool = False, after: After | None = None
) -> dict[str, Any]:
    """Play the demo on an output; the account of what happened to every message.

    `person` is who watches, and writes in the last act. `after` is given the room, the account and that act
    while the room and the act's pane are there.
    """
    pace = script.Pace(0.0 if fast else UNIT)
    asked: list[int] = []
    before = _listen_for_signals(asked)
    try:
        with Stage(pace=pace.unit, keep=keep) as stage, ExitStack() as panes:
            started = time.monotonic()
            _play(stage, out, pace, asked)
            act = None
            if pane.can_play():
                act = panes.enter_context(pane.staged(stage.room, out, pace.unit, person))
            last = act.play() if act else None
            seconds = round(time.monotonic() - started, 2)
            kept = {"pane": last, "seconds": seconds, "home": stage.home if keep else None}
            report = account(stage.room) | kept
            if after is not None:
                after(stage.room, report, act)
            return report
    finally:
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _play(stage: Stage, out: Output, pace: script.Pace, asked: list[int]) -> None:
    board = Board(script.NAMES)
    with Screen(out, board) as screen:
        Show(stage, screen, board, pace, asked).run()
    _end_if(asked)


_HAS_TIMER = hasattr(signal, "setitimer")
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)
]


def _listen_for_signals(asked: list[int]) -> dict[int, Any]:
    """Note who asks it to end; the handlers there were before.

    An exception from a handler may come at any instruction: once it came inside `subprocess`, which then
    held a lock for ever. So the show looks at the note instead, at every tick. Only if no tick comes for a
    second, because whoever should read our output does not, it is an exception after all.
    """

    def handle(number: int, _: FrameType | None) -> None:
        if number == getattr(signal, "SIGALRM", None):
            _end_if(asked)
        asked.append(number)
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 1.0)

    return {number: signal.signal(number, handle) for number in _SIGNALS}


def _end_if(asked: list[int]) -> None:
    if asked:
        raise KeyboardInterrupt if asked[0] == signal.SIGINT else SystemExit(128 + asked[0])
