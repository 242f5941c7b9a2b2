"""The terminal that we emulate beside a real tmux: the same bytes make the same screen."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator

import pytest

from postroom.bridges.process.emulator import Emulator
from postroom.bridges.terminal.screen import Line, parse
from tests.machine import lacks
from tests.process import BOUND, environment, until

COLUMNS, LINES = 12, 5
CLEAN = "\x1bc\x1b[?1049l\x1b[r\x1b[0m\x1b[2J\x1b[H"
Show = Callable[[str], list[Line]]

WRITTEN = [
    "hello\r\nworld",
    "more than fits into one line of it",
    "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7",
    "日本日本日本日本",
    "a日b\x1b[3Gx",
    "a日b\x1b[2Gx",
    "日d日becaae",
    "twelve chars\x08X",
    "twelve chars\x1b[3DX",
    "twelve chars\tX",
    "twelve chars\x1b[BX",
    "ab\tc\td",
    "\x1b[2mdim\x1b[22m not",
    "\x1b[31;44mred\x1b[K\r\nnext",
    "\x1b[38;5;200m256\x1b[38;2;1;2;3mrgb\x1b[92;104mbright",
    "\x1b[48;5;3m\n\n\n\n\n\nx",
    "one\r\ntwo\r\nthree\x1b[2;1H\x1b[L\x1b[2mnew",
    "one\r\ntwo\r\nthree\x1b[1;2H\x1b[2Mx",
    "one\r\ntwo\r\nthree\r\nfour\x1b[2;3r\x1b[3;1H\nnew\x1b[r",
    "one\r\ntwo\r\nthree\r\nfour\x1b[2;3r\x1b[2;1H\x1bMnew\x1b[r",
    "one\r\ntwo\r\nthree\x1b[2S",
    "one\r\ntwo\r\nthree\x1b[2T",
    "one\r\ntwo\x1b[3;3rx",
    "abcdef\x1b[3G\x1b[2@x",
    "abcdef\x1b[3G\x1b[2P",
    "abcdef\x1b[3G\x1b[2X",
    "abcdef\x1b[3G\x1b[1K",
    "one\r\ntwo\r\nthree\x1b[2;2H\x1b[J",
    "one\r\ntwo\r\nthree\x1b[2;2H\x1b[1J",
    "one\x1b7\r\ntwo\x1b8X\x1b8Y",
    "\x1b[2m\x1b8x",
    "main\x1b[?1049h\x1b[2J\x1b[Halternate",
    "main\x1b[?1049h\x1b[2J\x1b[Halternate\x1b[?1049lback",
    "\x1b[3;3H\x1b[2Aup\x1b[9Bdown\x1b[9A\x1b[2Ex\x1b[Fy\x1b[4dz",
    "a\x1b[5b",
    "e\u0301a\u0300",
    "\x1b[?7lmore than fits into one line",
]


def trimmed(line: Line) -> Line:
    size = len(line.text.rstrip())
    return Line(line.text[:size], line.looks[:size])


@pytest.fixture(scope="module")
def shown() -> Iterator[Show]:
    """Shows something in a pane of tmux; what is captured there."""
    if shutil.which("tmux") is None:
        lacks("tmux")
    root = tempfile.mkdtemp(prefix="pane-")
    pipe = os.path.join(root, "in")
    os.mkfifo(pipe)

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", os.path.join(root, "tmux"), "-f", os.devnull, *words]
        return subprocess.run(
            command, env=environment(), check=True, timeout=BOUND, capture_output=True, text=True
        ).stdout

    def capture() -> list[Line]:
        return [
            trimmed(line) for line in parse(tmux("capture-pane", "-p", "-e", "-N").removesuffix("\n")).lines
        ]

    def show(written: str) -> list[Line]:
        os.write(descriptor, f"{CLEAN}\x1b[5;1Hwaiting".encode())
        until(lambda: capture()[-1].text == "waiting")
        os.write(descriptor, f"{CLEAN}{written}".encode())
        until(lambda: capture()[-1].text != "waiting")
        return capture()

    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    script = f"stty raw -echo; exec cat {pipe}"
    tmux("set", "-g", "status", "off", ";", "new-session", "-d", *size, "--", "sh", "-c", script)
    tmux("set", "-g", "status", "off", ";", "resize-window", *size)
    descriptor = os.open(pipe, os.O_RDWR)
    yield show
    tmux("kill-server")
    os.close(descriptor)
    shutil.rmtree(root)


@pytest.mark.parametrize("written", WRITTEN)
def test_the_same_bytes_make_the_same_screen_as_in_tmux(shown: Show, written: str):
    emulator = Emulator(COLUMNS, LINES, lambda _: None)
    emulator.feed(written.encode())
    assert [trimmed(line) for line in emulator.screen().lines] == shown(written)
