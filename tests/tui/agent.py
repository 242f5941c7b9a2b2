"""A fake agent for terminals: `python -m tests.tui.agent --log FILE --control SOCKET [option …]`.

It looks like an agent CLI and has the quirks of many, each by an option of its own (`option.py`). What it
is told on its control socket is a list of words: an option and its value, or a method of `behaviour.Agent`
that begins with `do_`. It answers when it has drawn what came of it.
"""

import json
import math
import os
import select
import socket
import sys
import time
import traceback
from typing import Any

from tests.tui.behaviour import Agent
from tests.tui.console import Console
from tests.tui.face import draw
from tests.tui.log import Log
from tests.tui.option import parser


class Loop:
    """Show, wait for whatever is first, and take it."""

    def __init__(self, agent: Agent, console: Console, control: socket.socket) -> None:
        self._agent, self._console, self._control = agent, console, control
        self._asked: list[str] = []  # who waits for an answer

    def run(self) -> None:
        while not self._agent.ended:
            self._show(time.monotonic())
            self._wait()

    def _show(self, now: float) -> None:
        agent, console = self._agent, self._console
        console.show(draw(agent, *console.size()), now, agent.options.slow_draw / 1000)
        while self._asked and console.due == math.inf:
            self._answer(self._asked.pop(), frame=console.frames)

    def _wait(self) -> None:
        """What can be read is read before time counts: an Escape is not one if its rest is here."""
        agent, console = self._agent, self._console
        sources = [self._control, console.resized, *([0] if agent.listening else [])]
        due = min(agent.due, console.due)
        ready = select.select(sources, [], [], None if due == math.inf else max(0, due - time.monotonic()))[0]
        now = time.monotonic()
        if console.resized in ready:
            console.refresh()
        if 0 in ready:
            self._read()
        if self._control in ready:
            self._obey()
        self._tick(now)

    def _read(self) -> None:
        data = self._console.read(self._agent.options.chunk)
        if data:
            self._agent.read(data, time.monotonic())
        else:
            self._agent.ended = True

    def _obey(self) -> None:
        words, sender = self._control.recvfrom(65536)
        try:
            self._agent.tell(json.loads(words), time.monotonic())
            self._asked.append(sender)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._answer(sender, error=repr(error))

    def _answer(self, whom: str, **fields: Any) -> None:
        try:
            self._control.sendto(json.dumps(fields).encode(), whom)
        except OSError:
            pass  # a test that has failed waits no longer

    def _tick(self, now: float) -> None:
        agent, was_mounted = self._agent, self._agent.mounted
        agent.tick(now)
        self._console.bracket(agent.mounted and agent.options.bracketed)
        if agent.mounted and not was_mounted and not agent.options.keeps and self._console.has_keys():
            agent.log("lost", bytes=self._console.read(65536).decode("latin-1"))


def main(words: list[str]) -> None:
    options = parser().parse_args(words)
    log = Log(options.log)
    try:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(options.control):  # of one that was killed, and is started again
            os.unlink(options.control)
        control.bind(options.control)
        with Console() as console:
            log("started", pid=os.getpid())
            Loop(Agent(options, log, time.monotonic()), console, control).run()
        log("ended")
    except Exception:
        log("crashed", trace=traceback.format_exc())
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
