"""The shell half of the hooks that set-up wires: whatever is missing, the agent is not disturbed."""

import subprocess

import pytest

from postroom.hooks import program
from postroom.runtimes import NAMES, load
from postroom.setup import plan

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
