"""`postroom hook plain`: mail for a runtime of which we know only that it shows a command's output."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from postroom import host
from postroom.hooks import plain
from tests.commandline import COMMAND, CommandLine
from tests.player import TICK
from tests.process import BOUND, ROOT, environment, until

# A runtime: runs the command that it is told on each line, and says what came out, as one line.
RUNTIME = """
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


class Runtime:
    """A process that shows its model what commands print."""

    def __init__(self, cli: CommandLine) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUNTIME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=ROOT, env=environment(**cli.environment),
        )  # fmt: skip

    def look(self, words: str = "hook plain --as builder") -> str:
        """What the command prints; it must end well."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{' '.join(COMMAND)} {words}\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        assert (code, err) == (0, "")
        threading.Event().wait(TICK)  # else the next look may seem to have begun before this one ended
        return out

    def end(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=BOUND)


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    for name in ("builder", "planner"):
        cli.ok("join", name)
    return cli


@pytest.fixture
def runtime(cli: CommandLine) -> Iterator[Runtime]:
    one = Runtime(cli)
    yield one
    one.end()


@pytest.mark.promise("plain")
def test_what_it_was_shown_is_seen_when_it_asks_again(cli: CommandLine, runtime: Runtime):
    assert runtime.look() == ""
    first, second = cli.sent("builder", "Build the parser."), cli.sent("builder", "And test it.")
    text = runtime.look()
    assert "Build the parser." in text
    assert "And test it." in text
    assert [cli.receipt(ref)["state"] for ref in (first, second)] == ["offered", "offered"]
    assert runtime.look() == ""
    for ref in (first, second):
        receipt = cli.receipt(ref)
        assert (receipt["state"], receipt["evidence"]) == ("seen", "boundary")
        assert (receipt["route"], receipt["attempts"]) == ("hook:plain", 1)


@pytest.mark.promise("plain")
def test_as_json_it_is_one_document_and_counts_as_shown(cli: CommandLine, runtime: Runtime):
    words = "hook plain --as builder --json"
    assert json.loads(runtime.look(words)) == {"text": ""}
    ref = cli.sent("builder", "Build the parser.")
    assert "Build the parser." in json.loads(runtime.look(words))["text"]
    assert cli.receipt(ref)["state"] == "offered"
    until(lambda: json.loads(runtime.look(words)) == {"text": ""} and cli.receipt(ref)["state"] == "seen")


@pytest.mark.promise("nonce")
def test_what_would_prove_an_attempt_is_not_told_while_it_is_open(cli: CommandLine, runtime: Runtime):
    ref = cli.sent("builder", "Build the parser.")
    text = runtime.look()
    [attempt] = cli.receipt(ref)["history"]
    assert (attempt["outcome"], attempt["nonce"]) == ("open", None)
    until(lambda: runtime.look() == "" and cli.receipt(ref)["state"] == "seen")
    [attempt] = cli.receipt(ref)["history"]
    assert (attempt["outcome"], attempt["nonce"] in text) == ("proven", True)
    assert attempt["nonce"] not in cli.ok("log", "--json").out


@pytest.mark.promise("plain")
def test_what_a_process_was_shown_that_is_gone_comes_back_labelled(cli: CommandLine, runtime: Runtime):
    ref = cli.sent("builder", "Build the parser.")
    assert "Build the parser." in runtime.look()
    other = Runtime(cli)
    try:
        assert other.look() == ""  # while the first lives, it has it
        runtime.end()
        assert "shown before" in other.look()
        assert cli.receipt(ref)["attempts"] == 2
    finally:
        other.end()


@pytest.mark.promise("plain")
def test_what_could_not_be_written_is_shown_again_as_new(cli: CommandLine, runtime: Runtime):
    cli.sent("builder", "Build the parser.")
    assert runtime.look("hook plain --as builder >/dev/full") == ""
    text = runtime.look()
    assert "Build the parser." in text
    assert "shown before" not in text


def test_each_name_has_its_own_mail_in_one_process(cli: CommandLine, runtime: Runtime):
    to_builder, to_planner = cli.sent("builder", "b"), cli.sent("planner", "p", sender="builder")
    runtime.look()
    runtime.look("hook plain --as planner")
    assert cli.receipt(to_builder)["state"] == "offered"  # what another was shown proves nothing
    runtime.look()
    assert cli.receipt(to_builder)["state"] == "seen"
    assert cli.receipt(to_planner)["state"] == "offered"


def test_the_name_it_was_given_is_no_evidence_of_who_calls_from_there(cli: CommandLine, runtime: Runtime):
    cli.sent("builder", "b")
    runtime.look()
    assert runtime.look("send planner hi --quiet --as tester") != ""  # it is not held to be builder
    [builder] = [each for each in cli.ok("agents", "--json").json["agents"] if each["name"] == "builder"]
    assert [each["presence"] for each in builder["sessions"]] == ["unknown"]


def test_agents_and_send_say_the_same_of_who_is_shown_its_mail_by_it(cli: CommandLine, runtime: Runtime):
    runtime.look()
    way = "at its next hook plain"
    assert way in cli.ok("agents").out
    assert f"builder: stored, {way}" in cli.ok("send", "builder", "hi", "--as", "planner").out
    runtime.end()
    assert "builder: stored, not running" in cli.ok("send", "builder", "hi", "--as", "planner").out


def test_a_failure_is_in_the_log_and_not_in_the_agent(cli: CommandLine, runtime: Runtime):
    assert runtime.look("hook plain") == ""
    assert runtime.look("hook plain --as nobody") == ""
    assert runtime.look("hook claude Nonsense") == ""
    assert runtime.look("hook nonsense Stop </dev/null") == ""
    with open(f"{cli.home}-hooks/hook.log", encoding="utf-8") as file:
        lines = file.read().splitlines()
    wanted = ("NoIdentity", "nobody", "Nonsense", "nonsense")
    assert all(word in line for word, line in zip(wanted, lines, strict=True))


def test_whoever_tries_it_by_hand_is_told_what_to_add(cli: CommandLine):
    ours, theirs = pty.openpty()
    with cli.start("hook", "plain", stderr=theirs, env={"NO_COLOR": "1"}) as process:
        os.close(theirs)
        assert process.wait(BOUND) == 0
        told = os.read(ours, 65536).decode().split()
    os.close(ours)
    said = " ".join(told)
    assert said.startswith("postroom: it is not clear who is calling Say who you are: add --as NAME")
    assert "set POSTROOM_AGENT" in said


def test_a_replay_knows_what_was_shown(cli: CommandLine, runtime: Runtime, tmp_path: object):
    cli.sent("builder", "Build the parser.")
    runtime.look()
    runtime.look()
    done = cli.ok("replay", "--into", f"{tmp_path}/again", "--json").json
    assert done.get("same", True)
    assert cli.ok("verify").code == 0


def test_a_terminal_multiplexer_is_not_what_was_shown_the_mail(monkeypatch: pytest.MonkeyPatch):
    """It outlives every script that asks in it, whose end must give the mail back."""
    monkeypatch.setattr(host, "ancestors", lambda pid=None, most=32: [os.getppid(), 4242])
    monkeypatch.setattr(host, "program", lambda pid: "tmux: server" if pid == 4242 else "bash")
    assert plain._process() == host.identity_of(os.getppid())
    monkeypatch.setattr(host, "program", lambda pid: "agent" if pid == 4242 else "bash")
    assert plain._process() == host.identity_of(4242)


def test_a_directory_whose_name_is_no_text_keeps_nobody_from_its_mail(
    cli: CommandLine, tmp_path: os.PathLike[str]
):
    ref, path = cli.sent("builder", "Build the parser."), os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    subprocess.run(["git", "init", "-q", path], check=True, capture_output=True)
    env = {**environment(**cli.environment), "PYTHONPATH": ROOT}
    words = [*COMMAND, "hook", "plain", "--as", "p/builder"]
    del env["POSTROOM_PROJECT"]  # then the project is that directory, too
    done = subprocess.run(words, cwd=path, env=env, capture_output=True, text=True, check=True)
    assert "Build the parser." in done.stdout
    assert cli.receipt(ref)["state"] == "offered"
    words = [*COMMAND, "send", "p/builder", "hi", "--as", "new", "--json"]
    sent = subprocess.run(words, cwd=path, env=env, capture_output=True, check=True)
    assert cli.receipt(json.loads(sent.stdout)["id"])["state"] == "stored"
