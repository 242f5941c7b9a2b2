"""The demo, as people run it: three real processes, one of them killed, nothing lost."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from postroom.demo.board import Board, Mood
from postroom.demo.script import NAMES
from tests.commandline import COMMAND, CommandLine
from tests.process import BOUND, ROOT, until


@pytest.fixture
def cli(home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line whose scratch rooms lie where the test can look."""
    scratch = os.path.join(tmp_path, "scratch")
    os.mkdir(scratch)
    monkeypatch.setenv("TMPDIR", scratch)
    return CommandLine(home)


def scratch_of(cli: CommandLine) -> list[str]:
    return os.listdir(os.path.join(os.path.dirname(cli.home), "scratch"))


def test_nothing_is_lost_and_what_was_offered_again_says_why(cli: CommandLine):
    report = cli.process("demo", "--fast", "--json")
    assert report.code == 0, report
    assert report.json["messages"] == report.json["acked"] == 12
    assert report.json["lost"] == 0
    [again] = report.json["offered_again"]
    assert (again["subject"], again["to"]) == ("T-2 parser", "builder")
    first, second = again["attempts"]
    assert (first["outcome"], second["outcome"]) == ("unproven", "proven")
    assert first["process"] != second["process"]
    assert "ended with the message in hand" in first["why"]
    assert scratch_of(cli) == []
    assert not os.path.exists(cli.home), "it touches nothing of the user's"


def test_it_tells_the_story_line_by_line(cli: CommandLine):
    result = cli.process("demo", "--fast")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    killed, back = (
        next(n for n, line in enumerate(lines) if word in line) for word in ("SIGKILL", "is back")
    )
    fatal = [line for line in lines[:killed] if "T-2 parser" in line]
    assert fatal[-1].endswith("stored ─ offered"), "it was in hand when its holder was killed"
    assert killed < back
    assert "may have been shown before" in lines[back]
    assert any("Nothing was lost.  12 messages, 12 acknowledged" in line for line in lines[back:])


def test_the_room_can_be_kept_and_looked_at(cli: CommandLine):
    report = cli.process("demo", "--fast", "--keep", "--json").json
    assert cli.ok("verify", "--home", report["home"], "--json").json["ok"]
    assert "delivery.returned" in cli.ok("log", "--home", report["home"], "--limit", "500").out


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_it_ends_no_process_and_no_file_is_left(cli: CommandLine, how: signal.Signals):
    with cli.start("demo") as demo:
        assert demo.stdout is not None
        while b"stored" not in demo.stdout.readline():
            assert demo.poll() is None
        children = _children(demo.pid)
        assert children
        demo.send_signal(how)
        _, err = demo.communicate(timeout=BOUND)
    assert (demo.returncode, err) == (128 + how, b"")
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]
    assert scratch_of(cli) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked_even_if_nobody_reads_what_it_prints(cli: CommandLine, how: signal.Signals):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    env = {**os.environ, **cli.environment}
    demo = subprocess.Popen([*COMMAND, "demo", "--fast"], stdout=writer, env=env, cwd=ROOT)
    try:
        until(lambda: bool(scratch_of(cli)))  # it has begun, and cannot say so
        demo.send_signal(how)
        assert demo.wait(BOUND) == 128 + how
    finally:
        demo.kill()
        demo.wait()
        os.close(reader)
        os.close(writer)
    assert scratch_of(cli) == []


def test_its_agents_do_not_outlive_it_even_when_it_is_killed(cli: CommandLine):
    with cli.start("demo") as demo:
        assert demo.stdout is not None
        while b"stored" not in demo.stdout.readline():
            assert demo.poll() is None
        watched = [os.pidfd_open(pid) for pid in _children(demo.pid)]
        demo.kill()
    for descriptor in watched:
        assert select.select([descriptor], [], [], BOUND)[0], "it still runs"
        os.close(descriptor)


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_on_a_terminal_the_ladders_move_in_place(cli: CommandLine):
    parent, child = pytest.importorskip("pty").openpty()
    import struct

    terminal, control = pytest.importorskip("termios"), pytest.importorskip("fcntl")
    control.ioctl(child, terminal.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, **cli.environment, "TERM": "xterm-256color"}
    demo = subprocess.Popen(
        [*COMMAND, "demo", "--fast"], stdin=child, stdout=child, stderr=child, env=env, cwd=ROOT
    )
    os.close(child)
    shown = b""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        try:
            shown += os.read(parent, 65536)
        except OSError:
            break
    os.close(parent)
    assert demo.wait(BOUND) == 0
    text = shown.decode()
    assert "\x1b[?25l" in text
    assert text.count("\x1b[?25h") == 1, "the cursor comes back"
    assert "\x1b[2A" in text, "drawn over"
    assert text[: text.index("\x1b[?25h")].rpartition("\x1b[16A")[2].count("acked") == 12, "the last picture"


def test_an_agent_that_fails_is_told(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = cli("demo", "--fast")
    assert result.code == 1
    assert "the demo's" in result.err
    assert "failed" in result.err
    assert scratch_of(cli) == []


def test_whoever_has_mail_and_has_not_answered_it_is_working():
    board = Board(NAMES)
    assert set(board.moods().values()) == {Mood.STARTING}
    board.killed("builder")
    assert board.moods()["builder"] is Mood.KILLED
    board.started("builder")
    assert board.moods()["builder"] is Mood.STARTING
