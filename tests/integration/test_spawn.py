"""Agents that are started under a bridge: their first screen, their prompt, and their end."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.tmux import bridge as tmux
from postroom.bridges.tmux.server import target
from postroom.daemon import instance
from tests.bridged import Record
from tests.commandline import is_told_well
from tests.process import eventually
from tests.yard import PROFILES, Yard, tutoring


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


def program(scene: str, tmp_path: os.PathLike[str]) -> tuple[list[str], Record]:
    record = Record(os.path.join(tmp_path, "record"))
    return [sys.executable, "-m", "tests.bridged", scene, record.path], record


def tmux_env() -> dict[str, str]:
    """tmux passes on only a little of the environment: what Python needs is in the command."""
    return {"PYTHONPATH": os.pathsep.join(sys.path)}


def in_tmux(command: list[str]) -> list[str]:
    return ["env", *(f"{name}={value}" for name, value in tmux_env().items()), *command]


@pytest.mark.parametrize("bridge", ["tmux", "pty"])
def test_an_agent_is_started_gets_its_prompt_and_its_mail(yard: Yard, tmp_path, bridge: str):
    command, record = program("tui", tmp_path)
    words = ("--bridge", bridge, "--runtime", "claude", "--prompt-text", "Read the plan.")
    done = yard.ok("spawn", "backend", *words, "--json", "--", *in_tmux(command)).json
    assert (done["doing"], done["prompt"]["proven"]) == ("idle", True)
    assert record.texts() == ["Read the plan."]
    assert yard.seen(yard.line.sent("backend", "hello"))["evidence"] == "terminal"
    assert ["hello" in text for text in record.texts()] == [False, True]
    process = yard.manifest("backend").process
    stopped = yard.ok("stop", "backend", "--json").json
    assert (stopped["ended"], host.is_gone(process)) == (True, True)
    assert manifests.every(yard.home) == []
    assert "not running" in yard.ok("agents").out


def test_an_agent_without_a_screen_is_handed_its_mail(yard: Yard, tmp_path):
    command, record = program("lines", tmp_path)
    said = yard.ok("spawn", "worker", "--bridge", "lines", "--prompt-text", "begin", "--", *command).out
    assert "running; mail is handed over" in said
    assert "the prompt: it was written to its input" in said
    assert yard.seen(yard.line.sent("worker", "hello"))["evidence"] == "runtime_ack"
    assert len(record.texts()) == 2
    assert "(lines)" in yard.ok("agents").out


def test_a_prompt_comes_from_a_file_and_is_typed_as_it_is(yard: Yard, tmp_path, make):
    command, record = program("tui", tmp_path)
    path = make("prompt.md", b"First line.\n\n- a list\n")
    yard.ok("spawn", "backend", "--runtime", "claude", "--prompt", path, "--", *in_tmux(command))
    assert record.texts() == ["First line.\n\n- a list"]


def test_who_runs_already_is_not_started_again(yard: Yard, tmp_path):
    command, _ = program("tui", tmp_path)
    yard.ok("spawn", "backend", "--runtime", "claude", "--", *in_tmux(command))
    again = yard("spawn", "backend", "--runtime", "claude", "--", *in_tmux(command))
    assert again.code == 5
    assert is_told_well(again)
    assert "p/backend runs already, claude in pane %" in again.err
    assert len(yard.stage.tmux("list-panes", "-a").splitlines()) == 1


@pytest.mark.promise("launch-blocked")
def test_a_dialog_before_the_start_is_reported_and_the_prompt_is_not_given(yard: Yard):
    script = 'echo "Yes, I trust this folder"; exec cat'
    words = ("--runtime", "claude", "--prompt-text", "go", "--", "sh", "-c", script)
    done = yard.ok("spawn", "backend", *words)
    assert "launch_blocked:trust; its mail waits: postroom attach p/backend" in done.out
    assert "the prompt was not given; give it: postroom command p/backend -" in done.out
    pane = yard.manifest("backend").pane.partition("@")[0]
    assert "go" not in yard.stage.tmux("capture-pane", "-p", "-t", pane).split()


def test_an_agent_that_ends_at_once_is_said_to_have(yard: Yard):
    done = yard("spawn", "backend", "--runtime", "claude", "--", "sh", "-c", "echo no licence; exit 3")
    assert done.code == 1
    assert "no licence" in done.err
    assert "not running" in done.out


def test_a_screen_that_never_becomes_known_is_told_and_the_agent_runs_on(yard: Yard):
    words = ("--runtime", "claude", "--timeout", "1s")
    done = yard("spawn", "backend", *words, "--", "sh", "-c", "echo strange; exec cat")
    assert done.code == 4
    assert "on a screen that is not known; its mail waits: postroom doctor capture p/backend" in done.out
    assert "waiting for the first screen" in done.err
    assert not host.is_gone(yard.manifest("backend").process)


@pytest.mark.parametrize("bridge", ["tmux", "pty"])
def test_a_program_that_nobody_knows_is_started_and_its_mail_waits(yard: Yard, tmp_path, bridge: str):
    command, record = program("prompt", tmp_path)
    done = yard("spawn", "tutor", "--bridge", bridge, "--", *in_tmux(command))
    assert done.code == 0, done
    assert "warning: nobody knows what the terminal of p/tutor looks like, so its mail waits" in done.err
    assert "on a screen that is not known; its mail waits: postroom" in done.out
    ref = yard.line.sent("tutor", "why?")
    eventually(lambda: yard.line.receipt(ref)["reason"] == "unknown_screen")
    if bridge == "tmux":
        pane = yard.manifest("tutor").pane.partition("@")[0]
        assert f"postroom adopt {pane} --pattern RE" in done.out
        yard.ok("adopt", pane, "--pattern", "ask> ")
        yard.seen(ref)
    assert len(record.texts()) == (bridge == "tmux")
    assert "p/tutor: ended" in yard.ok("stop", "tutor").out, "whoever says how it is read has not started it"


def test_that_a_program_of_which_only_the_prompt_is_known_was_idle_is_not_claimed(yard: Yard):
    words = ["--pattern", "ask> ", "--", *in_tmux(tutoring(yard))]
    yard.ok("spawn", "tutor", *words)
    done = yard("interrupt", "tutor")
    assert (done.code, done.out.startswith("not proven: its prompt was there, so nothing was")) == (1, True)


def test_a_prompt_for_a_program_that_nobody_knows_is_not_given(yard: Yard, tmp_path):
    command, record = program("prompt", tmp_path)
    done = yard("spawn", "tutor", "--prompt-text", "why?", "--", *in_tmux(command))
    assert (done.code, record.texts()) == (1, [])
    assert "the prompt was not given" in done.out


def test_one_who_waits_no_longer_leaves_the_agent_running(yard: Yard):
    with yard.start("spawn", "backend", "--runtime", "claude", "--", "sh", "-c", "exec cat") as waiting:
        assert waiting.stderr is not None
        heard = b""
        while b"waiting for" not in heard:
            heard += os.read(waiting.stderr.fileno(), 4096)
        waiting.send_signal(signal.SIGINT)
        _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert b"p/backend runs on" in err
    assert not host.is_gone(yard.manifest("backend").process)


def test_hooks_that_could_carry_mail_and_do_not_are_warned_of(yard: Yard, tmp_path):
    command, _ = program("tui", tmp_path)
    done = yard.ok("spawn", "backend", "--runtime", "claude", "--", *in_tmux(command))
    assert "set them up: postroom setup claude" in done.err


def test_an_agent_that_fails_is_started_again_where_that_was_asked_for(yard: Yard, tmp_path):
    command, _ = program("lines", tmp_path)
    yard.ok("spawn", "worker", "--bridge", "lines", "--restart", "on-failure", "--", *command)
    was = yard.manifest("worker").process
    os.kill(int(was.partition(".")[0]), signal.SIGKILL)
    eventually(lambda: yard.manifest("worker").process != was)
    assert yard.seen(yard.line.sent("worker", "hello"))["evidence"] == "runtime_ack"


def test_of_an_agent_that_ends_again_and_again_it_is_said_when_it_starts(yard: Yard):
    words = ("--bridge", "lines", "--restart", "always", "--", "sh", "-c", "exit 3")
    yard("spawn", "worker", *words)
    said = r"not running: starts again in \d+ s; ended (once|\d times), exit 3"
    eventually(lambda: re.search(said, yard.ok("agents").out))
    eventually(lambda: "is not running: it starts again in" in yard("screen", "worker").err)

    def told() -> dict[str, Any]:
        return next(one for one in yard.ok("agents", "--json").json["agents"] if one["address"] == "p/worker")

    eventually(lambda: "starts again in" in (told()["pause"] or ""))


def test_children_end_with_the_daemon_and_panes_do_not(yard: Yard, tmp_path):
    command, _ = program("lines", tmp_path)
    yard.ok("spawn", "worker", "--bridge", "lines", "--", *command)
    tui, _ = program("tui", tmp_path)
    yard.ok("spawn", "backend", "--runtime", "claude", "--", *in_tmux(tui))
    child, pane = yard.manifest("worker").process, yard.manifest("backend").process
    ended = yard.ok("down").out
    assert ended.startswith("the daemon has ended (process ")
    assert ended.endswith("); with it ended p/worker\n")
    assert (host.is_gone(child), host.is_gone(pane)) == (True, False)
    assert instance.running(yard.home) == ""
    assert "No daemon is running" in yard.ok("down").err


def test_a_program_with_a_profile_is_told_by_its_name(yard: Yard):
    yard.configure(PROFILES)
    command = tutoring(yard)
    wrapper = os.path.join(yard.stage.root, "bin", "tutor")
    os.mkdir(os.path.dirname(wrapper))
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nPYTHONPATH={os.pathsep.join(sys.path)} exec {' '.join(command)}\n")
    os.chmod(wrapper, 0o700)
    done = yard.ok("spawn", "tutor", "--yes", "--prompt-text", "why?", "--", wrapper)
    assert "tutor (tmux postroom:0.0), idle" in done.out
    assert Record(command[-1]).texts() == ["why?"]


def test_a_program_that_nobody_knows_may_be_given_its_looks_by_hand(yard: Yard):
    command = tutoring(yard)
    words = ["--pattern", "ask> ", "--submit", "Enter", "--prompt-text", "why?", "--", *in_tmux(command)]
    done = yard.ok("spawn", "tutor", *words)
    assert ", idle; mail is typed" in done.out
    assert done.err.startswith("the daemon was started\n")
    assert Record(command[-1]).texts() == ["why?"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--bridge", "files", "--", "python3"], 2, "postroom mailbox add DIR NAME"),
        (["--bridge", "claude-team", "--", "python3"], 2, "postroom teams adopt NAME"),
        (["--open", "--", "python3"], 2, "no terminal here"),
        (["--bridge", "tmus", "--", "python3"], 2, "there is no bridge 'tmus'"),
        (["--runtime", "clod", "--", "python3"], 2, "there is no runtime 'clod'"),
        (["--profile", "none", "--", "python3"], 2, "there is no profile 'none'"),
        (["--pattern", "(", "--", "python3"], 2, "--pattern is no regular expression"),
        (["--", "no-such-program"], 1, "there is no program 'no-such-program'"),
        (["--cwd", "/nowhere", "--", "claude"], 2, "there is no directory /nowhere"),
        (["--runtime", "claude", "--", "no-such-program"], 1, "there is no program 'no-such-program'"),
        (["--prompt", "/nowhere", "--", "claude"], 2, "cannot be read"),
        (["--prompt", "a", "--prompt-text", "b", "--", "claude"], 2, "say one of"),
        ([], 2, "spawn needs"),
        (["--restart", "often", "--", "claude"], 2, "not 'often'"),
    ],
)
def test_what_cannot_be_started_is_said_in_one_line_and_leaves_nothing(
    yard: Yard, words: list[str], code: int, says: str
):
    refused = yard("spawn", "backend", *words)
    assert (refused.code, is_told_well(refused)) == (code, True), refused
    assert says in refused.err
    assert manifests.every(yard.home) == []
    assert yard.line("screen", "backend").code == 3  # it has no address


# how it ended, and whether it is started again

ASKS = ["sh", "-c", "read code; exit $code"]


def ends(yard: Yard) -> list[dict[str, Any]]:
    return [one["payload"] for one in told(yard) if one["type"] == "agent.ended"]


def told(yard: Yard) -> list[dict[str, Any]]:
    return yard.line.ok("log", "-n", "500", "--json").items


def asked_to_end(yard: Yard, code: int) -> str:
    """A program in a pane is told with which code to end; the process that it was."""
    manifest = yard.manifest("backend")
    yard.stage.tmux("send-keys", "-t", manifest.pane.partition("@")[0], str(code), "Enter")
    eventually(lambda: host.is_gone(manifest.process))
    return manifest.process


def spawned(yard: Yard, *command: str) -> None:
    words = ("--runtime", "claude", "--restart", "on-failure", "--timeout", "0.2s", "--", *(command or ASKS))
    assert yard("spawn", "backend", *words).code == 4


@pytest.mark.promise("restart")
def test_an_agent_in_a_pane_is_started_again_when_it_failed_and_not_when_it_ended_well(yard: Yard):
    spawned(yard)
    for n, pause in enumerate((1.0, 2.0), 1):
        was = asked_to_end(yard, 3)
        eventually(lambda n=n: len(ends(yard)) == n)
        wanted = {"bridge": "tmux", "exit_code": 3, "signal": None, "again_in": pause}
        assert ends(yard)[-1] == wanted
        eventually(lambda was=was: yard.manifest("backend").process != was)
        eventually(lambda: len(yard.stage.tmux("list-panes", "-a").splitlines()) == 1)
    last = asked_to_end(yard, 0)
    eventually(lambda: len(ends(yard)) == 3)
    assert ends(yard)[-1] == {"bridge": "tmux", "exit_code": 0, "signal": None, "again_in": None}
    assert yard.manifest("backend").process == last
    starts = [one["payload"] for one in told(yard) if one["type"] == "agent.started"]
    assert starts == [{"bridge": "tmux", "program": "sh"}] * 3


def test_an_agent_in_a_pane_that_a_signal_ended_has_failed(yard: Yard):
    spawned(yard)
    was = yard.manifest("backend").process
    os.kill(host.pid_of(was), signal.SIGKILL)
    eventually(lambda: yard.manifest("backend").process != was)
    assert ends(yard) == [{"bridge": "tmux", "exit_code": None, "signal": "SIGKILL", "again_in": 1.0}]


def test_how_an_agent_in_a_pane_ended_is_known_to_a_daemon_that_comes_later(yard: Yard):
    spawned(yard)
    yard.kill_daemon()
    was = asked_to_end(yard, 3)
    yard.ok("up")
    eventually(lambda: yard.manifest("backend").process != was)
    assert [one["exit_code"] for one in ends(yard)] == [3]


def test_a_pane_that_somebody_closed_is_no_failure(yard: Yard):
    yard.stage.run("cat")
    spawned(yard)
    manifest = yard.manifest("backend")
    yard.stage.tmux("kill-pane", "-t", manifest.pane.partition("@")[0])
    eventually(lambda: ends(yard))
    assert ends(yard) == [{"bridge": "tmux", "exit_code": None, "signal": None, "again_in": None}]


def test_what_runs_in_the_place_of_an_agent_is_not_ended_with_what_is_left_of_it(yard: Yard):
    spawned(yard)
    manifest = yard.manifest("backend")
    where = target(manifest.pane)
    yard.stage.tmux("respawn-pane", "-k", "-t", where.id, "--", "cat")
    tmux.end(manifest.berth)
    elsewhere = where._replace(server="1.1")
    root = int(yard.stage.tmux("display-message", "-p", "-t", where.id, "#{pane_pid}"))
    tmux.end(manifest.berth._replace(pane=str(elsewhere), process=host.identity_of(root)))
    assert not host.is_gone(host.identity_of(root))
    tmux.end(manifest.berth._replace(process=host.identity_of(root)))
    eventually(lambda: host.is_gone(host.identity_of(root)))


def test_a_child_that_was_started_is_told_of_with_its_program(yard: Yard, tmp_path):
    command, _ = program("lines", tmp_path)
    yard.ok("spawn", "worker", "--bridge", "lines", "--", *command)
    starts = [one["payload"] for one in told(yard) if one["type"] == "agent.started"]
    assert starts == [{"bridge": "lines", "program": os.path.basename(command[0])}]


@pytest.mark.parametrize("is_stopped", [False, True])
def test_of_a_child_that_has_ended_the_log_tells_what_it_said_and_how_it_ended(yard: Yard, is_stopped: bool):
    script = "echo; echo no licence; echo buy one; exit 3"
    done = yard("spawn", "worker", "--bridge", "lines", "--", "sh", "-c", script)
    assert "See what it printed: postroom log p/worker --json" in done.err
    eventually(lambda: ends(yard))
    if is_stopped:
        yard("stop", "worker")
    log = yard.ok("log", "worker").out
    lines = {line.split()[1]: line for line in log.splitlines()}
    assert "sh by lines" in lines["agent.started"]
    assert "no licence" in log
    assert lines["agent.ended"].endswith("exit 3")
    refused = yard("screen", "worker")
    assert refused.code == 1
    assert "is not running" in refused.err
    assert "See what it printed: postroom log" in refused.err
    events = yard.ok("log", "worker", "--json").out  # a line of the log has only the first of what it printed
    assert "buy one" in events


def test_what_a_terminal_showed_is_said_to_be_gone_with_it(yard: Yard):
    yard(
        "spawn",
        "worker",
        "--bridge",
        "pty",
        "--runtime",
        "claude",
        "--",
        "sh",
        "-c",
        "echo no licence; exit 3",
    )
    refused = yard("screen", "worker")
    assert "is not running" in refused.err
    assert "What it printed is gone with its terminal; see how it ended: postroom log" in refused.err


@pytest.mark.parametrize("was_here", [False, True])
def test_who_could_not_be_started_has_an_address_only_if_it_had_one(yard: Yard, was_here: bool):
    if was_here:
        yard.line.ok("join", "writer")
    words = ("--bridge", "acp", "--timeout", "1s", "--", "sh", "-c", "exec cat >/dev/null")
    refused = yard("spawn", "writer", *words)
    assert refused.code == 1
    assert "it did not answer within 1 s" in refused.err
    assert ("p/writer" in yard.ok("agents").out) is was_here


def test_nobody_goes_to_an_agent_whose_start_is_told_in_json(yard: Yard):
    refused = yard("spawn", "backend", "--open", "--json", "--", "cat")
    assert refused.code == 2
    assert "--open goes to the agent" in refused.err
    assert manifests.every(yard.home) == []
