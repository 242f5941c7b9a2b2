"""Real agents that speak ACP, kept by a real daemon: mail is a turn, its end is the proof, people decide.

The request log of the scripted model is the witness again.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.daemon import instance
from postroom.model.ladder import Evidence, State
from tests.agents.beginning import BEGINNINGS
from tests.agents.conftest import MakeDesk
from tests.agents.desk import ANA, NAME, Desk, Posted, postroom_in
from tests.agents.log import BOUND, until
from tests.agents.pin import program

ALL = ("gemini", "opencode", "qwen", "copilot", "goose", "claude", "codex")
ADAPTERS = {"claude": "claude-acp", "codex": "codex-acp"}
ARGUMENTS = {"gemini": ("-m", "gemini-2.5-pro")}
ASKED = {name: BEGINNINGS[name]["dialog"] for name in ("opencode", "goose")}  # which ask only if told to
SLOW = "[[sleep 5]] [[say SLOWLY]]"
# Its sessions are files named by the minute: one that is begun again in the same minute is written over.
BY_THE_MINUTE = ("gemini",)


class Spoken:
    """One of them, and the room it is in."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.rig = desk, desk.rig
        self.name = desk.rig.cli.name
        adapter = ADAPTERS.get(self.name)
        self.program = program(adapter) if adapter else self.rig.program
        if self.program is None:
            pytest.skip(f"NOT TESTED HERE: no {adapter}: make agents")
        beginning = ASKED.get(self.name)
        if beginning is not None:
            beginning.prepare(self.rig.place)
        self.env: dict[str, str] = dict(beginning.also) if beginning else {}

    def __call__(self, *words: str, **env: str) -> Any:
        env = {"POSTROOM_PROJECT": "shop", "POSTROOM_SENDER_RATE": "0", **env}
        done = postroom_in(self.rig, words[0], "--json", *words[1:], **env)
        assert done.returncode == 0, done
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def spawn(self) -> dict[str, Any]:
        self.began = time.time()
        command = [*self.rig.prefix, str(self.program), *ARGUMENTS.get(self.name, ())]
        options = ("--bridge", "acp", "--runtime", self.name, "--restart", "always")
        return self("spawn", NAME, *options, "--", *command, **self.env)

    def manifest(self) -> manifests.Manifest:
        [found] = manifests.every(self.desk.home)
        return found

    def doing(self) -> str:
        [status] = [one for one in self.desk.room.agents() if one.agent.name == NAME]
        return status.sessions[0].presence.value if status.sessions else "gone"

    def sessions(self) -> list[str]:
        """What was told of each that was begun, or gone on with."""
        told = [str(event.payload.get("text")) for event in self.desk.room.events()]
        return [text for text in told if '"postroom":"session"' in text]

    def prompt(self, text: str) -> None:
        """A person's own words."""
        self("command", NAME, text)

    def answer(self, word: str) -> str:
        """What a person writes to say yes or no this once; of two of a kind, the first."""
        [gate] = self.desk.room.gates()
        return next(option for option in gate.options if option in (word, f"{word}-1"))

    def gate(self) -> str:
        """Wait until it asks; the gate."""
        until(self.desk.room.gates, BOUND, "gate")
        [gate] = self.desk.room.gates()
        assert gate.asked == [ANA]
        return gate.message.id

    def of_another_minute(self) -> manifests.Manifest:
        """The one that runs, when it may be begun again."""
        if self.name in BY_THE_MINUTE:
            until(lambda: time.gmtime().tm_min != time.gmtime(self.began).tm_min, 61.0, "another minute")
        return self.manifest()

    def down(self, number: int = signal.SIGTERM) -> None:
        if process := instance.running(self.desk.home):
            os.kill(host.pid_of(process), number)
            until(lambda: host.is_gone(process), BOUND, "end of the daemon")


@pytest.mark.parametrize("name", ALL)
def test_an_agent_over_acp_gets_its_mail_asks_people_and_goes_on_after_its_death(
    make_bare_desk: MakeDesk, name: str
) -> None:
    spoken = Spoken(make_bare_desk(name))
    try:
        assert spoken.spawn()["doing"] == "idle"
        first = check_idle(spoken)
        check_busy(spoken)
        check_permission(spoken)
        check_resumed(spoken, first)
    finally:
        spoken.down()


def check_idle(spoken: Spoken) -> str:
    one = spoken.desk.send("It is idle.")
    assert spoken.desk.wait_seen(one.id).evidence is Evidence.RUNTIME_ACK
    assert spoken.rig.log.count(one.mark) == 1
    spoken.desk.note("acp idle", spoken.desk.latency(one))
    return one.mark


def check_busy(spoken: Spoken) -> None:
    """It waits for the end of the turn, and is a turn of its own."""
    spoken.prompt(SLOW)
    spoken.rig.log.wait("SLOWLY")
    one = spoken.desk.send("It is busy.")
    until(lambda: spoken.desk.delivery(one.id).reason == "busy", BOUND, "reason")
    assert spoken.desk.wait_seen(one.id).evidence is Evidence.RUNTIME_ACK
    assert spoken.rig.log.count(one.mark) == 1
    assert spoken.rig.log.count("SLOWLY") >= 2, "the turn before was cut short"
    spoken.desk.note("acp busy", spoken.desk.latency(one))


def check_permission(spoken: Spoken) -> None:
    asked = os.path.join(spoken.rig.place.project, "asked.txt")
    for option, runs in (("deny", False), ("approve", True)):
        spoken.prompt(f"{spoken.rig.cli.question} [[say AFTER-{option}]]")
        gate = spoken.gate()
        waiting = spoken.desk.send("It asks.")
        until(lambda mail=waiting: spoken.desk.delivery(mail.id).reason == "approval", BOUND, "reason")
        assert not os.path.exists(asked)
        spoken("decide", gate, spoken.answer(option), "--as", ANA)
        spoken.desk.wait_seen(waiting.id)
        assert os.path.exists(asked) is runs
        assert not spoken.desk.room.gates()
    spoken.desk.note("acp permission")


def check_resumed(spoken: Spoken, first: str) -> None:
    """Killed in a turn that mail has begun: that mail is shown again, in the session in which it was."""
    before = spoken.of_another_minute()
    one = spoken.desk.send(SLOW)
    spoken.rig.log.wait(one.mark)
    os.kill(host.pid_of(before.process), signal.SIGKILL)
    check_goes_on(spoken, before, one, first)
    assert f"may have been shown before\n{one.mark}" in spoken.rig.log.last(one.mark)
    spoken.desk.note("acp resumed")


def check_goes_on(spoken: Spoken, before: manifests.Manifest, one: Posted, first: str) -> None:
    until(lambda: spoken.manifest().process != before.process, BOUND, "restart")
    spoken.began = time.time()
    assert spoken.desk.wait_seen(one.id).state is State.SEEN
    assert spoken.manifest().details["session"] == before.details["session"], spoken.sessions()
    assert first in spoken.rig.log.last(one.mark), "what was said before is gone"


def check_killed_idle(spoken: Spoken, first: str) -> None:
    """What comes then is its next turn, in the session that there was, and is shown once."""
    before = spoken.of_another_minute()
    assert spoken.doing() == "idle"
    os.kill(host.pid_of(before.process), signal.SIGKILL)
    until(lambda: host.is_gone(before.process), BOUND, "its end")
    one = spoken.desk.send("It did nothing when it was killed.")
    check_goes_on(spoken, before, one, first)
    assert spoken.rig.log.count(one.mark) == 1


def check_daemon_killed(spoken: Spoken, first: str) -> None:
    """In a turn that mail has begun: the next daemon starts the agent where it was, and shows that again."""
    before = spoken.of_another_minute()
    one = spoken.desk.send(SLOW)
    spoken.rig.log.wait(one.mark)
    spoken.down(signal.SIGKILL)
    assert not spoken.desk.is_seen(one.id)
    spoken("up", **spoken.env)
    check_goes_on(spoken, before, one, first)
    assert f"may have been shown before\n{one.mark}" in spoken.rig.log.last(one.mark)
    until(lambda: host.is_gone(before.process), BOUND, "end of the one before")


# Each with a desk of its own: Gemini CLI goes on with a session once, and does not find it a second time.
@pytest.mark.parametrize("check", [check_killed_idle, check_daemon_killed])
@pytest.mark.parametrize("name", ALL)
def test_one_that_is_killed_while_idle_or_with_its_daemon_goes_on_with_its_session(
    make_bare_desk: MakeDesk, name: str, check: Callable[[Spoken, str], None]
) -> None:
    spoken = Spoken(make_bare_desk(name))
    try:
        assert spoken.spawn()["doing"] == "idle"
        check(spoken, check_idle(spoken))
    finally:
        spoken.down()


def test_one_whose_hooks_carry_mail_is_woken_over_acp_and_shown_it_once(make_desk: MakeDesk) -> None:
    spoken = Spoken(make_desk("claude"))
    try:
        assert spoken.spawn()["doing"] == "idle"
        spoken.prompt("Begin. [[say BEGUN]]")  # its hooks tell of a session with the first prompt
        until(lambda: spoken.desk.presence() == "idle", BOUND, "end of the turn")
        one = spoken.desk.send("Its hooks carry it.")
        assert spoken.desk.wait_seen(one.id).evidence in (Evidence.TRANSCRIPT, Evidence.BOUNDARY)
        assert spoken.rig.log.count(one.mark) == 1
    finally:
        spoken.down()
