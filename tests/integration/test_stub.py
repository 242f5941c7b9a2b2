"""The shell half of the hooks that set-up wires: what it leaves to Python, and what becomes of it without."""

import subprocess

import pytest

from postroom.hooks import program
from postroom.room.local import LocalRoom
from postroom.runtimes import NAMES, load
from postroom.setup import plan
from tests.hooking import ClaudeCode, Wired

QUESTIONS = [(name, point.event) for name in NAMES for point in load(name).points if point.is_question]


def run(home: str, name: str, event: str) -> "subprocess.CompletedProcess[str]":
    command = plan.commands(load(name), home)[event]
    return subprocess.run(["sh", "-c", command], input="{}", text=True, capture_output=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_where_our_program_is_not_the_hooks_end_well(home: str, name: str):
    """As after it was removed by hand, and in a sandbox that hides it."""
    for point in load(name).points:
        done = run(home, name, point.event)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), point


@pytest.mark.parametrize(("name", "event"), QUESTIONS)
def test_a_hook_whose_python_is_gone_refuses_nothing(home: str, name: str, event: str):
    """Copilot CLI takes a hook that fails at a permission for a no."""
    with open(program.install(home), "w", encoding="utf-8") as file:
        file.write("#!/nowhere/python\n")
    done = run(home, name, event)
    assert (done.returncode, done.stdout) == (0, "")


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
