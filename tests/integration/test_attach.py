"""Going to an agent: the command of tmux, a terminal that the daemon has, and output as it comes."""

import os
import shlex
import sys
from collections.abc import Iterator

import pytest

from tests.bridged import Record
from tests.commandline import COMMAND, is_told_well
from tests.process import environment, eventually
from tests.tui.person import Person
from tests.yard import Yard


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


def sitting(yard: Yard, *words: str, **env: str) -> Person:
    """Somebody at a terminal, who runs a command."""
    given = environment(**yard.line.environment, **{**yard.env, "TERM": "xterm-256color", **env})
    return Person([*COMMAND, *words], given, (90, 24))


def test_a_pane_is_shown_by_tmux_in_the_window_it_is_in(yard: Yard):
    yard.stage.agent(name="claude")
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    printed = yard.ok("attach", "backend", "--print", env={"TMUX": ""}).out
    assert shlex.split(printed)[:3] == ["tmux", "-S", yard.stage.socket]
    assert shlex.split(printed)[-3:] == ["attach-session", "-t", pane.id]
    assert "switch-client" in yard.ok("attach", "backend", "--print").out
    person = sitting(yard, "attach", "backend", TMUX="")
    try:
        eventually(lambda: yard.stage.tmux("list-clients", "-F", "#{pane_id}") == pane.id)
        person.type("hi")
        pane.shows("hi")
    finally:
        person.leave()


def test_a_terminal_of_the_daemon_is_shown_typed_into_and_left(yard: Yard, tmp_path):
    record = Record(os.path.join(tmp_path, "record"))
    command = [sys.executable, "-m", "tests.bridged", "tui", record.path]
    yard.ok("spawn", "backend", "--bridge", "pty", "--runtime", "claude", "--", *command)
    person = sitting(yard, "attach", "backend")
    try:
        eventually(lambda: b"? for shortcuts" in person.seen)
        person.type("by hand")
        eventually(lambda: b"by hand" in person.seen)
        person.type("\r")
        eventually(lambda: record.texts() == ["by hand"])
        person.type("\x1d")
        eventually(lambda: b"which runs on" in person.seen)
        assert person.process.wait(30) == 0
    finally:
        person.leave()
    yard.seen(yard.line.sent("backend", "and by mail"))


def test_somebody_attached_is_told_when_the_agent_ends(yard: Yard, tmp_path):
    command = [sys.executable, "-m", "tests.bridged", "tui", os.path.join(tmp_path, "record")]
    yard.ok("spawn", "backend", "--bridge", "pty", "--runtime", "claude", "--", *command)
    person = sitting(yard, "attach", "backend")
    try:
        eventually(lambda: b"? for shortcuts" in person.seen)
        yard.ok("stop", "backend")
        eventually(lambda: b"p/backend is gone" in person.seen)
        assert person.process.wait(30) == 0
    finally:
        person.leave()


def test_somebody_attached_is_told_when_the_daemon_is_lost(yard: Yard, tmp_path):
    command = [sys.executable, "-m", "tests.bridged", "tui", os.path.join(tmp_path, "record")]
    yard.ok("spawn", "backend", "--bridge", "pty", "--runtime", "claude", "--", *command)
    person = sitting(yard, "attach", "backend")
    try:
        eventually(lambda: b"? for shortcuts" in person.seen)
        yard.kill_daemon()
        eventually(lambda: b"the connection to the daemon was lost" in person.seen)
        assert b"is gone" not in person.seen
        assert person.process.wait(30) == 1
    finally:
        person.leave()


def test_of_an_agent_without_a_terminal_the_output_is_shown_as_it_comes(yard: Yard):
    script = """while read -r line; do echo "it is $line"; echo '{"postroom": "seen"}'; done"""
    yard.ok("spawn", "worker", "--bridge", "lines", "--", "sh", "-c", script)
    person = sitting(yard, "attach", "worker")
    try:
        yard.seen(yard.line.sent("worker", "hello"))
        eventually(lambda: b"it is {" in person.seen)
        assert b'{"postroom": "seen"}' not in person.seen
        assert b"C-c leaves, and it runs on" in person.seen
        person.type("\x03")
        assert person.process.wait(30) == 130
    finally:
        person.leave()


def test_who_is_in_no_terminal_cannot_be_gone_to(yard: Yard, tmp_path):
    refused = yard("attach", "planner")
    assert (refused.code, is_told_well(refused)) == (3, True)
    assert "in no terminal that is known" in refused.err
    command = [sys.executable, "-m", "tests.bridged", "tui", os.path.join(tmp_path, "record")]
    yard.ok("spawn", "backend", "--bridge", "pty", "--runtime", "claude", "--", *command)
    assert "attach needs a terminal" in yard("attach", "backend").err


def test_an_agent_can_be_gone_to_as_soon_as_it_is_started(yard: Yard, tmp_path):
    command = [sys.executable, "-m", "tests.bridged", "tui", os.path.join(tmp_path, "record")]
    words = ("--runtime", "claude", "--bridge", "pty", "--open")
    person = sitting(yard, "spawn", "backend", *words, "--", *command)
    try:
        eventually(lambda: b"? for shortcuts" in person.seen)
        person.type("\x1d")
        assert person.process.wait(30) == 0
        assert b"Claude Code (pty), idle" in person.seen
    finally:
        person.leave()


def test_what_a_config_in_the_room_says_is_shown_and_asked(yard: Yard):
    yard.configure('[agents.worker]\nbridge = "lines"\ncommand = "cat"\n')
    for answer, code in (("n", 5), ("y", 0)):
        person = sitting(yard, "up")
        try:
            eventually(lambda seen=person: b"Shall that be used? [y/N]" in seen.seen)
            assert b'[agents.worker] bridge = "lines", command = "cat"' in person.seen
            person.type(f"{answer}\r")
            assert person.process.wait(30) == code
        finally:
            person.leave()
    assert "cat (lines)" in yard.ok("up").out
