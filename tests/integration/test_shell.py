"""Which processes are shells that run what is typed: by what they are, not by what they call themselves."""

import os
import shutil
import signal
import subprocess

import pytest

from postroom import host
from postroom.bridges.terminal.shell import is_shell
from postroom.errors import InvalidValue
from postroom.runtimes.screen import given
from tests.process import BOUND, until

BASH = shutil.which("bash") or ""


def told(words: list[str], name: str = "") -> bool:
    """Whether a process with these words is one, as soon as it is what it is called to be."""
    process = subprocess.Popen(words, executable=name or None, stdin=subprocess.PIPE, start_new_session=True)
    try:
        until(lambda: host.started_with(str(process.pid))[0] == words)
        return is_shell(host.identity_of(process.pid))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=BOUND)


@pytest.mark.parametrize(
    "words",
    [
        ["sh"],
        ["bash", "--norc", "-i"],
        ["bash", "--rcfile", "/dev/null"],
        ["bash", "-s", "word"],
        ["bash", "-ic", "read x; read y"],
        ["bash", "-o", "vi"],
        ["/bin/sh", "-"],
    ],
)
def test_one_that_takes_its_words_from_the_terminal_is_one(words: list[str]):
    assert told(words)


@pytest.mark.skipif(not BASH, reason="no bash here")
def test_one_under_another_name_is_one_too(tmp_path: os.PathLike[str]):
    link = os.path.join(tmp_path, "claude")
    os.symlink(BASH, link)
    assert told(["claude"], BASH)
    assert told([link])
    assert told(["-bash"], BASH)


def test_one_that_runs_a_script_is_none(tmp_path: os.PathLike[str]):
    path = os.path.join(tmp_path, "agent")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nread x; read y\n")
    assert not told(["sh", path])
    assert not told(["sh", "-c", "read x; read y"])
    assert not told(["bash", "-ec", "read x; read y"])
    assert not told(["cat"])


def test_where_the_system_does_not_say_nothing_is_one():
    assert not is_shell("")
    assert not is_shell("999999999.1.x.y")


@pytest.mark.parametrize("name", ["bash", "/usr/bin/zsh", "pwsh", "nu"])
def test_no_profile_may_name_one(name: str):
    with pytest.raises(InvalidValue, match="names a shell"):
        given({"prompt": "> ", "programs": ["tutor", name]})
