"""An agent CLI and its room, kept from one cell of the matrix to the next: each start costs seconds."""

import contextlib
import copy
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from postroom.runtimes.screen import of
from tests.agents.clis import CLIS
from tests.agents.desk import Desk, Posted, tool
from tests.agents.fault import Fault
from tests.agents.log import BOUND, Request, until
from tests.agents.pane import Pane
from tests.agents.pin import cache, program
from tests.agents.rig import Done, Rig
from tests.agents.terminal import Terminal

LABEL = "may have been shown before"
NOT_WOKEN = ("gemini", "goose")  # by anything but a line that the daemon types
AT_STOP = ("goose",)  # is shown mail when its turn would end, so that turn must have been answered
DRAFTS_BACK = ("qwen",)  # what was asked is a draft again, if it is stopped before an answer
_GONE = "or it is gone"  # a hook that began as its agent ended
_SCRIPT = "[[bash echo hi]] [[say BYE]]"
_QUIET = 1.0  # seconds without a request
_PATIENCE = 400.0  # seconds for a run: some try a request that is cut again and again
_SHOWN = 3.0  # seconds in which a screen shows that a turn has begun
_NOTICED = 20.0  # seconds in which the room notices the end of a turn
_ASKS = 3  # how often a person writes something, until mail that was held has come


def installed(name: str) -> str:
    """The name of a CLI; skips where there is none."""
    if program(name) is None:
        pytest.skip(f"NOT TESTED HERE: no {name} in {cache()}: make agents")
    return name


class Kept:
    """One CLI in its rig. Each cell begins at an idle prompt, and leaves one."""

    def __init__(self, name: str) -> None:
        self.rig = Rig(CLIS[installed(name)])
        self.desk = Desk(self.rig).set_up()
        self.desk.env |= self.rig.cli.hurry(self.rig.place)
        self.log = self.rig.log
        self._terminal: Terminal | None = None
        self._number = 0

    @property
    def terminal(self) -> Terminal:
        """The one in which it waits at its prompt; it is started if there is none."""
        if self._terminal is None:
            self._terminal = self._start()
        return self._terminal

    def _start(self) -> Terminal:
        """With a first turn: some runtimes tell of a session only when somebody has said something."""
        cli = self.rig.cli
        terminal = self.desk.terminal(*cli.wakeable, *cli.free)
        terminal.wait_idle()
        self.ask(terminal)
        if cli.name in NOT_WOKEN:
            Pane(self.desk, terminal).adopt()
        return terminal

    def ask(self, terminal: Terminal, script: str = "[[bash echo WO''RD-%]] [[say DONE-%]]") -> None:
        """Write a prompt, and wait until its turn is over."""
        self._number += 1
        word = f"WORD-{self._number}"
        terminal.submit(script.replace("%", str(self._number)))
        until(lambda: self.log.answered(word), BOUND, f"answer to {word}")
        self.wait_over(terminal)
        assert self.looks_idle()

    def wait_over(self, terminal: Terminal, *, is_stopped: bool = False) -> None:
        """Wait until no turn runs: the screen is idle, and no request open, unless its turn was stopped."""

        def is_over() -> bool:
            asked = self.log.requests()
            is_quiet = time.time() - asked[-1].time > _QUIET  # else it may be between two tries
            return is_quiet and (is_stopped or all(each.outcome for each in asked)) and terminal.idle()

        terminal.wait(is_over, "end of the turn", 2 * BOUND)

    def start_tool(self) -> Callable[[], None]:
        """Let it run a tool, which goes on until what is given back is called."""
        self._number += 1
        number = self._number
        self.terminal.submit(f"[[bash {tool(number)}]] [[say TOOLED-{number}]]")
        self.desk.wait_tool(number)
        return lambda: self.desk.end_tool(number)

    def wait_shown(self, one: Posted) -> None:
        """Wait until mail is in a request."""
        try:
            until(lambda: self.asked(one), BOUND, f"{one.mark!r} in a request")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.report(one)}") from None

    def stop(self, terminal: Terminal) -> None:
        """Stop the turn as a person does."""
        profile = of(self.rig.cli.name)
        for key in profile.stop:
            terminal.press(key)
            Event().wait(profile.apart)

    def _wait_busy(self) -> None:
        """The request may be made before the screen says so, and keys are heard."""
        with contextlib.suppress(AssertionError):  # not all say so
            until(lambda: re.search(self.rig.cli.busy, self.terminal.screen()), _SHOWN, "busy screen")

    def wait_tries(self, one: Posted, count: int) -> None:
        """Wait until so many requests had a message, and none of them is open."""
        until(
            lambda: len(done := self.asked(one)) >= count and all(each.outcome for each in done),
            BOUND,
            "requests",
        )

    def wait_given_up(self, one: Posted, stopped_after: int) -> None:
        """Wait until the turn with mail has failed, or a person has stopped it after so many requests."""
        if not stopped_after:
            self.wait_over(self.terminal)
        else:
            until(lambda: len(self.asked(one)) >= stopped_after, BOUND, "requests")
            before = len(self.asked(one))
            self._wait_busy()
            self.stop(self.terminal)
            if self.rig.cli.name in DRAFTS_BACK:
                self.terminal.settle()
                self.terminal.press("C-u")
            # One that was rung for while it worked begins another turn as soon as it is stopped.
            until(lambda: self.terminal.idle() or len(self.asked(one)) > before, BOUND, "end of the turn")

    def quit(self) -> None:
        """End it as a person does."""
        self.terminal.quit()
        self._forget()

    def kill(self) -> None:
        """End it where no word of a person would."""
        os.killpg(self.terminal.pid, signal.SIGKILL)
        until(lambda: not self.terminal.alive(), BOUND, "end of the agent")
        self._forget()

    def _forget(self) -> None:
        if self._terminal is not None:
            self._terminal.close()
        self._terminal = None

    def run(self) -> Done:
        rig = self.rig
        return rig.command(rig.program, *rig.cli.headless(_SCRIPT), bound=_PATIENCE, **self.desk.env)

    def run_in_terminal(self) -> Terminal:
        """As `run`, where a person can press keys."""
        rig = copy.copy(self.rig)
        rig.cli = rig.cli._replace(interactive=tuple(rig.cli.headless(_SCRIPT)))
        return rig.terminal(**self.desk.env)

    # what is held

    def looks_idle(self) -> bool:
        """Whether the room, too, comes to think that no turn runs, whatever became of the last."""
        with contextlib.suppress(AssertionError):
            until(lambda: self.desk.presence() == "idle", _NOTICED, "idle session")
        return self.desk.presence() == "idle"

    def check_unread(self, one: Posted) -> None:
        """No model has read it, so nothing says that one has."""
        assert not self.log.answered(one.mark), self.report(one)
        assert not self.desk.is_seen(one.id), f"a false receipt: {self.report(one)}"

    @contextlib.contextmanager
    def fault(self, fault: Fault) -> Iterator[str]:
        """Let requests be met by a fault, from the first on that has mail; the mark which that must have."""
        mark = self.desk.mark()
        with self.log.fault(fault, about=mark if self.rig.cli.name in AT_STOP else ""):
            yield mark

    def come(self, one: Posted) -> None:
        """The model answers again: a person writes, and mail comes."""
        for _ in range(_ASKS):
            self.ask(self.terminal)
            if self.desk.is_seen(one.id):
                return

    def check_read(self, one: Posted) -> None:
        """It has reached a model that answered; only then was it called seen; once, or with a label."""
        until(lambda: self.desk.is_seen(one.id), BOUND, f"evidence that it was seen: {self.report(one)}")
        answered = self.log.answered(one.mark)
        assert answered, f"a false receipt: {self.report(one)}"
        seen = self.desk.delivery(one.id).seen_at
        assert seen is not None
        assert seen >= int(answered[0].time * 1000), f"a receipt before an answer: {self.report(one)}"
        text = answered[-1].text
        assert text.count(one.mark) == 1 or LABEL in text, f"shown again without a label: {self.report(one)}"
        complaints = [line for line in self.desk.complaints().splitlines() if _GONE not in line]
        assert complaints == []

    def asked(self, one: Posted) -> list[Request]:
        """The requests with a message, whatever became of them."""
        return [each for each in self.log.requests() if one.mark in each.text]

    def report(self, one: Posted) -> str:
        """What is known of it, for whoever looks for the cause."""
        asked = [
            f"{each.time:.3f} {each.outcome or 'open'} ×{each.text.count(one.mark)}"
            for each in self.asked(one)
        ]
        told = [
            f"{event.timestamp} {event.type} {event.payload}"
            for event in self.desk.room.events()
            if one.id in str(event.refs)
        ]
        screen = self._terminal.screen() if self._terminal and self._terminal.alive() else ""
        screen = re.sub(r"\n\s*\n+", "\n", screen)
        return "\n".join([str(self.desk.delivery(one.id)), *asked, *told, self.desk.complaints(), screen])

    def close(self) -> None:
        self.desk.close()
        self.rig.close()
