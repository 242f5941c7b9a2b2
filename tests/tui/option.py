"""What the fake agent can be told, on its command line and again while it runs."""

import argparse
from typing import Any, NoReturn

MOMENTS = ("paste", "enter", "key")
LOOKS = ("dim", "grey", "bright", "plain")
_FLAG = argparse.BooleanOptionalAction


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def parser() -> argparse.ArgumentParser:
    """Times are in milliseconds. What it does not know is a `ValueError`."""
    made = _Parser(prog="tests.tui.agent", allow_abbrev=False)
    made.add_argument("--log", required=True, help="the file that gets its events")
    made.add_argument("--control", required=True, help="the datagram socket on which it is told what to do")
    for add in (_input, _composer, _turn, _start, _dialog):
        add(made)
    return made


def change(options: argparse.Namespace, words: list[str]) -> None:
    """Set some options anew; the others stay."""
    made = parser()
    for action in made._actions:
        action.required = False
    made.parse_args(words, options)


def _input(made: Any) -> None:
    made.add_argument("--bracketed", action=_FLAG, default=True, help="asks for pastes in brackets")
    made.add_argument("--quiet", type=float, default=100, help="an Enter so soon after a paste is a newline")
    made.add_argument("--burst", action=_FLAG, default=False, help="an Enter soon after a burst is a newline")
    made.add_argument("--slow-read", type=float, default=0, help="time between two reads")
    made.add_argument("--slow-draw", type=float, default=0, help="time from a change to its frame")
    made.add_argument("--chunk", type=int, default=65536, help="bytes of one read")


def _composer(made: Any) -> None:
    made.add_argument("--fold", type=int, default=10, help="a paste of more lines is shown by a marker")
    made.add_argument("--placeholder", nargs="?", const='Try "fix the tests"', default="")
    made.add_argument("--ghost", default="", help="a suggestion after the cursor; Enter alone submits it")
    made.add_argument("--ghost-look", choices=LOOKS, default="dim")
    made.add_argument("--vim", action=_FLAG, default=False)
    made.add_argument("--picker", action=_FLAG, default=False, help="/, @ and file names open one")
    made.add_argument("--completion", default=" ", help="what the picker adds for the Enter it eats")
    made.add_argument("--height", type=int, default=0, help="rows of the composer; 0: as many as it needs")
    made.add_argument("--wrap", choices=("char", "word"), default="char")


def _turn(made: Any) -> None:
    made.add_argument("--turn", type=float, default=0, help="how long it works; below 0: until it is told")
    made.add_argument("--endless", default="", help="a text with that makes it work until it is stopped")
    made.add_argument("--busy", choices=("queue", "steer", "interrupt", "ignore"), default="queue")
    made.add_argument("--stops", default="Escape", help="the keys that interrupt it, with commas")
    made.add_argument("--stuck", action=_FLAG, default=False, help="nothing moves while it works")
    made.add_argument("--spinner", type=float, default=100, help="time between two looks of it")


def _start(made: Any) -> None:
    made.add_argument("--splash", type=float, default=0, help="shows no composer for so long")
    made.add_argument(
        "--slow-start", type=float, default=0, help="reads no key for so long; below 0: until told"
    )
    made.add_argument("--keeps", action=_FLAG, default=False, help="and finds all keys then, else loses them")
    made.add_argument("--trust", action=_FLAG, default=False, help="asks whether it may trust the folder")


def _dialog(made: Any) -> None:
    made.add_argument("--overlay", action=_FLAG, default=False, help="a dialog leaves the composer in sight")
    made.add_argument("--fragile", action=_FLAG, default=False, help="a paste's Escape cancels a dialog")
    made.add_argument("--dialog-after", default="", help="paste, enter or key; `paste:50` for 50 ms later")
    made.add_argument("--dialog-random", default="", help="SEED:MEAN, at random moments")
    made.add_argument("--dialog-lasts", type=float, default=0, help="then it goes away by itself; 0: never")
