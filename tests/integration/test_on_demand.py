"""The daemon is started by what needs it: once, whoever asks at the same time, whatever one left behind."""

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import config, host
from postroom.daemon import control, instance
from postroom.daemon.place import log_path
from tests.process import eventually
from tests.tui.log import events
from tests.yard import Yard, tutoring

DASHBOARD = ("dashboard", "--no-open", "--as", "human:ana")


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.configure("[profiles.tutor]\nprompt = 'ask> '\nprograms = ['tutor']\n")
        yield yard


def _need(yard: Yard, command: str) -> tuple[str, ...]:
    """A command that needs a daemon, and can do what it does."""
    match command:
        case "spawn":
            return ("spawn", "speaker", "--bridge", "lines", "--", "cat")
        case "adopt":
            pane = yard.stage.run(*tutoring(yard))
            return ("adopt", pane, "--as", "tutor", "--yes")
        case _:
            return DASHBOARD


def _daemons(yard: Yard) -> int:
    """How many have begun."""
    return len([one for one in events(log_path(yard.home)) if one["event"] == "began"])


@pytest.mark.parametrize("command", ["spawn", "adopt", "dashboard"])
def test_it_is_started_by_what_needs_it_and_after_a_kill_again(yard: Yard, command: str):
    words = _need(yard, command)
    env = {"POSTROOM_HTTP_PORT": "0"}
    first = yard(*words, env=env)
    assert first.code == (1 if command == "dashboard" else 0), first  # the page is turned off here
    assert control.ping(yard.home)
    yard.kill_daemon()
    assert os.path.exists(config.beside(yard.home, "daemon.sock")), "it leaves its socket and its lock"
    assert instance.running(yard.home) == ""
    again = ("dashboard", *DASHBOARD[1:]) if command != "spawn" else ("spawn", "other", *words[2:])
    yard(*again, env=env)
    assert control.ping(yard.home)
    assert _daemons(yard) == 2


@pytest.mark.promise("one-daemon")
def test_all_of_them_at_once_have_one(yard: Yard):
    commands = [_need(yard, "spawn"), _need(yard, "adopt"), DASHBOARD, ("up",)]
    running = [yard.line.start(*words, env=yard.env) for words in commands]
    results = [_ended(one) for one in running]
    assert [code for code, _ in results] == [0, 0, 1, 0], results
    assert _daemons(yard) == 1
    assert {one["address"] for one in yard.ok("agents", "--json").json["agents"]} >= {"p/speaker", "p/tutor"}


def _ended(process: Any) -> tuple[int, bytes]:
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def test_one_that_is_about_to_end_is_waited_for(yard: Yard, tmp_path: Any):
    """A child that does not want to end holds it for a while, and nobody is refused for that."""
    stubborn = "trap '' HUP TERM; while :; do read -r line || sleep 0.1; done"
    yard.ok("spawn", "stubborn", "--bridge", "lines", "--", "sh", "-c", stubborn)
    first = instance.running(yard.home)
    os.kill(host.pid_of(first), signal.SIGTERM)
    eventually(lambda: not control.ping(yard.home))
    assert not host.is_gone(first)
    assert yard.ok("up", "--json").json["daemon"]["started"]
    assert host.is_gone(first)
    assert instance.running(yard.home) not in ("", first)


def test_a_process_of_that_number_that_is_another_s_is_none(yard: Yard):
    yard.ok("up")
    yard.kill_daemon()
    with subprocess.Popen(["sleep", "1000"]) as other:
        with open(config.beside(yard.home, "daemon.lock"), "w", encoding="ascii") as file:
            file.write(host.identity_of(os.getpid()).replace(str(os.getpid()), str(other.pid), 1))
        assert yard.ok("up", "--json").json["daemon"]["started"]
        other.kill()
