"""Records what real agents show: `python -m tests.agents.screens [NAME [PLAY …]]`.

One session of each CLI in a terminal, captured with its colours in each state that the guard must know: at
rest, with a draft, with what was pasted, at work, asking, in its modes and pickers (`mode`), narrow, stopped,
and after it printed what looks like its own composer; then one start for each question it asks before it can
work (`beginning`). Written are `tests/data/screens/<cli>/<case>.ansi`, and in `index.json` the version, and
of each case its size and where the cursor was. With the name of a play or a start only that one is recorded.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from subprocess import CalledProcessError
from threading import Event
from typing import Any

from postroom.bridges.terminal.reading import State, read
from postroom.bridges.terminal.screen import parse
from postroom.runtimes.screen import of
from tests.agents.beginning import BEGINNINGS, Beginning
from tests.agents.cli import Cli
from tests.agents.clis import CLIS
from tests.agents.log import BOUND, until
from tests.agents.mode import MODES, Mode
from tests.agents.pin import version
from tests.agents.rig import Rig
from tests.agents.terminal import Terminal
from tests.process import ROOT

DATA = os.path.join(ROOT, "tests", "data", "screens")
DRAFT = "half a sentence"
MOVES = 5  # after so many changes a screen shows what it does
LINES = "\n".join(f"line {n} of what was pasted" for n in range(1, 13))
PASTES = {
    "two": "first of two lines\nand the second of them",
    "five": "\n".join(f"line {n} of five" for n in range(1, 6)),
    "wrap": " ".join(f"word{n:03}" for n in range(50)),
    "long": " ".join(f"long{n:04}" for n in range(170)),
    "many": "\n".join(f"line {n} of forty" for n in range(1, 41)),
    "astral": "party \U0001f389 " * 150 + "over",
    "wide": "Grüße 日本語 テキスト 🎉 naïve 한국어 " + "字" * 70 + " end",
}
TOOLLESS = ("aider",)
FACTS = (
    "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_width} #{pane_height} #{alternate_on} "
    "#{pane_current_command}"
)


class Recorder:
    """Keeps screens of one CLI; what was kept before by the same version stays."""

    def __init__(self, name: str) -> None:
        self._folder = os.path.join(DATA, name)
        self._version = version(name)
        self._index: dict[str, Any] = {}
        os.makedirs(self._folder, exist_ok=True)
        with contextlib.suppress(FileNotFoundError), open(self._path, encoding="utf-8") as file:
            known = json.load(file)
            self._index = known["cases"] if known["version"] == self._version else {}

    @property
    def _path(self) -> str:
        return os.path.join(self._folder, "index.json")

    def keep(self, terminal: Terminal, case: str, *, settled: bool = True) -> None:
        if settled:
            terminal.settle()
        screen = terminal.tmux("capture-pane", "-p", "-e", "-N")
        x, y, flag, width, height, alternate, command = terminal.tmux("display-message", "-p", FACTS).split()
        with open(os.path.join(self._folder, f"{case}.ansi"), "w", encoding="utf-8") as file:
            file.write(_scrubbed(screen))
        self._index[case] = {
            "cursor": [int(x), int(y)], "cursor_shown": flag == "1", "size": [int(width), int(height)],
            "alternate": alternate == "1", "command": command,
        }  # fmt: skip
        self._write()

    def _write(self) -> None:
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump({"version": self._version, "cases": self._index}, file, indent=2, sort_keys=True)
            file.write("\n")


Keep = Callable[..., None]


def record(cli: Cli, names: list[str]) -> None:
    recorder = Recorder(cli.name)
    able = [play for play in PLAYS if cli.name not in TOOLLESS or play not in (with_a_tool, asking, queued)]
    plays = [play for play in able if not names or play.__name__ in names]
    if plays:
        with Rig(cli) as rig, rig.terminal() as terminal:
            terminal.wait_idle(90)
            for play in plays:
                _try(play, rig, terminal, lambda case, **how: recorder.keep(terminal, case, **how))
    for name, beginning in BEGINNINGS.get(cli.name, {}).items():
        if not names or name in names:
            begin(cli, name, beginning, recorder)


def _try(play: Callable[..., None], rig: Rig, terminal: Terminal, keep: Keep) -> None:
    try:
        play(rig, terminal, keep)
    except AssertionError as error:
        print(f"  {rig.cli.name} {play.__name__}: {str(error)[:3000]}", flush=True)


def begin(cli: Cli, name: str, beginning: Beginning, recorder: Recorder) -> None:
    """One start, up to the question."""
    with Rig(beginning.altered(cli)) as rig:
        beginning.prepare(rig.place)
        with rig.terminal(*beginning.arguments, **beginning.also) as terminal:
            try:
                for pattern, step in beginning.steps:
                    terminal.wait_screen(pattern, 25)
                    _step(terminal, step)
                terminal.wait_screen(beginning.shown, 25)
                recorder.keep(terminal, name)
            except (AssertionError, CalledProcessError) as error:
                print(f"  {cli.name} {name}: {str(error)[:3000]}", flush=True)


def at_rest(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    with contextlib.suppress(AssertionError):
        until(lambda: _reads_idle(terminal, rig.cli.name), 20.0, "idle screen")
    keep("idle-fresh")
    terminal.submit("[[bash echo RE''ADY]] [[say BEGUN]]")
    heard(rig, "say BEGUN")
    moved(terminal)
    terminal.wait_idle()
    keep("idle")


def _reads_idle(terminal: Terminal, name: str) -> bool:
    y = int(terminal.tmux("display-message", "-p", "#{cursor_y}"))
    return read(parse(terminal.tmux("capture-pane", "-p", "-e", "-N"), y), of(name)).state is State.IDLE


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
    pasted(rig, terminal, keep, "lines", LINES)


def with_pastes(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    for name, text in PASTES.items():
        pasted(rig, terminal, keep, name, text)


def pasted(rig: Rig, terminal: Terminal, keep: Keep, name: str, text: str) -> None:
    before = terminal.screen()
    terminal.paste(text)
    terminal.wait(lambda: terminal.screen() != before, "pasted text")
    keep(f"pasted-{name}")
    terminal.press("Enter")
    heard(rig, text.rsplit("\n", maxsplit=1)[-1])
    terminal.wait_idle()


def narrow(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.wait_idle()
    keep("idle-80")
    terminal.type(DRAFT)
    terminal.wait_screen(DRAFT)
    keep("draft-80")
    terminal.press("C-u")
    terminal.wait(lambda: DRAFT not in terminal.screen(), "empty composer")
    for name in ("wrap", "many"):
        pasted(rig, terminal, keep, f"{name}-80", PASTES[name])
    terminal.tmux("resize-window", "-x", "140", "-y", "50")
    terminal.wait_idle()


def at_work(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.submit("[[sleep 6]] [[say WOR''KED]]")
    heard(rig, "sleep 6")
    moved(terminal)
    keep("busy-text", settled=False)
    terminal.wait_screen("WOR''KED|WORKED")
    terminal.wait_idle()


def with_a_tool(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    go = _tool(rig, terminal, keep, "TOOLED")
    keep("busy-tool", settled=False)
    terminal.type(DRAFT)
    moved(terminal)
    keep("busy-draft", settled=False)
    for _ in DRAFT:
        terminal.press("BSpace")
    go()
    terminal.wait_screen("TOOLED")
    terminal.wait_idle()


def queued(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    """What becomes of a text submitted at work: it is printed, for whoever writes the profile."""
    go = _tool(rig, terminal, keep, "FIN''ISHED")
    terminal.paste("sent meanwhile")
    moved(terminal)
    terminal.press("Enter")
    moved(terminal)
    keep("busy-queued", settled=False)
    before = arrived(rig, "sent meanwhile")
    go()
    terminal.wait_idle()
    if not arrived(rig, "sent meanwhile"):
        print(f"  {rig.cli.name} queued: not submitted at all", flush=True)
        terminal.press("Enter")
    heard(rig, "sent meanwhile")
    print(f"  {rig.cli.name} queued: asked before the tool ended: {before}", flush=True)
    terminal.wait_idle()
    print(f"  {rig.cli.name} queued: first turn went on: {'FIN' in rig.log.last().split('meanwhile')[0]}")


def stopped(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    terminal.submit("[[sleep 50]] [[say NE''VER]]")
    heard(rig, "sleep 50")
    moved(terminal)
    for key in of(rig.cli.name).stop:
        terminal.press(key)
        Event().wait(of(rig.cli.name).apart)
    moved(terminal)
    keep("stopped")


def _tool(rig: Rig, terminal: Terminal, keep: Keep, end: str) -> Callable[[], None]:
    """A tool that runs until what is given back is called."""
    begun, go = (os.path.join(rig.place.project, f"{name}-{end[:3]}") for name in ("begun", "go"))
    command = f"touch {os.path.basename(begun)}; until [ -e {os.path.basename(go)} ]; do sleep 0.2; done"
    terminal.submit(f"[[bash {command}]] [[say {end}]]")
    until(lambda: os.path.exists(begun) or terminal.asking(), BOUND, "tool, or question")
    if not os.path.exists(begun):
        terminal.wait_asking()
        keep("dialog-tool")
        terminal.press("Enter")
        until(lambda: os.path.exists(begun), BOUND, "tool")
    moved(terminal)
    return lambda: open(go, "w", encoding="ascii").close()


def arrived(rig: Rig, text: str) -> bool:
    """Whether the model was asked so, by an agent with tools or without."""
    return any(text in request.text for request in rig.log.requests())


def heard(rig: Rig, text: str) -> None:
    until(lambda: arrived(rig, text), 20.0, f"{text!r} in a request")


def moved(terminal: Terminal) -> None:
    """Wait until the screen has changed a few times; one that stands still has nothing more to show."""
    for _ in range(MOVES):
        before = terminal.screen()
        with contextlib.suppress(AssertionError):
            until(lambda: terminal.screen() != before, 1.0, "change")  # noqa: B023 - called at once


def asking(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    _ask(rig, terminal, keep, "dialog", "GRANTED")


def _ask(rig: Rig, terminal: Terminal, keep: Keep, case: str, end: str) -> None:
    asked = os.path.join(rig.place.project, "asked.txt")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(asked)
    terminal.submit(f"May I? {rig.cli.question} [[say {end}]]")
    terminal.wait(lambda: terminal.asking() or os.path.exists(asked), "question")
    if terminal.asking():
        terminal.wait_asking()
        keep(case)
        terminal.press("Enter")
    terminal.wait(lambda: os.path.exists(asked), "granted wish")
    terminal.wait_idle()


def in_modes(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    for name, mode in MODES.get(rig.cli.name, {}).items():
        _try(_mode(name, mode), rig, terminal, keep)


def _mode(name: str, mode: Mode) -> Callable[..., None]:
    def play(rig: Rig, terminal: Terminal, keep: Keep) -> None:
        for step in mode.enter:
            _step(terminal, step)
        try:
            terminal.wait_screen(mode.shown, 5)
            keep(mode.case or f"mode-{name}")
        finally:
            for step in mode.leave:
                _step(terminal, step)
        terminal.wait_idle(10)

    play.__name__ = name
    return play


def _step(terminal: Terminal, step: str) -> None:
    """A key by its name, a script to submit, or a text to type; the screen has come to rest after it."""
    if re.fullmatch(r"[CM]-.|Enter|Escape|BTab|Tab|Up|Down|Left|BSpace", step):
        terminal.press(step)
    elif step.startswith("[["):
        terminal.submit(step)
    else:
        terminal.type(step)
    terminal.settle()


def hostile(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    """The model prints the empty composer as it looks, and then it works and asks."""
    shown = [line.rstrip()[:120] for line in terminal.screen().split("\n") if line.strip()]
    terminal.paste("[[say FAKE\n\n" + "\n".join(shown[-7:]) + "\n]]")
    terminal.settle()
    terminal.press("Enter")
    heard(rig, "say FAKE")
    moved(terminal)
    terminal.settle()
    keep("hostile-idle")
    if rig.cli.name in TOOLLESS:
        return
    go = _tool(rig, terminal, keep, "HOS''TILE")
    keep("hostile-busy", settled=False)
    go()
    terminal.wait_idle()
    _ask(rig, terminal, keep, "hostile-dialog", "ASKED")


def after(rig: Rig, terminal: Terminal, keep: Keep) -> None:
    keep("idle-late")


PLAYS = (
    at_rest, with_a_draft, with_pastes, at_work, with_a_tool, asking, queued, in_modes, narrow, hostile,
    after, stopped,
)  # fmt: skip


def _scrubbed(screen: str) -> str:
    """Without names of this machine, and each line as long as it was."""
    return re.sub(r"rig-[a-z0-9_]{8}", "rig-00000000", screen).replace("/root", "/home")


def main(words: list[str]) -> None:
    for name in words[:1] or list(CLIS):
        print(name, flush=True)
        record(CLIS[name], words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
