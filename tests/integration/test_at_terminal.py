"""A person at a terminal of 80 columns: who they are there, and that nothing is cut or broken in mid-word."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from postroom.bridges.tmux import candidate
from postroom.bridges.tmux.server import target
from postroom.cli.bridged import places
from tests.commandline import COMMAND
from tests.process import BOUND, ROOT, environment, eventually
from tests.yard import Yard

WIDE = 80
LONG = "the-backend-of-the-whole-shop"


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


# Below nobody: an agent may run the tests, and who runs below an agent is no person.
SITS = """
import json, os, sys
above = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == above:
    pass
from tests.process import BOUND
from tests.tui.person import Person
argv, size = json.loads(sys.argv[1])
person = Person(argv, dict(os.environ), tuple(size))
try:
    code = person.process.wait(BOUND)
finally:
    person.leave()
print(json.dumps([code, person.seen.decode()]))
"""


def sits(yard: Yard, *words: str, login: str = "zoe", **env: str) -> tuple[int, list[str]]:
    """The exit code of a command and the lines that it shows, without colours."""
    return types(yard, [*COMMAND, *words], login, **env)


def types(yard: Yard, argv: list[str], login: str = "zoe", **env: str) -> tuple[int, list[str]]:
    names = {"LOGNAME": login, "USER": login, "TERM": "xterm-256color"}
    around = environment(**yard.line.environment, **yard.env, **names, **env)
    done = subprocess.run(
        [sys.executable, "-c", SITS, json.dumps([argv, (WIDE, 40)])], env=around, cwd=ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND, check=True,
    )  # fmt: skip
    code, seen = json.loads(done.stdout)
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen).replace("\r\n", "\n")
    return code, text.splitlines()


def inbox(yard: Yard) -> list[dict[str, str]]:
    return yard.ok("inbox", "--as", "planner", "--json").json["messages"]


def told(lines: list[str]) -> str:
    """What they say, folded or not; none is wider than the terminal, but where one word or command is."""
    wide = [line for line in lines if len(line) > WIDE]
    assert [
        line for line in wide if " " in line[14:].strip() and not line.strip().startswith("postroom ")
    ] == []
    return " ".join(line.strip() for line in lines)


def test_a_watch_at_a_terminal_is_in_the_name_of_who_is_logged_in(yard: Yard):
    pane = yard.stage.run("cat")
    words = ["watch", pane, "--match", "ERROR", "--to", "planner"]
    script = yard(*words)
    assert (script.code, "who is calling" in script.err) == (2, True)
    code, lines = sits(yard, *words)
    assert code == 0, lines
    assert "human:zoe is new here: it has an address now, and gets the answers" in told(lines)
    assert "the daemon was started" in lines
    [watch] = yard.ok("watch", "--list", "--json").json["watches"]
    assert watch["by"] == "human:zoe"
    yard.ok("watch", "--stop", watch["id"], "--as", "human:zoe")
    assert not any("is new here" in line for line in sits(yard, *words)[1])


def test_an_interrupt_at_a_terminal_is_in_the_name_of_who_is_logged_in(yard: Yard):
    code, lines = sits(yard, "interrupt", "planner")
    assert code == 0, lines
    assert "human:zoe is new here" in told(lines)
    assert "stored, not stopped: nothing of it runs; it is told when it reads its mail" in told(lines)


def test_every_command_of_the_mail_is_in_the_name_of_who_is_logged_in(yard: Yard):
    code, lines = sits(yard, "send", "planner", "Is the parser done?")
    assert (code, "human:zoe is new here" in told(lines)) == (0, True), lines
    [mail] = inbox(yard)
    assert (mail["sender"], mail["verified"]) == ("human:zoe", "terminal")
    answer = yard.ok("reply", mail["id"], "It is.", "--as", "planner", "--quiet").out.strip()
    asked = [("inbox",), ("wait", "--timeout", "1"), ("sent",), ("threads",), ("mute",), ("read",)]
    for words in asked:
        code, lines = sits(yard, *words)
        assert (code, "who is calling" in told(lines)) == (0, False), (words, lines)
    assert sits(yard, "ack", answer)[0] == 0
    assert yard.line.receipt(answer)["state"] == "acked"
    ref = yard.line.sent("human:zoe", "And the lexer?")
    assert sits(yard, "nack", ref, "--reason", "not today")[0] == 0
    assert sits(yard, "reply", yard.line.sent("human:zoe", "And now?"), "now")[0] == 0
    late = sits(yard, "send", "planner", "never mind", "--quiet")[1][0]
    assert sits(yard, "withdraw", late)[0] == 0
    assert sits(yard, "ask", "planner", "Are you there?", "--timeout", "0.1s")[0] == 4


def test_words_from_a_pipe_are_of_who_sits_at_the_terminal_all_the_same(yard: Yard):
    script = 'echo "of no terminal" | "$@" 2>&1 | cat >&2; echo "from a pipe" | "$@"'
    assert types(yard, ["sh", "-c", script, "sh", *COMMAND, "send", "planner", "-"])[0] == 0
    [mail] = inbox(yard)
    assert (mail["sender"], mail["body"].strip()) == ("human:zoe", "from a pipe")


def test_a_name_that_is_said_goes_before_that_of_who_is_logged_in(yard: Yard):
    assert sits(yard, "send", "planner", "hi", POSTROOM_AGENT="planner")[0] == 0
    assert sits(yard, "send", "planner", "hi", "--as", "human:ana")[0] == 0
    senders = [mail["sender"] for mail in inbox(yard)]
    assert senders == ["planner", "human:ana"]


def test_who_has_an_agent_around_is_no_person_at_a_terminal(yard: Yard):
    for words in (["send", "planner", "hi"], ["inbox"], ["whoami"], ["interrupt", "planner"]):
        code, lines = sits(yard, *words, CODEX_THREAD_ID="t")
        assert (code, "it is not clear who is calling" in told(lines)) == (2, True), (words, lines)


def test_a_login_name_that_is_no_name_has_to_be_said_otherwise(yard: Yard):
    code, lines = sits(yard, "interrupt", "planner", login="zoë@home")
    assert (code, "--as NAME" in told(lines)) == (2, True)


def test_how_an_agent_in_a_pane_is_reached_is_told_whole(yard: Yard):
    pane = yard.stage.agent(name="claude")
    pane.control("say", "Yes, I trust this folder")
    remedy = f"its mail waits: postroom attach p/{LONG}"
    code, lines = sits(yard, "adopt", pane.id, "--as", LONG)
    assert (code, any(line.endswith(f"postroom attach p/{LONG}") for line in lines)) == (0, True)
    assert f"p/{LONG}: Claude Code (tmux stage:0.0), launch_blocked:trust; {remedy}" in told(lines)
    asks = f"launch_blocked:trust in Claude Code (tmux stage:0.0): postroom attach p/{LONG}"
    assert asks in told(sits(yard, "agents")[1])
    assert asks in yard.ok("agents").out
    yard.kill_daemon()
    shown = sits(yard, "agents")[1]
    assert any(line.endswith("nothing types there: postroom up") for line in shown)
    assert f"seen last: p/{LONG} asking" in told(shown)
    assert "in Claude Code (tmux stage:0.0); nothing types there: postroom up" in yard.ok("agents").out
    assert "no daemon runs, so nothing is typed into the terminals of agents" in told(sits(yard, "status")[1])


def test_places_on_two_servers_of_tmux_are_told_apart(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    panes = ["%0@/tmp/one,1.1", "%0@/tmp/two,2.2"]
    here = {target(pane).socket: {target(pane): "work:0.0"} for pane in panes}
    monkeypatch.setattr(candidate, "places", lambda server: here[server.socket])
    assert list(places(panes).values()) == ["work:0.0 on /tmp/one", "work:0.0 on /tmp/two"]
    assert places(panes[:1]) == {panes[0]: "work:0.0"}


def test_what_nobody_runs_any_more_is_not_said_to_be_seen_last(yard: Yard):
    pane = yard.stage.agent(name="claude")
    yard.ok("adopt", pane.id, "--as", "backend")
    yard.kill_daemon()
    os.kill(pane.pid, 9)
    eventually(lambda: "seen last" not in yard.ok("agents").err)
    assert "not running" in yard.ok("agents").out


def test_a_receipt_is_folded_and_its_commands_stay_whole(yard: Yard):
    pane = yard.stage.agent("--dialog-after", "paste:0", name="claude")
    yard.ok("adopt", pane.id, "--as", LONG)
    ref = yard.line.sent(LONG, "did you get this?")
    eventually(lambda: yard.line.receipt(ref)["reason"] == "uncertain")
    lines = sits(yard, "receipts", ref)[1]
    assert any(f"postroom screen {LONG};" in line for line in lines), lines
    assert any(line.endswith(f"postroom dead retry {ref[-8:]}") for line in lines), lines
    assert "it was typed once, and nobody can tell what became of it" in told(lines)


def test_who_one_is_at_a_terminal_is_told_and_nothing_is_written(yard: Yard):
    code, lines = sits(yard, "whoami")
    assert code == 0, lines
    assert "human:zoe terminal: a person at a terminal, with no agent around" in told(lines).replace(
        "  ", " "
    )
    assert "gets one when it writes, or: postroom join human:zoe" in told(lines)
    assert "--as human:NAME" in told(lines)
    assert not any(one["address"].startswith("human:") for one in yard.ok("agents", "--json").json["agents"])
    code, lines = sits(yard, "whoami", "--as", "planner")
    assert (code, "unverified: that is only said" in told(lines)) == (0, True)


def test_a_script_is_told_that_it_has_to_say_who_it_is(yard: Yard):
    script = yard("whoami")
    assert (script.code, "--as human:NAME" in script.err) == (2, True)
    found = yard.ok("whoami", "--as", "planner", "--json").json
    assert (found["address"], found["known"], found["verified"]) == ("p/planner", True, "unverified")
    new = yard.ok("whoami", "--as", "human:ana", "--json").json
    assert (new["address"], new["known"]) == ("human:ana", False)
