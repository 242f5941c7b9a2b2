"""The tutorial of three agents does what it says, where only the models are played."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import host
from postroom.daemon import instance
from tests.machine import unshare
from tests.process import BOUND, ROOT, environment, until
from tests.walk import Walk, confined

PROGRAM = '#!/bin/sh\nexec {python} -m tests.walkers {name} "$@"\n'


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    """In a project `shop` of somebody who has two agents on the PATH."""
    unshare("-r", "-m", "-n", "--pid", "--fork", "--kill-child")
    user, programs, project = (tmp_path / name for name in ("user", "bin", "shop"))
    for directory in (user, programs, project):
        directory.mkdir()
    for name in ("claude", "gemini"):
        (programs / name).write_text(PROGRAM.format(python=sys.executable, name=name), encoding="utf-8")
        (programs / name).chmod(0o755)
    subprocess.run(["git", "init", "-q", project], check=True, timeout=BOUND)
    path = f"{programs}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    walk = Walk(str(project), environment(HOME=str(user), PATH=path, PYTHONPATH=ROOT))
    yield walk
    if process := instance.running(walk.home):
        os.kill(host.pid_of(process), signal.SIGTERM)
        until(lambda: host.is_gone(process))


@pytest.mark.promise("examples")
def test_an_agent_with_files_one_over_acp_and_one_with_hooks_talk_in_one_thread(walk: Walk) -> None:
    walk.type("postroom join")
    walk.type("mkdir")
    with walk.beside("unshare") as place:
        walk.type("postroom spawn")
        walk.type("postroom setup claude --allow")
        with walk.beside("POSTROOM_AGENT="):
            walk.wait(Path(walk.project, "begun").exists)
            walk.talk()
            assert confined(place)
    walk.type("postroom stop")
    walk.check()
    prompts = Path(walk.project, "reviewer").read_text("utf-8").splitlines()
    assert ["What is missing?" in prompts[0], "on Friday" in prompts[1], len(prompts)] == [True, True, 2]
