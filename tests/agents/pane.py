"""An agent in a pane that a daemon reaches, its mail, and the person whose pane it is."""

import contextlib
import itertools
import json
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from fcntl import ioctl
from typing import Any, Self

from postroom.bridges.terminal.reading import Reading, read
from postroom.bridges.terminal.screen import parse
from postroom.model.ladder import State
from postroom.model.message import Delivery
from postroom.runtimes.screen import of
from tests.agents.desk import BIN, NAME, Desk, Posted
from tests.agents.log import BOUND, Request, until
from tests.agents.rig import Done
from tests.agents.terminal import Terminal

POSTROOM = os.path.join(BIN, "postroom")
_KEYS = {"Escape": "\x1b", "BSpace": "\x7f", "C-u": "\x15"}
SIZE = struct.pack("HHHH", 50, 140, 0, 0)


class Pane:
    """One adopted agent."""

    def __init__(self, desk: Desk, terminal: Terminal) -> None:
        self.desk = desk
        self.rig = desk.rig
        self.terminal = terminal
        self.id = terminal.pane
        self._profile = of(self.rig.cli.name)

    def postroom(self, *words: str) -> Done:
        """The command line, as the person calls it beside the agent."""
        env = {name: value for name, value in self.desk.env.items() if name != "POSTROOM_AGENT"}
        return self.rig.command(POSTROOM, *words, **env)

    @property
    def socket(self) -> str:
        return self.terminal.tmux("display-message", "-p", "#{socket_path}").strip()

    def adopt(self, *options: str) -> dict[str, Any]:
        """Have the daemon reach it from now on; what that says of it."""
        done = self.postroom("adopt", "--all", "--socket", self.socket, "--as", NAME, "--json", *options)
        assert done.code == 0, done
        [found] = json.loads(done.out)["adopted"]
        return found

    def begin(self) -> None:
        """A first turn."""
        self.terminal.wait_idle(90)
        self.terminal.submit("[[say BEGUN]]")
        until(lambda: self.asked("BEGUN"), BOUND, "first request")
        self.wait_idle()

    def reading(self) -> Reading:
        """What the screen shows, as the guard reads it."""
        cursor = "#{cursor_y}"
        words = ("display-message", "-p", "-t", self.id, cursor, ";", "capture-pane", "-p", "-e", "-N")
        said = ""
        while not said:  # tmux 3.3 says nothing in the moment in which a client leaves
            said = self.terminal.tmux(*words, "-t", self.id)
        row, _, screen = said.partition("\n")
        return read(parse(screen, int(row)), self._profile)

    def press(self, *keys: str) -> None:
        """Press keys in this pane, whichever is in front."""
        self.terminal.press("-t", self.id, *keys)

    def wait_reading(self, condition: Callable[[Reading], bool], what: str, bound: float = BOUND) -> None:
        def holds() -> bool:
            return condition(self.reading())

        try:
            until(holds, bound, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.terminal.screen()}") from None

    def wait_idle(self) -> None:
        """Wait until it is idle, and its composer empty."""
        self.wait_reading(lambda seen: seen.state.value == "idle" and seen.draft == "", "idle composer")
        self.terminal.settle()

    def own(self, script: str) -> float:
        """How long the agent itself takes, from Enter to the model's request, when a person writes."""
        at = self.terminal.submit(script)
        until(lambda: self.asked(script), BOUND, "request with it")
        took = self.asked(script)[0].time - at
        self.wait_idle()
        return took

    def rest(self) -> None:
        """Wait until it has written nothing for a while, as one does at which nobody works."""

        def is_at_rest() -> bool:
            return time.time() - int(self.terminal.tmux("display-message", "-p", "#{window_activity}")) > 2.0

        until(is_at_rest, BOUND, "pane at rest")

    # mail

    def asked(self, mark: str) -> list[Request]:
        """The requests that have a text: of the conversation, where the agent has tools."""
        known = self.rig.log.requests()
        talk = [request for request in known if request.has_tools] or known
        return [request for request in talk if mark in request.text]

    def wait_asked(self, one: Posted) -> float:
        """Wait until mail is in a request; how long after it was sent that was."""
        try:
            until(lambda: self.asked(one.mark), BOUND, "request with it")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.delivery(one)}\n{self.terminal.screen()}") from None
        return self.asked(one.mark)[0].time - one.at

    def times(self, mark: str) -> int:
        """How often a text stands in the model's context."""
        return max((request.text.count(mark) for request in self.asked(mark)), default=0)

    def delivery(self, one: Posted) -> Delivery:
        return self.desk.delivery(one.id)

    def words(self) -> list[str]:
        """What the daemon has noted of each text that it has typed."""
        events = [event for event in self.desk.room.events() if event.type == "agent.pushed"]
        return [f"{event.payload['result']}: {event.payload['words']}" for event in events]

    def wait_reason(self, one: Posted, reason: str) -> None:
        """Wait until mail is said to wait for that."""
        try:
            until(lambda: self.delivery(one).reason == reason, BOUND, f"mail that waits as {reason}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.delivery(one)}\n{self.terminal.screen()}") from None
        assert self.delivery(one).state is State.STORED

    def wait_typed(self, one: Posted) -> float:
        """Wait until mail was typed, and proven; how long it took until the model was asked."""
        took = self.wait_asked(one)
        try:
            done = self.desk.wait_seen(one.id)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.words()[-1:]}\n{self.terminal.screen()}") from None
        assert (done.route, done.evidence) == ("tmux", "terminal")
        assert self.times(one.mark) == 1
        return took

    # the person

    def decline(self, until_seen: Posted) -> None:
        """Say no to all that it asks, until mail was seen; some ask again.

        A question is on the screen a little before its keys are heard.
        """

        def is_seen() -> bool:
            if self.reading().state.value == "dialog":
                self.press(*self.rig.cli.declines)
                with contextlib.suppress(AssertionError):
                    self.wait_reading(lambda seen: seen.state.value != "dialog", "answer", 2.0)
            return self.desk.is_seen(until_seen.id)

        try:
            until(is_seen, BOUND, "mail that was seen")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.delivery(until_seen)}\n{self.terminal.screen()}") from None

    def allow(self, until_done: str) -> None:
        """Say yes to what it asks, if it asks, until the tool has made a file."""

        def is_done() -> bool:
            if self.reading().state.value == "dialog" and not os.path.exists(until_done):
                self.press("Enter")
                with contextlib.suppress(AssertionError):
                    self.wait_reading(lambda seen: seen.state.value != "dialog", "answer", 2.0)
            return os.path.exists(until_done)

        try:
            until(is_done, BOUND, "tool that runs")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.terminal.screen()}") from None

    def clear(self) -> None:
        """Empty the composer, as a person does."""
        keys = itertools.cycle(("C-u", "BSpace"))

        def is_empty() -> bool:
            draft = self.reading().draft
            if draft:
                self.press(next(keys))
            return draft == ""

        try:
            until(is_empty, BOUND, "empty composer")
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.terminal.screen()}") from None


class Person:
    """Somebody who has the pane open: what they type goes through a client of tmux, which notes when."""

    def __init__(self, pane: Pane) -> None:
        command = [*pane.rig.prefix, "tmux", "-S", pane.socket, "attach"]
        self._keys, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, SIZE)
        self._client = subprocess.Popen(
            command, env=pane.rig.env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """What is shown must be read, or tmux would wait."""
        with contextlib.suppress(OSError):
            while os.read(self._keys, 1 << 16):
                pass

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())

    def press(self, key: str) -> None:
        self.type(_KEYS[key])

    def close(self) -> None:
        self._client.terminate()
        self._client.wait(BOUND)
        os.close(self._keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
