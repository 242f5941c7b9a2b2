"""The shell half of the hooks that set-up wires: what it leaves to Python, and what becomes of it without."""

import os
import shutil
import subprocess
import sys
from itertools import product

import pytest

from postroom.hooks import program
from postroom.hooks.stub import program_in
from postroom.room.local import LocalRoom
from postroom.runtimes import NAMES, load
from postroom.setup import plan
from tests.hooking import ClaudeCode, Wired

SHELLS = [found for name in ("sh", "dash", "bash", "zsh") if (found := shutil.which(name))]
# What the first line of a program may name that is gone; the second is too much for a kernel to find.
PYTHON, ODD_PYTHON = "/nowhere/python", "/nowhere at all/python"


@pytest.mark.promise("hook-harmless")
@pytest.mark.parametrize("what", ["program", "permission", "content", PYTHON, ODD_PYTHON])
@pytest.mark.parametrize("name", NAMES)
def test_a_hook_that_cannot_be_started_ends_well_and_says_nothing(
    home: str, name: str, what: str, monkeypatch: pytest.MonkeyPatch
):
    """As after something was removed by hand, and in a sandbox that hides it.

    Copilot CLI takes a hook that fails at a permission for a no, and others show what it says to their users.
    """
    monkeypatch.setattr(sys, "executable", what if what.startswith("/") else sys.executable)
    path = program.install(home)
    if what == "program":
        os.unlink(path)
    elif what == "permission":
        os.chmod(path, 0o600)
    elif what == "content":
        with open(path, "w", encoding="utf-8"):
            pass
    for (event, command), shell in product(plan.commands(load(name), home).items(), SHELLS):
        done = subprocess.run([shell, "-c", command], input="{}", text=True, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (event, shell)


@pytest.fixture
def wired(claude: ClaudeCode) -> Wired:
    return Wired(claude.home, claude.cwd)


def hush(claude: Wired, room: LocalRoom) -> None:
    """A turn ends with nothing left to do: no command line but those that always do starts Python then."""
    assert claude.stop() == ""
    until = room.quiet.until(room.who("builder").id)
    assert until is not None
    assert until > room.now()


@pytest.mark.promise("stop-cap")
@pytest.mark.parametrize("before", [1, 3])
def test_a_persons_word_counts_though_quiet_is_promised(room: LocalRoom, wired: Wired, before: int):
    wired.start()
    for n in range(before):
        room.send("builder", f"number {n};")
        assert f"number {n};" in wired.stop()
    hush(wired, room)
    wired.prompt("do it")
    for n in range(before, before + 4):
        room.send("builder", f"number {n};")
        assert (f"number {n};" in wired.stop()) == (n < before + 3)


@pytest.mark.promise("stop-cap")
def test_a_prompt_that_no_person_wrote_leaves_the_count_as_it_is(room: LocalRoom, wired: Wired):
    wired.start()
    for n in range(3):
        room.send("builder", f"number {n};")
        wired.stop()
    hush(wired, room)
    wired.prompt("<task-notification>a build has ended</task-notification>")
    room.send("builder", "number 3;")
    assert wired.stop() == ""


@pytest.mark.promise("quiet")
def test_a_prompt_costs_no_python_once_the_count_is_over(room: LocalRoom, wired: Wired):
    wired.start()
    room.send("builder", "mail-1")
    wired.stop()
    hush(wired, room)
    with open(wired.program, encoding="utf-8") as file:
        usual = file.read()
    ran = []
    for _ in range(2):
        with open(wired.program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec echo \'{"reason": "Python"}\'\n')
        ran.append(wired.prompt(keep=False))
        with open(wired.program, "w", encoding="utf-8") as file:
            file.write(usual)
        wired.prompt("do it")
    assert ran == ["Python", ""]


@pytest.mark.promise("wake")
def test_what_a_wake_says_by_its_exit_code_comes_through_the_shell(room: LocalRoom, wired: Wired):
    wired.start()
    room.send("builder", "mail-1")
    assert "mail-1" in wired.change()


@pytest.mark.parametrize("home", ["/room", '/it\'s a "room"', "/a room\\with $everything; exec nothing"])
@pytest.mark.parametrize("name", NAMES)
def test_the_room_of_a_wired_command_can_be_told_from_it(home: str, name: str):
    runtime = load(name)
    commands = plan.commands(runtime, home)
    for point in runtime.points:
        if not point.is_question:  # there the shell remains, to end well
            assert program.home_of(program_in(commands[point.event], name)) == home
            assert program_in(commands[point.event], "another") == ""


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        (r"exec /a\ room-hooks/hook gemini Stop", "/a room-hooks/hook"),
        ("echo 'exec /room-hooks/hook gemini Stop'", ""),
        ("echo it's done", ""),
        ("", ""),
    ],
)
def test_what_a_users_own_command_runs_is_read_as_a_shell_reads_it(command: str, runs: str):
    assert program_in(command, "gemini") == runs
