"""`postroom top` in a real terminal: what is on its screen, in which colours, and what it leaves behind."""

import os
import re
from collections.abc import Iterator

import pytest

from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.page.hall import Hall
from tests.page.scripted import PERSON, PROJECT
from tests.pane import Pane
from tests.top.seen import Shown

COLOUR = re.compile(r"\x1b\[[0-9;]*?(?<![0-9])(3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;m]")


@pytest.fixture
def pane() -> Iterator[Pane]:
    with Pane() as pane:
        yield pane


def start(pane: Pane, home: str, *argv: str, **env: str) -> Shown:
    return Shown(pane, "--as", "human:ana", *argv, POSTROOM_HOME=home, POSTROOM_PROJECT="p", **env)


def test_it_shows_lives_and_leaves_the_terminal_as_it_was(room: LocalRoom, pane: Pane, home: str):
    shown = start(pane, home)
    shown.until("Agents", "builder", "not running", "q quit")
    title = pane.ask("#{pane_title}")
    room.send("builder", "\x1b]0;owned\x07\x1b[2J\x1b[1;1Hwiped \x1b[?1049l", subject="a letter")
    shown.until("●○○○", "a letter", "␛]0;owned␇", "Agents")
    assert COLOUR.search(shown.text("-e"))
    assert pane.ask("#{pane_title}") == title
    shown.press("q")
    shown.until("ended with 0", without="Agents")
    assert pane.ask("#{alternate_on}") == "0"


def test_without_colours_everything_can_be_read(room: LocalRoom, pane: Pane, home: str):
    room.send("builder", "a letter")
    shown = start(pane, home, NO_COLOR="1")
    shown.until("a letter", "1 waiting")
    shown.until("s stop")
    shown.press("s")
    shown.until("nothing to stop")
    assert COLOUR.search(shown.text("-e")) is None
    shown.press("Escape")
    shown.until("Agents", without="Stop builder?")
    shown.press("/")
    shown.until("state:dead …")
    assert COLOUR.search(shown.text("-e")) is None


def test_a_room_elsewhere_is_shown_and_a_line_that_breaks_is_told(
    home: str, tmp_path: os.PathLike[str], pane: Pane
):
    with Hall(home, os.path.join(tmp_path, "work")) as hall:
        token = hall.terminal.ok("tokens", "issue", PERSON, "--json", "--as", PERSON).json["token"]
        hall.up()
        shown = Shown(pane, POSTROOM_HOME=hall.origin, POSTROOM_TOKEN=token, POSTROOM_PROJECT=PROJECT)
        shown.until("Agents", "frontend", f"as {PERSON}")
        hall.script.send("planner", "backend", "over the wire", "a body")
        shown.until("shop/planner → shop/", "over the wire")
        hall.kill()
        shown.until("what you see may be old", "over the wire")
        hall.script.send("planner", "backend", "while it was down", "a body")
        hall.up()
        shown.until("while it was down", without="may be old")


def test_what_is_missing_is_said_before_the_screen_is_taken(
    room: LocalRoom, home: str, tmp_path: os.PathLike[str]
):
    place = os.path.join(tmp_path, "hidden")
    os.mkdir(place)
    with open(os.path.join(place, "textual.py"), "w", encoding="utf-8") as file:
        file.write("raise ModuleNotFoundError(\"No module named 'textual'\", name='textual')\n")
    cli = CommandLine(home)
    with Pane() as pane:
        shown = start(pane, home, PYTHONPATH=place)
        shown.until("Install the extra top", "--once")
        shown.until("ended with 1")
    assert cli.process("top", "--once", env={"PYTHONPATH": place}).code == 0
