"""Somebody who types into a pane, with its pen.

    python -m tests.tui.writer HOME PANE PROCESS TEXT [SPAN [STEP]]

With a step it stands still there. It says how it went, one line of JSON each: that it is ready, and whenever
it is told to write, what became of its text.
"""

import json
import os
import signal
import sys

from postroom import label
from postroom.bridges.contract import Assent, Text
from postroom.bridges.terminal import typist
from postroom.bridges.tmux.pane import Pane
from postroom.bridges.tmux.server import target
from postroom.config import Settings
from postroom.errors import TerminalTaken
from postroom.room import pen
from postroom.room.local import LocalRoom
from tests.tui.profile import PROFILE


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(home: str, pane: str, process: str, text: str, *more: str) -> None:
    span, stops = (*more, "60000", "")[:2] if len(more) < 2 else more
    pen._SPAN = int(span)
    typist._PATIENCE = 1.0
    if stops:
        label.here = lambda step: os.kill(os.getpid(), signal.SIGSTOP) if step == stops else None
    room = LocalRoom(home, Settings(sender_rate=0))
    hand = typist.Typist(Pane(target(pane), process), PROFILE)
    say("ready")
    for _ in sys.stdin:
        try:
            with pen.Pen(room, pane) as held:
                delivered = hand.deliver(Text(text), Assent(lambda: None, held.holds))
            say([delivered.result.value, delivered.reason, delivered.words, held.fence])
        except TerminalTaken as exc:
            say(["refused", "taken", str(exc), 0])


if __name__ == "__main__":
    main(*sys.argv[1:])
