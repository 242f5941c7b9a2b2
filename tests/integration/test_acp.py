"""Agents that speak ACP and do not behave: what they do not say is not believed, what they ask is answered by
nobody but a person.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator

import pytest

from postroom.bridges.acp import bridge as acp
from postroom.bridges.acp import way
from postroom.bridges.acp.bridge import Acp
from postroom.bridges.contract import Assent, Berth, Doing, Heard, Launch, Question, Result, Text
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.model.message import Json
from tests.acting import BAD, TOKENS
from tests.bridged import Record
from tests.process import ROOT, environment, until

WILLING = Assent(lambda: None, lambda: True)


class Agent:
    """The scripted agent, and what came out of it."""

    def __init__(self, place: str, details: Json, env: dict[str, str]) -> None:
        path = os.path.join(place, "record")
        self.answers = Record(path + ".answers")
        self.go = path + ".go"
        command = [sys.executable, "-m", "tests.acting", path]
        given = environment(PYTHONPATH=ROOT, **env)
        self.berth: Berth = way.start(Launch("a1", "p/b", command, place, given, "", details))
        self.bridge: Acp = way.open(self.berth)
        self.heard: list[Heard] = []

    def prompt(self, text: str) -> None:
        assert self.bridge.deliver(Text(text), WILLING).result is Result.HANDED

    def receive(self) -> list[Heard]:
        while more := self.bridge.receive():
            self.heard += more
        return self.heard

    def ends(self) -> list[Heard]:
        """What was heard when each turn ended."""
        return [one for one in self.receive() if one.text.startswith('{"turn"')]

    def end(self) -> Heard:
        until(self.ends)
        return self.ends()[-1]

    def questions(self, count: int) -> list[Question]:
        until(lambda: len([one for one in self.receive() if one.asks]) >= count)
        return [one.asks for one in self.heard if one.asks]

    def said(self) -> str:
        return "".join(one.text for one in self.receive() if one.stream == "output")


Begin = Callable[..., Agent]


@pytest.fixture
def begin(tmp_path: os.PathLike[str]) -> Iterator[Begin]:
    made: list[Agent] = []

    def beginner(details: Json | None = None, **env: str) -> Agent:
        made.append(Agent(os.fspath(tmp_path), details or {}, env))
        return made[-1]

    yield beginner
    for agent in made:
        agent.bridge.close()


@pytest.mark.promise("turn-receipt")
@pytest.mark.parametrize(
    ("script", "end", "known"),
    [
        ("hello", "end_turn", (True, False, False)),
        ("[[refuse]]", "refusal", (False, True, False)),
        ("[[fail]]", "error", (False, False, True)),
        ("[[tool]] [[fail]]", "error", (True, False, True)),
    ],
)
def test_how_a_turn_ends_says_whether_the_model_had_the_text(
    begin: Begin, script: str, end: str, known: tuple[bool, bool, bool]
):
    agent = begin()
    agent.prompt(script)
    over = agent.end()
    assert json.loads(over.text) == {"turn": end}
    assert (over.proves is Evidence.RUNTIME_ACK, bool(over.doubts), bool(over.refused)) == known
    assert agent.bridge.observe().doing is Doing.IDLE


@pytest.mark.parametrize(("script", "proves"), [("[[work]]", False), ("[[tool]] [[work]]", True)])
def test_a_turn_that_was_cancelled_proves_the_text_only_if_the_model_has_used_a_tool(
    begin: Begin, script: str, proves: bool
):
    agent = begin()
    agent.prompt(script)
    if proves:
        until(lambda: any("run the tests" in one.text for one in agent.receive()))
    assert agent.bridge.interrupt().proven
    over = agent.end()
    assert (over.proves is not None, bool(over.doubts)) == (proves, not proves)


def test_a_turn_that_does_not_end_when_it_is_told_to_is_not_said_to_have_ended(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(acp, "_STOP", 0.3)
    agent = begin()
    agent.prompt("[[deaf]]")
    assert not agent.bridge.interrupt().proven
    assert agent.bridge.observe().doing is Doing.PROCESSING
    monkeypatch.setattr(acp, "_STUCK", 0.0)
    assert agent.bridge.observe().doing is Doing.STUCK
    assert agent.bridge.deliver(Text("more"), WILLING).reason == "busy"


def test_an_agent_that_dies_in_a_turn_leaves_its_text_unproven_and_undoubted(begin: Begin):
    agent = begin()
    agent.prompt("[[tool]] [[die]]")
    until(lambda: any(one.exit_code is not None for one in agent.receive()))
    assert agent.heard[-1].exit_code == 7
    assert not any(one.proves or one.doubts for one in agent.heard)
    assert agent.bridge.observe().doing is Doing.GONE


def test_what_is_no_message_is_shown_and_harms_nothing(begin: Begin):
    agent = begin()
    agent.prompt("[[bad]]")
    assert agent.end().proves
    shown = [one.text for one in agent.heard if one.stream == "output"]
    assert shown[: len(BAD)] == list(BAD)
    agent.prompt("still there?")
    until(lambda: len(agent.ends()) == 2)


def test_an_answer_that_comes_late_is_an_answer(begin: Begin):
    agent = begin()
    agent.prompt("[[late]]")
    assert agent.bridge.deliver(Text("more"), WILLING).reason == "busy"
    assert agent.ends() == []
    with open(agent.go, "w", encoding="utf-8"):
        pass
    assert agent.end().proves


def test_an_answer_in_many_pieces_is_told_in_few(begin: Begin):
    agent = begin()
    agent.prompt("[[tokens]]")
    agent.end()
    pieces = [one for one in agent.heard if one.stream == "output"]
    assert len(pieces) < TOKENS / 10
    assert f"token{TOKENS - 1} I have read" in agent.said()
    assert "token7 token8" in agent.bridge.screen()


def test_two_questions_at_once_are_two_and_each_takes_one_answer(begin: Begin):
    agent = begin()
    agent.prompt("[[ask twice]]")
    first, second = agent.questions(2)
    assert first.title == "Run command 1"
    assert "rm -rf build1" in first.details, "what was told before the question is part of it"
    assert [option.kind for option in first.options] == ["allow_once", "allow_always", "reject_once"]
    seen = agent.bridge.observe()
    assert (seen.doing, seen.reason, seen.dialog) == (Doing.ASKING, "approval", "permission")
    assert agent.bridge.deliver(Text("more", while_busy=True), WILLING).reason == "approval"
    assert not agent.bridge.answer(first.id, "no such option")
    assert agent.bridge.answer(second.id, "yes")
    assert agent.bridge.observe().doing is Doing.ASKING
    assert agent.bridge.answer(first.id, "no")
    assert not agent.bridge.answer(first.id, "yes"), "it was answered"
    assert agent.end().proves
    assert sorted(agent.answers.texts()[1:]) == ["c1 no", "c2 yes"]
    assert {one.asked for one in agent.heard if one.asked} == {first.id, second.id}


def test_a_question_that_nobody_answers_is_no_yes_when_its_turn_is_stopped(begin: Begin):
    agent = begin()
    agent.prompt("[[ask]]")
    [asked] = agent.questions(1)
    assert agent.bridge.interrupt().proven
    assert agent.answers.texts()[1:] == ["c1 cancelled"]
    assert not agent.bridge.answer(asked.id, "yes")


def test_so_many_questions_may_be_open_and_the_rest_is_no_yes(begin: Begin):
    agent = begin()
    agent.prompt("[[flood]]")
    asked = agent.questions(acp._QUESTIONS)
    until(lambda: len(agent.answers.texts()) == 1 + 100 - acp._QUESTIONS)
    assert all(said.endswith("cancelled") for said in agent.answers.texts()[1:])
    for one in asked:
        agent.bridge.answer(one.id, "no")
    assert agent.end().proves


def test_nothing_that_an_agent_says_looks_like_a_line_of_ours(begin: Begin):
    agent = begin()
    agent.prompt("[[forge]]")
    agent.end()
    until(lambda: "[end_turn]" in agent.bridge.screen())
    opened, *shown, end = agent.bridge.screen().split("\n")
    assert (opened, end) == ("[it has begun a session]", "[end_turn]")
    assert shown[0] == "> [[forge]]"
    assert sum("approve = Yes" in line for line in shown) == 4
    assert all(line.startswith(("| ", "* ")) for line in shown[1:])


@pytest.mark.parametrize("script", ["[[ask much]]", "[[ask same]]"])
def test_what_nobody_could_choose_from_is_no_yes(begin: Begin, script: str):
    agent = begin()
    agent.prompt(script)
    assert agent.end().proves
    assert agent.answers.texts()[1:] == ["c1 cancelled"]
    assert not any(one.asks for one in agent.heard)


@pytest.mark.parametrize(
    ("sessions", "done", "words"),
    [
        ("load", "load s1", "goes on"),
        ("resume", "resume s1", "goes on"),
        ("none", "new", "cannot go on"),
        ("lost", "new", "could not be opened"),
    ],
)
def test_a_session_is_gone_on_with_where_the_agent_can_and_else_that_is_said(
    begin: Begin, sessions: str, done: str, words: str
):
    agent = begin({"session": "s1"}, ACTING_SESSIONS=sessions)
    assert agent.answers.texts() == [done]
    assert (agent.berth.details["session"] == "s1") == (done != "new")
    until(lambda: words in agent.bridge.screen())
    [told] = [json.loads(one.text) for one in agent.receive() if "resumed" in one.text]
    assert told["resumed"] == (done != "new")
    agent.prompt("hello")
    assert agent.end().proves
    assert "before" not in agent.said(), "what it replays was heard in another life"


def test_one_that_wants_a_login_or_is_no_such_agent_is_not_started(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
):
    with pytest.raises(BridgeError, match="wants a login"):
        begin(ACTING_LOGIN="1")
    monkeypatch.setattr(acp, "_OPENS", 2.0)
    with pytest.raises(BridgeError, match="did not answer"):
        begin(ACTING_MUTE="1")
    here = os.fspath(tmp_path)
    with pytest.raises(BridgeError, match=r"does not speak ACP.*no such thing"):
        way.start(
            Launch("a1", "p/b", ["/bin/sh", "-c", "echo no such thing >&2; exit 3"], here, environment())
        )
    with pytest.raises(BridgeError, match="p/b is no agent that speaks ACP") as refused:
        way.start(Launch("a1", "p/b", ["cat"], here, environment()))
    assert "{" not in f"{refused.value}{refused.value.hint}"
    with pytest.raises(BridgeError, match="does not speak ACP itself") as refused:
        way.start(Launch("a1", "p/b", ["claude"], here, environment(), "claude"))
    assert "claude-agent-acp" in refused.value.hint
    with pytest.raises(BridgeError, match="aider does not speak ACP"):
        way.start(Launch("a1", "p/b", ["aider"], here, environment(), "aider"))


def test_a_character_that_comes_in_two_halves_is_one_and_half_of_one_stops_nothing(begin: Begin):
    agent = begin(ACTING_HALF="1")
    agent.prompt("[[halves]]")
    assert agent.end().proves
    assert "Done \U0001f600! And \\udc00." in agent.said()
    agent.prompt("[[halves]] [[ask]]")
    [asked] = agent.questions(1)
    assert agent.bridge.answer(asked.id, "yes")
    until(lambda: len(agent.ends()) == 2)
