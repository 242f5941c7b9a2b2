"""The real Claude Code spoken to in stream-json: what reaches the model is proven, and only then."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom.bridges.contract import Assent, Doing, Heard, Launch, Result, Text
from postroom.bridges.process import stream
from postroom.model.ladder import Evidence
from tests.agents.conftest import MakeRig
from tests.agents.log import until
from tests.agents.rig import Rig

MAIL = "%%abcdefgh Postroom: what does the build say?"
SECOND = "%%abcdefgh Postroom: and the tests?"
WAIT = "[[bash while ! test -e go; do sleep 0.1; done]] [[say DONE]]"
WILLING = Assent(lambda: None, lambda: True)


class Agent:
    """Claude Code as a child, and what it said."""

    def __init__(self, rig: Rig, *arguments: str, **env: str) -> None:
        self.rig = rig
        command = [*rig.prefix, rig.program, "--allowedTools", "Bash", *arguments]
        self._launch = Launch("a1", "p/builder", command, rig.place.project, rig.env | env, "claude")
        self.heard: list[Heard] = []
        self.start()

    def start(self) -> None:
        self.berth = stream.start(self._launch)
        self.bridge = stream.open(self.berth)

    def deliver(self, text: str, while_busy: bool = False) -> tuple[Result, str]:
        delivered = self.bridge.deliver(Text(text, while_busy=while_busy), WILLING)
        return delivered.result, delivered.reason

    def receive(self) -> list[Heard]:
        while more := self.bridge.receive():
            self.heard += more
        return self.heard

    def events(self, kind: str) -> list[Any]:
        said = [json.loads(heard.text) for heard in self.receive() if heard.stream == "event"]
        return [line for line in said if line.get("type") == kind]

    def proofs(self) -> list[Evidence]:
        return [heard.proves for heard in self.receive() if heard.proves]

    def wait(self, doing: Doing) -> None:
        until(lambda: self.bridge.observe().doing is doing, what=doing)

    def let_go(self) -> None:
        with open(os.path.join(self.rig.place.project, "go"), "w", encoding="utf-8"):
            pass


@pytest.fixture
def begin(make_rig: MakeRig) -> Iterator[Callable[..., Agent]]:
    made: list[Agent] = []

    def beginner(*arguments: str, **env: str) -> Agent:
        made.append(Agent(make_rig("claude"), *arguments, **env))
        return made[-1]

    yield beginner
    for agent in made:
        agent.bridge.close()


def test_mail_for_an_idle_agent_begins_a_turn_and_is_proven_by_the_answer(
    begin: Callable[..., Agent],
) -> None:
    agent = begin()
    assert agent.bridge.observe().doing is Doing.IDLE
    assert agent.deliver(MAIL) == (Result.HANDED, "")
    until(agent.proofs)
    assert agent.rig.log.count(MAIL) == 1
    agent.wait(Doing.IDLE)
    assert agent.deliver(SECOND) == (Result.HANDED, "")
    until(lambda: len(agent.proofs()) == 2)
    assert (agent.rig.log.count(MAIL), agent.rig.log.count(SECOND)) == (1, 1)


def test_mail_for_an_agent_at_work_reaches_the_model_after_the_tool_in_the_same_turn(
    begin: Callable[..., Agent],
) -> None:
    agent = begin()
    agent.deliver(WAIT)
    until(lambda: agent.events("assistant"))
    agent.wait(Doing.PROCESSING)
    assert agent.deliver(MAIL) == (Result.REFUSED, "busy")
    assert agent.deliver(MAIL, while_busy=True) == (Result.HANDED, "")
    before = len(agent.proofs())
    agent.let_go()
    until(lambda: len(agent.proofs()) > before)
    assert agent.rig.log.count(MAIL) == 1
    agent.wait(Doing.IDLE)
    assert len(agent.events("result")) == 1


def test_mail_that_waits_for_the_end_of_an_answer_is_not_proven_by_it(begin: Callable[..., Agent]) -> None:
    agent = begin()
    agent.deliver("[[sleep 3]] [[say SLOW]]")
    agent.rig.log.wait("SLOW")
    assert agent.deliver(MAIL, while_busy=True) == (Result.HANDED, "")
    until(lambda: agent.events("result"))
    proofs = agent.proofs()
    assert agent.rig.log.arrival(MAIL) is not None or proofs == []
    until(agent.proofs)
    assert agent.rig.log.count(MAIL) == 1
    agent.wait(Doing.IDLE)


def test_an_agent_that_was_killed_is_started_again_and_gets_its_mail(begin: Callable[..., Agent]) -> None:
    agent = begin()
    agent.deliver(WAIT)
    until(lambda: agent.events("assistant"))
    os.kill(int(agent.berth.process.partition(".")[0]), signal.SIGKILL)
    agent.wait(Doing.GONE)
    assert agent.deliver(MAIL) == (Result.REFUSED, "offline")
    agent.receive()
    assert agent.heard[-1].exit_code == -signal.SIGKILL
    agent.let_go()
    before = len(agent.proofs())
    agent.start()
    assert agent.deliver(SECOND) == (Result.HANDED, "")
    until(lambda: len(agent.proofs()) > before)
    assert agent.rig.log.count(SECOND) == 1
    assert agent.rig.log.arrival(MAIL) is None


@pytest.mark.parametrize("script", [WAIT, "[[sleep 60]] [[say SLOW]]"])
def test_an_interrupt_ends_the_turn_and_that_is_seen(begin: Callable[..., Agent], script: str) -> None:
    agent = begin()
    agent.deliver(script)
    agent.rig.log.wait(script[-6:])
    agent.wait(Doing.PROCESSING)
    interrupted = agent.bridge.interrupt()
    assert interrupted.proven, interrupted.words
    assert agent.bridge.observe().doing is Doing.IDLE
    agent.let_go()
    assert agent.deliver(f"{MAIL} [[say NOW]]") == (Result.HANDED, "")
    until(agent.proofs)
    assert agent.rig.log.count(MAIL) == 1


def test_what_it_asks_a_person_is_not_answered_and_mail_waits(begin: Callable[..., Agent]) -> None:
    agent = begin("--permission-prompt-tool", "stdio")
    path = os.path.join(agent.rig.place.tmp, "written")
    agent.deliver(f'[[tool Write {{"file_path": "{path}", "content": "x"}}]] [[say W]]')
    agent.wait(Doing.ASKING)
    observed = agent.bridge.observe()
    assert (observed.reason, observed.dialog) == ("approval", "permission")
    assert "Write" in observed.words
    assert agent.deliver(MAIL, while_busy=True) == (Result.REFUSED, "approval")
    assert agent.bridge.interrupt().proven
    agent.wait(Doing.IDLE)
    assert not os.path.exists(path)


@pytest.mark.parametrize(("option", "written"), [("deny", False), ("", False), ("allow", True)])
def test_what_it_asks_is_answered_as_a_person_has_decided(
    begin: Callable[..., Agent], option: str, written: bool
) -> None:
    agent = begin("--permission-prompt-tool", "stdio")
    path = os.path.join(agent.rig.place.tmp, "written")
    agent.deliver(f'[[tool Write {{"file_path": "{path}", "content": "x"}}]] [[say W]]')
    agent.wait(Doing.ASKING)
    [asked] = [heard.asks for heard in agent.receive() if heard.asks]
    assert (asked.title, path in asked.details) == ("Use the tool Write", True)
    assert agent.bridge.answer(asked.id, option)
    assert not agent.bridge.answer(asked.id, "allow"), "it takes one answer"
    agent.wait(Doing.IDLE)
    assert os.path.exists(path) is written


def test_where_the_model_cannot_be_reached_nothing_is_proven(begin: Callable[..., Agent]) -> None:
    agent = begin(ANTHROPIC_BASE_URL="http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="0")
    assert agent.deliver(MAIL) == (Result.HANDED, "")
    until(lambda: agent.events("result"))
    agent.wait(Doing.IDLE)
    assert agent.proofs() == []
