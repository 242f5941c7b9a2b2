"""Waking an idle session by a call, and leaving alone what needs none."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from postroom import config, host
from postroom.errors import NotWoken
from postroom.hooks import program, wake
from postroom.hooks.stub import stub
from postroom.model.ladder import State
from postroom.room import wake as calling
from postroom.room.local import LocalRoom
from postroom.runtimes import load
from postroom.runtimes.contract import NUDGE
from postroom.runtimes.process import Call
from tests.hooking import run_hook
from tests.machine import unshare
from tests.player import Player

QWEN = load("qwen")
IDLE = "import sys; sys.stdin.read()"


@pytest.fixture
def typed(tmp_path: os.PathLike[str]) -> str:
    """The file from which the agent reads what is typed."""
    path = os.path.join(tmp_path, "typed.jsonl")
    open(path, "w", encoding="utf-8").close()
    return path


@pytest.fixture
def agent(typed: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the command line of a Qwen Code with a file to read from."""
    command = [sys.executable, "-IS", "-c", IDLE, "--input-file", typed]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def builder(
    room: LocalRoom, agent: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """`builder` is that agent's session, which wants to be called; gives its signs of life."""
    monkeypatch.setattr(wake, "_TURN", 0.2)
    monkeypatch.setattr(wake, "_HOOK", 0)
    party = room.who("builder").id
    details = {"key": "q1", "cwd": "/", "transcript": ""}
    payload = {
        "id": "qwen:q1:main", "runtime": "qwen", "process": host.identity_of(agent.pid), "pane": None,
        "worktree": None, "branch": None, "epoch": 0, "details": details,
    }  # fmt: skip
    with room.write() as tx:
        tx.append("session.started", party, payload=payload, role="agent")
    room.quiet.link("q1", party)
    room.ring.put(party, "qwen:q1:main")
    monkeypatch.setattr(LocalRoom, "call", lambda *_: None)  # a send starts none here

    def sign(event: str) -> None:
        with open(config.beside(room.home, "life", "q1"), "w", encoding="utf-8") as file:
            file.write(event + "\n")

    sign("Stop")
    return sign


def lines(path: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def begins_a_turn(sign: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[[Call], None] = vars(wake)["_make"]

    def make(call: Call) -> None:
        real(call)
        sign("UserPromptSubmit")

    monkeypatch.setattr(wake, "_make", make)


@pytest.mark.promise("wake")
def test_an_idle_session_with_mail_is_called_once_and_its_mail_waits_for_the_hook(
    room: LocalRoom, builder: Callable[[str], None], typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins_a_turn(builder, monkeypatch)
    sent = room.send("builder", "wake up")
    wake.wake(room, room.who("builder").id)
    assert lines(typed) == [{"type": "submit", "text": NUDGE}]
    assert room.receipts(sent.id).deliveries[0].state is State.STORED


@pytest.mark.promise("wake")
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "PermissionRequest"])
def test_a_session_that_works_or_asks_is_left_alone(
    room: LocalRoom, builder: Callable[[str], None], typed: str, event: str
) -> None:
    builder(event)
    room.send("builder", "later")
    wake.wake(room, room.who("builder").id)
    assert lines(typed) == []


@pytest.mark.promise("wake")
def test_nothing_is_called_when_nothing_waits_or_nobody_is_there(
    room: LocalRoom, builder: Callable[[str], None], agent: subprocess.Popen[str], typed: str
) -> None:
    party = room.who("builder").id
    wake.wake(room, party)
    room.send("builder", "too late")
    agent.kill()
    agent.wait(10)
    wake.wake(room, party)
    assert lines(typed) == []


@pytest.mark.promise("wake")
@pytest.mark.usefixtures("builder")
@pytest.mark.parametrize(
    ("event", "started"), [("Stop", 1), ("SessionStart", 1), ("UserPromptSubmit", 0), ("PostToolUse", 0)]
)
def test_a_waker_is_started_only_for_a_session_whose_hooks_may_have_said_all(
    room: LocalRoom,
    builder: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    started: int,
) -> None:
    called = list[str]()
    monkeypatch.setattr(calling, "start", lambda _, parties: called.extend(parties))
    party = room.who("builder").id
    builder(event)
    calling.call(room, [party])
    assert called == [party] * started


def test_no_waker_is_started_for_a_session_that_is_gone(
    room: LocalRoom,
    builder: Callable[[str], None],
    agent: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = list[str]()
    monkeypatch.setattr(calling, "start", lambda _, parties: called.extend(parties))
    agent.kill()
    agent.wait()
    calling.call(room, [room.who("builder").id])
    assert called == []


def test_one_waker_at_a_time_works_for_an_agent(room: LocalRoom, typed: str) -> None:
    party = room.who("builder").id
    room.send("builder", "wake up")
    lock = vars(wake)["_lock"](os.path.join(room.home, "run", "wake"), party)
    assert lock is not None
    wake.wake(room, party)
    assert lines(typed) == []
    os.close(lock)


@pytest.mark.promise("wake")
@pytest.mark.usefixtures("builder")
def test_a_session_that_does_not_react_is_called_three_times_and_that_is_logged(
    room: LocalRoom, typed: str
) -> None:
    room.send("builder", "hello?")
    with pytest.raises(NotWoken, match="3 times"):
        wake.wake(room, room.who("builder").id)
    assert len(lines(typed)) == 3


AGENT = """
import json, os, subprocess, sys
hooks, typed, told = json.loads(sys.argv[1]), sys.argv[3], {"session_id": "q1", "cwd": os.getcwd()}
def hook(event, **more):
    stdin = json.dumps({**told, **more, "hook_event_name": event})
    return subprocess.run(["sh", "-c", hooks[event]], input=stdin, capture_output=True, text=True).stdout
hook("SessionStart", source="startup")
hook("Stop")
file = open(os.open(typed, os.O_RDWR))
print("idle", flush=True)
prompt = json.loads(file.readline())["text"]
print(json.dumps([prompt, hook("UserPromptSubmit", prompt=prompt)]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def sleeping(room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[subprocess.Popen[str]]:
    """An idle Qwen Code, who is `builder`; says what was typed and what its hook then said."""
    typed = os.path.join(tmp_path, "typed")
    os.mkfifo(typed)
    hook = program.install(room.home)
    hooks = {
        point.event: stub(
            room.home, point.event, f"{hook} qwen {point.event}", "q1",
            alive=point.is_sign, quiet=not point.is_always,
        )
        for point in QWEN.points
    }  # fmt: skip
    env = {"PATH": os.environ["PATH"], "POSTROOM_PROJECT": "p", "POSTROOM_AGENT": "builder"}
    command = [sys.executable, "-IS", "-c", AGENT, json.dumps(hooks), "--input-file", typed]
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "idle\n"
        yield agent
        agent.kill()


def woken(agent: subprocess.Popen[str]) -> str:
    """What the hook of an agent showed when it was woken."""
    assert agent.stdout is not None
    prompt, said = json.loads(agent.stdout.readline())
    assert prompt == NUDGE
    return json.loads(said)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.promise("wake")
def test_a_send_wakes_an_idle_agent_whose_own_hook_then_shows_it_the_mail(
    room: LocalRoom, sleeping: subprocess.Popen[str]
) -> None:
    sent = room.send("builder", "The build is red.")
    assert "The build is red." in woken(sleeping)
    assert room.receipts(sent.id).deliveries[0].state is State.OFFERED


@pytest.mark.promise("wake")
def test_whom_a_sandbox_hides_from_the_sender_is_woken_by_the_senders_next_hook(
    room: LocalRoom, sleeping: subprocess.Popen[str], tmp_path: os.PathLike[str]
) -> None:
    with Player(room.home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup")
        prefix = tuple(unshare("--pid", "--fork", "--mount-proc"))
        sent = player.ok("send", "builder", "The build is red.", prefix=prefix)
        assert sent["deliveries"][0]["state"] == "stored"
        outbox = os.path.join(player.cwd, ".postroom", "outbox")
        assert len(os.listdir(outbox)) == 1
        player.hook("PostToolBatch")
        assert not os.path.exists(outbox)
        assert "The build is red." in woken(sleeping)


@pytest.mark.promise("subagent-unknown")
def test_nothing_is_offered_after_a_tool_while_a_subagent_of_gemini_runs(
    room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")

    def hook(event: str, **stdin: str) -> str:
        told = json.dumps({"session_id": "g1", "cwd": str(tmp_path), "hook_event_name": event, **stdin})
        return run_hook(room.home, ["gemini", event, "g1"], told)[1]

    hook("SessionStart", source="startup")
    hook("BeforeTool", tool_name="invoke_agent")
    hook("BeforeTool", tool_name="invoke_agent")
    room.send("builder", "For the parent.")
    assert hook("AfterTool", tool_name="run_shell_command") == ""
    assert hook("AfterTool", tool_name="invoke_agent") == ""
    assert "For the parent." in hook("AfterTool", tool_name="invoke_agent")
