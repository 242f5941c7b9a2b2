"""Waking an idle session by a call, and leaving alone what needs none."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom import config, host
from postroom.errors import NotWoken
from postroom.hooks import program, wake
from postroom.hooks.stub import stub
from postroom.model.ladder import State
from postroom.model.presence import Presence
from postroom.room import premises
from postroom.room import wake as calling
from postroom.room.local import LocalRoom
from postroom.runtimes import load
from postroom.runtimes.contract import NUDGE
from postroom.runtimes.process import Call
from tests.hooking import ClaudeCode, run_hook
from tests.machine import unshare
from tests.player import Player
from tests.process import BOUND, until

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
        until(lambda: host.started_with(host.identity_of(process.pid))[0])  # empty for a moment in execve
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


def call_in(room: LocalRoom) -> None:
    """As a waker that a send has started."""
    party = room.who("builder").id
    wake.wake(room, party, calling.lock(room.home, party))


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
    call_in(room)
    assert lines(typed) == [{"type": "submit", "text": NUDGE}]
    assert room.receipts(sent.id).deliveries[0].state is State.STORED


@pytest.mark.promise("wake")
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "PermissionRequest"])
def test_a_session_that_works_or_asks_is_left_alone(
    room: LocalRoom, builder: Callable[[str], None], typed: str, event: str
) -> None:
    builder(event)
    room.send("builder", "later")
    call_in(room)
    assert lines(typed) == []


@pytest.mark.promise("wake")
def test_nothing_is_called_when_nothing_waits_or_nobody_is_there(
    room: LocalRoom, builder: Callable[[str], None], agent: subprocess.Popen[str], typed: str
) -> None:
    call_in(room)
    room.send("builder", "too late")
    agent.kill()
    agent.wait(10)
    call_in(room)
    assert lines(typed) == []


@pytest.mark.promise("wake")
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


@pytest.mark.promise("wake")
@pytest.mark.usefixtures("builder")
def test_one_waker_at_a_time_works_for_an_agent(room: LocalRoom, typed: str) -> None:
    party = room.who("builder").id
    room.send("builder", "wake up")
    locked = calling.lock(room.home, party)
    assert locked is not None
    call_in(room)
    assert lines(typed) == []
    os.close(locked)


@pytest.mark.promise("wake")
def test_who_rings_while_a_waker_has_looked_in_vain_is_heard_by_it(
    room: LocalRoom, builder: Callable[[str], None], typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins_a_turn(builder, monkeypatch)
    looks, real = list[int](), vars(wake)["_Waker"].work

    def work(waker: object) -> None:
        real(waker)
        looks.append(1)
        if len(looks) == 1:
            room.send("builder", "just now")
            os.utime(room.ring.path(room.who("builder").id), (1, 1))  # the clock was set back meanwhile

    monkeypatch.setattr(vars(wake)["_Waker"], "work", work)
    call_in(room)
    assert (len(looks), len(lines(typed))) == (2, 1)


def test_each_ring_is_told_from_the_one_before(room: LocalRoom, builder: Callable[[str], None]) -> None:
    party = room.who("builder").id
    stamps = set[int]()
    for _ in range(100):
        room.ring.touch([party])
        stamps.add(room.ring.rung_at(party))
    assert len(stamps) == 100


def test_a_sign_of_life_from_before_the_clock_was_set_back_keeps_nobody_asleep(
    room: LocalRoom, builder: Callable[[str], None], typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins_a_turn(builder, monkeypatch)
    monkeypatch.setattr(wake, "_HOOK", 500)
    room.send("builder", "hello")
    os.utime(config.beside(room.home, "life", "q1"), (2**32, 2**32))
    call_in(room)
    assert len(lines(typed)) == 1


@pytest.mark.promise("wake")
def test_a_turn_that_takes_long_to_end_after_our_hook_is_waited_for(
    room: LocalRoom, builder: Callable[[str], None], typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a hook of the user's own at its end: ours has run before, and nothing else shows the mail."""
    begins_a_turn(builder, monkeypatch)
    monkeypatch.setattr(wake, "_TURN", 0.0)
    looks, real = list[int](), vars(wake)["doing"]

    def doing(*given: Any) -> Presence:
        looks.append(1)
        return Presence.BUSY if len(looks) < 10 else real(*given)

    monkeypatch.setattr(wake, "doing", doing)
    room.send("builder", "hello")
    call_in(room)
    assert len(lines(typed)) == 1


@pytest.fixture
def started(room: LocalRoom) -> Iterator[Callable[[], list[int]]]:
    """The wakers that were started: in their place runs something that only stays."""
    path = config.beside(room.home, "hook")
    pids = f"{path}.pids"
    host.private_directory(os.path.dirname(path))
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\necho $$ >>{pids}\nexec sleep 60\n")
    os.chmod(path, 0o700)

    def running() -> list[int]:
        if not os.path.exists(pids):
            return []
        with open(pids, encoding="ascii") as file:
            return [int(line) for line in file]

    yield running
    for pid in running():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.promise("wake")
def test_many_rings_at_once_start_one_waker(room: LocalRoom, started: Callable[[], list[int]]) -> None:
    for _ in range(50):
        calling.start(room.home, [room.who("builder").id])
    until(lambda: bool(started()))
    assert len(started()) == 1
    assert calling.lock(room.home, room.who("builder").id) is None, "it holds what was locked for it"


@pytest.mark.usefixtures("builder")
def test_a_waker_lets_go_of_what_its_sender_had_open(
    room: LocalRoom, typed: str, tmp_path: os.PathLike[str]
) -> None:
    program.install(room.home)
    room.send("builder", "hello")
    mine = os.open(os.path.join(tmp_path, "mine"), os.O_CREAT | os.O_RDWR)
    assert host.lock(mine)
    os.set_inheritable(mine, True)
    calling.start(room.home, [room.who("builder").id])
    os.close(mine)
    until(lambda: bool(lines(typed)))
    again = os.open(os.path.join(tmp_path, "mine"), os.O_RDWR)
    assert host.lock(again)
    os.close(again)


@pytest.mark.promise("wake")
@pytest.mark.usefixtures("builder")
def test_a_session_that_does_not_react_is_called_three_times_and_that_is_logged(
    room: LocalRoom, typed: str
) -> None:
    room.send("builder", "hello?")
    with pytest.raises(NotWoken, match="3 times"):
        call_in(room)
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


# a wake that came to nothing


@pytest.fixture
def calls(room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was called, in place of a process for each; a moment after it was rung an agent is late."""
    found: list[str] = []
    monkeypatch.setattr(premises, "_ANSWER", 0)
    monkeypatch.setattr(calling, "call", lambda _, parties: found.extend(parties))
    return found


@pytest.mark.promise("wake-again")
@pytest.mark.parametrize("look", ["receipts", "sent", "agents"])
def test_who_sleeps_on_is_called_once_more_by_the_next_who_looks(
    room: LocalRoom, builder: Callable[[str], None], calls: list[str], look: str
) -> None:
    sent = room.send("builder", "wake up")
    for _ in range(3):
        {"receipts": lambda: room.receipts(sent.id), "sent": room.sent, "agents": room.agents}[look]()
    assert calls == [room.who("builder").id]
    room.send("builder", "another")
    room.agents()
    assert calls == [room.who("builder").id] * 2, "a new ring is a new wake"


@pytest.mark.promise("wake-again")
def test_nobody_is_called_once_more_who_works_has_nothing_or_has_a_waker(
    room: LocalRoom, builder: Callable[[str], None], calls: list[str]
) -> None:
    room.ring.touch([room.who("builder").id])
    room.agents()
    room.send("builder", "wake up")
    builder("PostToolUse")
    room.agents()
    builder("Stop")
    locked = calling.lock(room.home, room.who("builder").id)
    assert locked is not None
    room.agents()
    os.close(locked)
    assert calls == []
    room.agents()
    assert len(calls) == 1


@pytest.mark.promise("wake-again")
@pytest.mark.usefixtures("builder")
def test_an_agent_is_not_called_once_more_while_it_may_still_begin_a_turn(
    room: LocalRoom, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(premises, "_ANSWER", 10**18)
    room.send("builder", "wake up")
    room.agents()
    assert calls == []
    os.utime(room.ring.path(room.who("builder").id), (2**32, 2**32))  # the clock was set back since
    room.agents()
    assert len(calls) == 1


@pytest.mark.promise("wake-again")
@pytest.mark.parametrize("how", ["command", "wait"])
def test_mail_whose_wake_was_killed_arrives_after_the_next_command_that_looks(
    room: LocalRoom,
    sleeping: subprocess.Popen[str],
    started: Callable[[], list[int]],
    tmp_path: os.PathLike[str],
    how: str,
) -> None:
    party = room.who("builder").id
    sent = room.send("builder", "The build is red.")
    until(lambda: bool(started()))
    os.kill(started()[0], signal.SIGKILL)
    until(lambda: is_free(room, party))
    program.install(room.home)
    os.utime(room.ring.path(party), (1, 1))  # as if it had been rung long ago
    with Player(room.home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        if how == "command":
            player.ok("receipts", sent.id)
        else:  # the sender itself waits
            room.until(sent.id, "offered", timeout=BOUND)
    assert "The build is red." in woken(sleeping)


def is_free(room: LocalRoom, party: str) -> bool:
    locked = calling.lock(room.home, party)
    if locked is not None:
        os.close(locked)
    return locked is not None


@pytest.mark.promise("wake-again")
@pytest.mark.parametrize("step", ["hook-begun", "hook-claimed"])
def test_an_agent_whose_hook_was_killed_as_it_woke_it_is_rung_once_more(
    room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    monkeypatch.setattr(premises, "_ANSWER", 0)
    claude, party = ClaudeCode(room.home, str(tmp_path)), room.who("builder").id
    claude.start()
    claude.stop()
    room.send("builder", "The build is red.")
    claude.die("FileChanged", step, keep=False)
    rung = room.ring.rung_at(party)
    room.agents()
    assert room.ring.rung_at(party) != rung
    assert "The build is red." in claude.change()
