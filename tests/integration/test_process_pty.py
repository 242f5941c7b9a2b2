"""Programs in a terminal of ours: what it shows, what is typed into it, and who is attached."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from postroom.bridges.contract import Assent, Doing, Launch, Result, Text
from postroom.bridges.process import pty
from postroom.bridges.process.emulator import Emulator
from postroom.bridges.process.pty import Pty
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.profile import check
from postroom.bridges.terminal.reading import read
from postroom.bridges.terminal.typist import Typist
from postroom.errors import BridgeError
from tests.process import ROOT, environment, until
from tests.tui.desk import Staged
from tests.tui.profile import PROFILE
from tests.tui.stage import Stage

# A program in raw mode that shows each byte it gets, in hexadecimal.
BYTES = """
import os, sys, tty
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode("unicode_escape").encode() + b"ready\\r\\n")
while True:
    os.write(1, os.read(0, 4096).hex().encode() + b" ")
"""
WILLING = Assent(lambda: None, lambda: True)
Begin = Callable[..., Pty]


def launch(place: object, *command: str, **details: int) -> Launch:
    env = environment(PYTHONPATH=ROOT)
    return Launch("a1", "p/builder", [*command], str(place), env, "claude", details)


@pytest.fixture
def begin(tmp_path: os.PathLike[str]) -> Iterator[Begin]:
    """Starts a script of the shell in a terminal."""
    made: list[Pty] = []

    def beginner(script: str = "", *command: str, **details: int) -> Pty:
        words = command or ("/bin/sh", "-c", script)
        made.append(pty.open(pty.start(launch(tmp_path, *words, **details))).terminal())
        return made[-1]

    yield beginner
    for terminal in made:
        terminal.close()


def text(terminal: Pty) -> str:
    return terminal.look().screen.text


def shows(terminal: Pty, wanted: str) -> None:
    until(lambda: wanted in text(terminal))


def typed(begin: Begin, first: str = "") -> Pty:
    terminal = begin("", sys.executable, "-c", BYTES, first)
    shows(terminal, "ready")
    return terminal


def test_a_program_has_a_terminal_that_is_its_own_and_of_the_size_that_was_asked_for(begin: Begin):
    terminal = begin("stty size; echo here > /dev/tty; echo TERM=$TERM; sleep 1000", columns=90, lines=30)
    shows(terminal, "TERM=xterm-256color")
    assert text(terminal).split("\n")[:3] == ["30 90", "here", "TERM=xterm-256color"]
    assert len(terminal.look().screen.lines) == 30


def test_nothing_tells_it_of_another_terminal(begin: Begin, monkeypatch: pytest.MonkeyPatch):
    for name in ("TMUX", "COLORTERM", "TERM_PROGRAM"):
        monkeypatch.setenv(name, "ours")
    terminal = begin('echo "[$TMUX$COLORTERM$TERM_PROGRAM]"; stty size; sleep 1000')
    shows(terminal, "50 140")
    assert "[]" in text(terminal)


def test_a_paste_is_framed_for_a_program_that_asked_for_that(begin: Begin):
    terminal = typed(begin, r"\x1b[?2004h")
    assert terminal.paste("a\nb", terminal.look())
    shows(terminal, b"\x1b[200~a\nb\x1b[201~".hex())


def test_no_text_can_leave_its_frame_or_press_a_key(begin: Begin):
    terminal = typed(begin, r"\x1b[?2004h")
    assert terminal.paste("a\x1b[201~\x03b\rc", terminal.look())
    shows(terminal, "1b5b3230317e")
    inner = bytes.fromhex(text(terminal).partition("ready")[2].replace("\n", "").replace(" ", ""))
    assert inner.startswith(b"\x1b[200~a")
    assert inner.endswith(b"c\x1b[201~")
    assert inner.count(b"\x1b") == 2
    assert b"\r" not in inner
    assert b"\x03" not in inner


def test_several_lines_are_not_pasted_where_they_would_be_several_texts(begin: Begin):
    terminal = typed(begin)
    assert not terminal.paste("a\nb", terminal.look())
    assert terminal.paste("one line", terminal.look())
    shows(terminal, b"one line".hex())
    assert b"a\nb".hex() not in text(terminal)


def test_a_long_paste_arrives_whole_however_slowly_it_is_read(begin: Begin):
    script = """import os, time, tty; tty.setraw(0); os.write(1, b"\\x1b[?2004hready "); got = b""
while not got.endswith(b"201~"): got += os.read(0, 100)
os.write(1, b"%d bytes" % len(got)); os.read(0, 1)"""
    terminal = begin("", sys.executable, "-c", script)
    shows(terminal, "ready")
    assert terminal.paste("x" * 100_000, terminal.look())
    shows(terminal, "100012 bytes")


def test_a_line_that_a_terminal_would_cut_is_not_typed(begin: Begin):
    terminal = begin("echo ready; cat")
    shows(terminal, "ready")
    assert not terminal.paste("x" * 5_000, terminal.look())
    assert terminal.paste("short", terminal.look())
    shows(terminal, "short")
    assert "xx" not in text(terminal)


def test_a_size_that_is_none_is_refused(tmp_path: os.PathLike[str]):
    with pytest.raises(BridgeError, match="no size"):
        pty.start(launch(tmp_path, "cat")._replace(details={"columns": "wide"}))


def test_keys_are_pressed_by_their_names_in_tmux(begin: Begin):
    terminal = typed(begin, r"\x1b[?1h")
    for key, data in (("Enter", "0d"), ("Up", "1b4f41"), ("C-c", "03"), ("Escape", "1b ")):
        assert terminal.press(key)
        shows(terminal, data)
    with pytest.raises(BridgeError):
        terminal.press("Return")


@pytest.mark.promise("seen-needs-evidence")
def test_what_a_person_who_is_attached_has_cleared_proves_nothing(tmp_path: os.PathLike[str]):
    with Stage() as stage:
        role = stage.child("--quiet", "1e6")  # no Enter after a paste is one
        terminal = pty.open(pty.start(launch(tmp_path, *role.argv))).terminal()

        class Attended(Staged):
            def press(self, key: str, view: View | None = None) -> bool:
                done = super().press(key, view)
                role.until("swallowed")
                terminal.type_by_person(b"\x15")
                role.until("cleared")
                return done

        try:
            role.until("mounted")
            until(lambda: terminal._emulator.takes_pastes)
            until(lambda: read(terminal.look().screen, PROFILE).draft == "")
            delivered = Typist(Attended(terminal), PROFILE).deliver(Text("hello"), WILLING)
        finally:
            terminal.close()
    assert delivered.result is Result.UNCERTAIN, delivered
    assert "pressed a key" in delivered.words


def test_nothing_is_typed_into_a_terminal_in_which_a_person_has_typed_since(begin: Begin):
    terminal = typed(begin)
    view = terminal.look()
    assert view.typed_ago is None
    terminal.type_by_person(b"x")
    assert not terminal.press("Enter", view)
    assert not terminal.paste("text", view)
    shows(terminal, "78 ")
    again = terminal.look()
    assert again.typed_ago is not None
    assert again.moved_ago is not None
    assert terminal.press("Enter", again)
    shows(terminal, "78 0d")


def test_a_job_that_has_taken_the_terminal_is_not_the_agent(begin: Begin):
    terminal = begin("echo agent; read go; set -m; sleep 1000")
    shows(terminal, "agent")
    view = terminal.look()
    assert view.foreground
    assert terminal.press("Enter")
    until(lambda: not terminal.look().foreground)
    assert not terminal.press("Enter", view)


def test_a_program_that_has_ended_leaves_its_last_screen(begin: Begin):
    terminal = begin("echo last words; exit 4")
    until(lambda: not terminal.look().alive)
    assert "last words" in text(terminal)
    assert [heard.exit_code for heard in terminal.ends()] == [4]
    assert terminal.ends() == []


def test_another_size_is_told_to_the_program(begin: Begin):
    terminal = begin("trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done")
    shows(terminal, "ready")
    terminal.resize(100, 20)
    shows(terminal, "20 100")
    assert len(terminal.look().screen.lines) == 20
    assert terminal.look().screen.width == 100


def test_who_attaches_sees_what_is_there_and_all_that_comes_until_they_leave(begin: Begin):
    terminal = begin("echo before; read line; echo after; read line; echo later; sleep 1000")
    shows(terminal, "before")
    theirs = Emulator(140, 50, lambda _: None)
    leave = terminal.subscribe(theirs.feed)
    assert "before" in theirs.screen().text
    terminal.press("Enter")
    shows(terminal, "after")
    assert theirs.screen().text.rstrip() == text(terminal).rstrip()
    leave()
    terminal.press("Enter")
    shows(terminal, "later")
    assert "later" not in theirs.screen().text
    terminal.subscribe(theirs.feed)
    assert "later" in theirs.screen().text


def test_an_agent_is_not_disturbed_by_somebody_attached_who_fails(begin: Begin):
    terminal = begin("echo before; read line; echo after; sleep 1000")
    shows(terminal, "before")
    calls: list[bytes] = []

    def fail(data: bytes) -> None:
        calls.append(data)
        if len(calls) > 1:
            raise BrokenPipeError

    terminal.subscribe(fail)
    terminal.press("Enter")
    shows(terminal, "after")
    assert len(calls) == 2


def test_what_has_scrolled_away_can_be_read(begin: Begin):
    terminal = begin("seq 1 200; echo end; sleep 1000", lines=10)
    shows(terminal, "end")
    assert "100" not in text(terminal)
    assert terminal.scrollback(120).split("\n")[-120:-1] == [str(n) for n in range(82, 201)]


def test_a_program_that_asks_what_its_terminal_is_gets_an_answer(begin: Begin):
    terminal = typed(begin, r"\x1b[c")
    shows(terminal, b"\x1b[?1;2c".hex())


def test_without_the_library_it_says_what_to_install(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    for name in ("emulator", "canvas", "pen"):
        monkeypatch.delitem(sys.modules, f"postroom.bridges.process.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "pyte", None)
    with pytest.raises(BridgeError, match="pyte") as caught:
        pty.start(launch(tmp_path, "true"))
    assert "[pty]" in caught.value.hint


def test_a_program_of_which_nothing_is_known_runs_but_is_not_typed_into(tmp_path: os.PathLike[str]):
    berth = pty.start(launch(tmp_path, "cat")._replace(runtime=""))
    bridge = pty.open(berth)
    try:
        until(lambda: bridge.observe().reason == "unknown_screen")  # it begins in the background
        done = bridge.deliver(Text("hello"), Assent(lambda: None, lambda: True))
        assert (done.result, done.reason) == (Result.REFUSED, "unknown_screen")
        with pytest.raises(BridgeError, match="nobody knows"):
            check(berth)
    finally:
        bridge.close()


def test_a_text_that_fills_its_last_row_is_submitted_by_a_profile_by_hand(tmp_path: os.PathLike[str]):
    script = "import readline\nwhile True: print('got', input('ask> '))"
    details = {"columns": 40, "profile": {"prompt": "ask> "}}
    words = [sys.executable, "-c", script]
    berth = pty.start(
        Launch("a1", "p/builder", words, str(tmp_path), environment(INPUTRC=os.devnull), "", details)
    )
    bridge = pty.open(berth)
    try:
        until(lambda: bridge.observe().doing is Doing.IDLE)
        text = "x" * 34 + "y"
        delivered = bridge.deliver(Text(text), Assent(lambda: None, lambda: True))
        assert delivered.result is Result.PROVEN, delivered
        assert f"got {text}" in bridge.screen()
    finally:
        bridge.close()


@pytest.mark.parametrize(("asked", "given"), [(65_535, 1_000), (0, 10)])
def test_a_size_that_no_terminal_has_is_cut_to_one(begin: Begin, asked: int, given: int):
    terminal = begin("sleep 1000")
    terminal.resize(asked, asked)
    assert len(terminal.look().screen.lines) == given
