"""The examples are short, and what the guide shows; the one that needs no library works, killed or not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.room.local import open_room
from tests.process import BOUND, ROOT

EXAMPLES = sorted(Path(ROOT, "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_is_what_the_guide_shows(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 30
    assert f"```python\n{text}```" in Path(ROOT, "docs", "howto", "sdk.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "library"), [("openai_agent", "agents"), ("claude_agent", "claude_agent_sdk")]
)
def test_an_example_without_its_library_says_what_to_install(name: str, library: str):
    path = os.path.join(ROOT, "examples", f"{name}.py")
    code = f"import runpy, sys; sys.modules[{library!r}] = None; runpy.run_path({path!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=BOUND, check=False)
    assert b"Install the extra " in done.stderr.splitlines()[-1]


@pytest.mark.promise("examples")
def test_the_plain_loop_answers_and_loses_nothing_when_it_is_killed(home: str):
    env = {**os.environ, "POSTROOM_HOME": home, "POSTROOM_PROJECT": "p"}
    command = [sys.executable, str(Path(ROOT, "examples", "plain_agent.py"))]
    with open_room(home, agent="planner", project="p") as room:
        room.join("planner")
        room.join("builder")
        with subprocess.Popen(command, env=env) as agent:
            assert room.ask("builder", "the parser", timeout=BOUND).body == "Built: the parser"
            agent.send_signal(signal.SIGKILL)
        room.send("builder", "the lexer")
        room.send("builder", "stop")
        done = subprocess.run(command, env=env, timeout=BOUND, check=False)
        assert done.returncode == 0
        [answer] = room.wait(timeout=BOUND)
        assert answer.body == "Built: the lexer"
        room.ack(answer)
        room.send("builder", "the printer")
        room.send("builder", "stop")
        assert subprocess.run(command, env=env, timeout=BOUND, check=False).returncode == 0
        [answer] = room.wait(timeout=BOUND)
        assert answer.body == "Built: the printer"
