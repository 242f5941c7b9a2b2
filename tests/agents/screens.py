"""Records what real agents show: `python -m tests.agents.screens [NAME …]`.

One session of each CLI in a terminal, captured with its colours in each state that the guard must know:
at rest, with a draft, with pasted lines, at work (with and without a tool), and asking for permission.
Written are `tests/data/screens/<cli>/<case>.ansi`, and in `index.json` the version, the size and where the
cursor was.
"""

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from typing import Any

from tests.agents.cli import Cli
from tests.agents.clis import CLIS
from tests.agents.log import BOUND, until
from tests.agents.pin import version
from tests.agents.rig import Rig
from tests.agents.terminal import Terminal
from tests.process import ROOT

DATA = os.path.join(ROOT, "tests", "data", "screens")
DRAFT = "half a sentence"
MOVES = 5  # after so many changes a screen shows what it does
LINES = "\n".join(f"line {n} of what was pasted" for n in range(1, 13))
FACTS = (
    "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_width} #{pane_height} #{alternate_on} "
    "#{pane_current_command}"
)


class Recorder:
    def __init__(self, rig: Rig, terminal: Terminal, folder: str) -> None:
        self._terminal = terminal
        self._folder = folder
        self.index: dict[str, Any] = {}

    def keep(self, case: str, *, settled: bool = True) -> None:
        if settled:
            self._terminal.settle()
        screen = self._terminal.tmux("capture-pane", "-p", "-e", "-N")
        x, y, flag, width, height, alternate, command = self._terminal.tmux(
            "display-message", "-p", FACTS
        ).split()
        with open(os.path.join(self._folder, f"{case}.ansi"), "w", encoding="utf-8") as file:
            file.write(_scrubbed(screen))
        self.index[case] = {
            "cursor": [int(x), int(y)], "cursor_shown": flag == "1", "size": [int(width), int(height)],
            "alternate": alternate == "1", "command": command,
        }  # fmt: skip


def record(cli: Cli) -> list[str]:
    folder = os.path.join(DATA, cli.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with Rig(cli) as rig, rig.terminal() as terminal:
        recorder = Recorder(rig, terminal, folder)
        for play in (at_rest, with_a_draft, at_work, with_a_tool, asking, after):
            try:
                play(rig, terminal, recorder.keep)
            except AssertionError as error:
                print(f"  {cli.name} {play.__name__}: {str(error)[:2000]}")
                recorder.keep(f"failed-{play.__name__}")
        index = {"version": version(cli.name), "cases": recorder.index}
        with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as file:
            json.dump(index, file, indent=2, sort_keys=True)
            file.write("\n")
    return sorted(index["cases"])


Keep = Callable[..., None]


def at_rest(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.wait_idle(90)
    keep("idle-fresh")
    terminal.submit("[[bash echo RE''ADY]] [[say BEGUN]]")
    rig.log.wait("READY")
    terminal.wait_idle()
    keep("idle")


def with_a_draft(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.type(DRAFT)
    terminal.wait_screen(DRAFT)
    keep("draft")
    terminal.press("C-u")
    terminal.wait(lambda: DRAFT not in terminal.screen(), "empty composer")
    keep("idle-again")
    terminal.paste("[[say SEEN]] one pasted line")
    terminal.wait_screen("one pasted line")
    keep("pasted-line")
    terminal.press("Enter")
    terminal.wait_screen("SEEN")
    terminal.wait_idle()
    before = terminal.screen()
    terminal.paste(LINES)
    terminal.wait(lambda: terminal.screen() != before, "pasted lines")
    keep("pasted-lines")
    terminal.press("Enter")
    rig.log.wait("line 12 of what was pasted")
    terminal.wait_idle()


def at_work(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.submit("[[sleep 6]] [[say WOR''KED]]")
    rig.log.wait("sleep 6")
    moved(terminal)
    keep("busy-text", settled=False)
    terminal.wait_screen("WOR''KED|WORKED")
    terminal.wait_idle()


def with_a_tool(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    begun, go = (os.path.join(rig.place.project, name) for name in ("begun", "go"))
    terminal.submit("[[bash touch begun; until [ -e go ]; do true; done]] [[say TOOLED]]")
    until(lambda: os.path.exists(begun) or terminal.asking(), BOUND, "tool, or question")
    if not os.path.exists(begun):
        keep("dialog-tool")
        terminal.press("Enter")
        until(lambda: os.path.exists(begun), BOUND, "tool")
    moved(terminal)
    keep("busy-tool", settled=False)
    terminal.type(DRAFT)
    moved(terminal)
    keep("busy-draft", settled=False)
    for _ in DRAFT:
        terminal.press("BSpace")
    open(go, "w", encoding="ascii").close()
    terminal.wait_screen("TOOLED")
    terminal.wait_idle()


def moved(terminal: Terminal) -> None:
    """Wait until the screen has changed a few times; one that stands still has nothing more to show."""
    for _ in range(MOVES):
        before = terminal.screen()
        with contextlib.suppress(AssertionError):
            until(lambda: terminal.screen() != before, 2.0, "change")  # noqa: B023 - called at once


def asking(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.submit(f"May I? {rig.cli.question} [[say GRANTED]]")
    asked = os.path.join(rig.place.project, "asked.txt")
    terminal.wait(lambda: terminal.asking() or os.path.exists(asked), "question")
    if terminal.asking():
        terminal.wait_asking()
        keep("dialog")
        terminal.press("Enter")
    terminal.wait(lambda: os.path.exists(asked), "granted wish")
    terminal.wait_idle()


def after(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    keep("idle-late")


def _scrubbed(screen: str) -> str:
    """Without names of this machine, and each line as long as it was."""
    return re.sub(r"rig-[a-z0-9_]{8}", "rig-00000000", screen).replace("/root", "/home")


def main(names: list[str]) -> None:
    for name in names or list(CLIS):
        print(name, *record(CLIS[name]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
