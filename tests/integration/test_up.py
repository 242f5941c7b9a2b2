"""The daemon and the agents that the config declares: brought up, left alone, and told of when they fail."""

import json
import os
import shlex
import sys
from collections.abc import Iterator

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.daemon import instance
from tests.bridged import Record
from tests.commandline import is_told_well
from tests.process import eventually
from tests.repository import make_repository
from tests.yard import PROFILES, Yard, tutoring


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


def lines(tmp_path: os.PathLike[str], name: str = "record") -> list[str]:
    return [sys.executable, "-m", "tests.bridged", "lines", os.path.join(tmp_path, name)]


def agent(name: str, **keys: object) -> str:
    """A table of the config."""
    said = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f"[agents.{name}]\n{said}"


def test_those_who_are_declared_are_adopted_or_started_and_the_second_time_left_alone(yard: Yard, tmp_path):
    pane = yard.stage.agent(name="claude")
    yard.configure(
        agent("backend", pane="stage:0.0", role="builder")
        + agent("worker", bridge="lines", command=shlex.join(lines(tmp_path)), supervisor="backend")
        + agent("clerk", bridge="lines", command=lines(tmp_path, "other"), channel="discord")
        + agent("reader", role="reader")
    )
    done = yard.ok("up", "--yes")
    assert "the daemon is up (process" in done.out
    assert [line.partition(":")[0] for line in done.out.splitlines()[1:]] == [
        "p/backend",
        "p/worker",
        "p/clerk",
    ]
    assert "p/backend: Claude Code (tmux stage:0.0), idle; mail is typed (adopted)" in done.out
    assert "(lines), running; mail is handed over (started)" in done.out
    before = manifests.every(yard.home)
    again = yard.ok("daemon", "--json").json
    assert again["daemon"]["started"] is False
    assert [one["how"] for one in again["agents"]] == ["ran already"] * 3
    assert manifests.every(yard.home) == before
    for name in ("backend", "worker", "clerk"):
        yard.seen(yard.line.sent(name, "hello"))
    assert len(pane.submitted()) == 1


def test_who_is_of_another_project_by_its_directory_is_not_started_here(yard: Yard, tmp_path):
    make_repository(tmp_path / "shop")
    words = {"bridge": "lines", "command": lines(tmp_path), "directory": f"{tmp_path}/shop"}
    yard.configure(agent("oven", **words))
    done = yard.ok("up", "--yes")
    assert "oven: of another project" in done.err
    assert manifests.every(yard.home) == []


def test_one_that_fails_keeps_no_other_from_starting(yard: Yard, tmp_path):
    yard.configure(
        agent("first", bridge="lines", command="no-such-program")
        + agent("second", pane="stage:9.9")
        + agent("third", bridge="lines", command=lines(tmp_path))
    )
    done = yard("up", "--yes")
    assert done.code == 1
    said = done.out.splitlines()[1:]
    assert "first: not up: there is no program 'no-such-program'" in said[0]
    assert "there is no pane 'stage:9.9'" in said[1]
    assert "mail is handed over (started)" in said[2]


@pytest.mark.promise("consent")
def test_a_config_in_the_room_is_used_after_somebody_agreed_and_a_change_asks_again(yard: Yard, tmp_path):
    yard.configure(agent("worker", bridge="lines", command=lines(tmp_path)))
    refused = yard("up")
    assert refused.code == 5
    assert "[agents.worker] bridge =" in refused.err
    assert "--yes" in refused.err
    assert instance.running(yard.home) == ""
    assert manifests.every(yard.home) == []
    yard.ok("up", "--yes")
    yard.ok("stop", "worker")
    assert "(started)" in yard.ok("up").out
    yard.configure(agent("worker", bridge="lines", command=[*lines(tmp_path), "--more"]))
    assert yard("up").code == 5
    yard.configure(agent("worker", bridge="lines", command=lines(tmp_path), role="changed"))
    yard.ok("up")


def test_a_config_of_the_users_own_needs_no_agreement(yard: Yard, tmp_path, monkeypatch: pytest.MonkeyPatch):
    from postroom.bridges import consent

    monkeypatch.delenv("POSTROOM_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", os.path.join(tmp_path, "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", os.path.join(tmp_path, "config"))
    home = os.path.join(tmp_path, "data", "postroom")
    item = {"agents.worker": {"command": "rm"}}
    assert (consent.is_asked(home), consent.missing(home, item)) == (False, {})
    monkeypatch.setenv("XDG_CONFIG_HOME", os.path.join(home, "inside"))
    assert (consent.is_asked(home), consent.missing(home, item)) == (True, item)


def test_a_labelled_pane_is_adopted_and_with_a_profile_anything_is(yard: Yard):
    command = tutoring(yard)
    pane = yard.stage.run(*command, PYTHONPATH=os.pathsep.join(sys.path))
    eventually(lambda: "ask>" in yard.stage.tmux("capture-pane", "-p", "-t", pane))
    yard.stage.tmux("set-option", "-p", "-t", pane, "@postroom_agent", "tutor")
    yard.configure(agent("tutor", command="false", profile="tutor") + PROFILES)
    assert "tutor (tmux stage:0.0), idle; mail is typed (adopted)" in yard.ok("up", "--yes").out
    yard.seen(yard.line.sent("tutor", "why?"))
    assert len(Record(command[-1]).texts()) == 1


def test_in_the_foreground_it_is_the_daemon_and_ends_when_told_to(yard: Yard, tmp_path):
    yard.configure(agent("worker", bridge="lines", command=lines(tmp_path)))
    with yard.start("up", "--foreground", "--yes") as daemon:
        eventually(lambda: len(manifests.every(yard.home)) == 1)
        assert int(instance.running(yard.home).partition(".")[0]) == daemon.pid
        child = yard.manifest("worker").process
        second = yard("up", "--foreground", "--yes")
        assert is_told_well(second)
        assert "this room has a daemon already" in second.err
        assert "postroom down" in second.err
        yard.ok("down")
        assert daemon.wait(30) == 0
    assert host.is_gone(child)


def test_after_a_crash_of_the_daemon_its_children_are_started_again_by_up(yard: Yard, tmp_path):
    yard.configure(agent("worker", bridge="lines", command=lines(tmp_path)))
    yard.ok("up", "--yes")
    child = yard.manifest("worker").process
    yard.kill_daemon()
    eventually(lambda: host.is_gone(child))
    ref = yard.line.sent("worker", "hello")
    assert "(started)" in yard.ok("up").out
    yard.seen(ref)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (agent("x", command=7), "command must be a text, or a list of texts"),
        (agent("x", command=""), "command is empty"),
        (agent("x", command=[]), "command is empty"),
        (agent("x", pane=["a"]), "pane must be a text"),
        (agent("x", command="'"), "No closing quotation"),
        (agent("x", command="a", restart="often"), "restart must be one of never, on-failure, always"),
        (agent("x", command="a", bridge="tmus"), "there is no bridge 'tmus'"),
        (agent("x", command="a", profile="none"), "there is no profile 'none'"),
        (agent("x", command="a", profile="p") + "[profiles.p]\n", "profiles.p.prompt is missing"),
        ('[profiles.p]\nprompt = "> "\nbusy = "working"\n', "profiles.p.busy must be a list"),
        ('[agents."human:ana"]\ncommand = "a"\n', "a person has no sessions"),
        ("profiles = 7\n", r"profiles is written as [profiles.NAME]"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_said_and_nothing_is_started(yard: Yard, text: str, says: str):
    yard.configure(text)
    refused = yard("up", "--yes")
    assert (refused.code, is_told_well(refused)) == (2, True), refused
    assert says in refused.err
    assert instance.running(yard.home) == ""
