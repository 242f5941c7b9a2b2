"""What an agent asks, while the room refuses to be written, is slow to take it, or has changed meanwhile."""

import os
from collections.abc import Callable

import pytest

from postroom import host
from postroom.bridges.contract import (
    Assent,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Observation,
    Option,
    Question,
    Result,
    Text,
)
from postroom.bridges.inquiry import inquiry
from postroom.bridges.manifest import Manifest
from postroom.config import Settings
from postroom.daemon.actor import Actor
from postroom.daemon.questions import Questions
from postroom.errors import BridgeError, InvalidValue, StoreFull
from postroom.model.ladder import State
from postroom.model.message import Agent, Session
from postroom.room import berth, glance, permission
from postroom.room.glance import Glance
from postroom.room.local import LocalRoom

OPTIONS = (Option("y", "Yes", "allow_once"), Option("n", "No", "reject_once"))


class Asking:
    """A bridge to an agent that asks: of that only the answers."""

    name = "acp"

    def __init__(self) -> None:
        self.answers: list[tuple[str, str]] = []
        self.is_over = self.is_deaf = False
        self.heard: list[Heard] = []

    def answer(self, question: str, option: str) -> bool:
        if self.is_deaf:
            raise BridgeError("it does not listen")
        self.answers.append((question, option))
        return not self.is_over

    def capabilities(self) -> Capabilities:
        return Capabilities(owned=True)

    def observe(self) -> Observation:
        return Observation(Doing.IDLE, "it is idle \ud83d")

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        assent.begun()
        return Delivered(Result.UNCERTAIN, words="its server said \ud83d")

    def receive(self) -> list[Heard]:
        heard, self.heard = self.heard, []
        return heard


class Scene:
    """An agent that asks, in a room."""

    def __init__(self, room: LocalRoom) -> None:
        self.room, self.bridge = room, Asking()
        self.agent: Agent = room.join("builder")
        process = str(os.getpid())
        self.session: Session = berth.occupy(room, self.agent, "acp", process)
        self.questions = Questions(room, self.bridge)  # pyright: ignore[reportArgumentType] - all that is used

    def ask(self, number: str = "1", options: tuple[Option, ...] = OPTIONS) -> None:
        question = Question(number, f"run {number}", "rm -rf build", options)
        self.questions.hear(Heard(asks=question))

    def step(self) -> float | None:
        return self.questions.step(self.agent, self.session)

    def gate(self) -> str:
        [gate] = self.room.gates()
        return gate.message.id

    def letters(self) -> list[State]:
        """What became of each letter to the agent that was said."""
        asked = [one for one, _ in self.room.sent("builder") if one.type == "decision_gate"]
        found = [self.room.thread(one.id) for one in asked]
        replies = [one for thread in found for one in thread if one.type != "decision_gate"]
        return [self.room.receipts(one.id).deliveries[0].state for one in replies]


@pytest.fixture
def scene(room: LocalRoom) -> Scene:
    room.join("human:ana")
    return Scene(room)


Fail = Callable[[str], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Let one use case fail once, as on a full disk."""

    def failing(name: str) -> None:
        usual, left = getattr(permission, name), [1]

        def once(*words: object) -> object:
            if left:
                left.pop()
                raise StoreFull
            return usual(*words)

        monkeypatch.setattr(permission, name, once)

    return failing


def test_what_could_not_be_asked_on_a_full_disk_is_asked_once_there_is_space(scene: Scene, fail: Fail):
    fail("ask")
    scene.ask()
    with pytest.raises(StoreFull):
        scene.step()
    assert scene.room.gates() == []
    assert scene.step() is not None
    scene.step()
    assert scene.gate()


def test_what_was_answered_is_noted_later_and_not_answered_again(scene: Scene, fail: Fail):
    scene.ask()
    scene.step()
    scene.room.decide(scene.gate(), "approve", agent="human:ana")
    fail("passed_on")
    with pytest.raises(StoreFull):
        scene.step()
    assert scene.letters() == [State.STORED]
    assert scene.step() is None
    assert scene.bridge.answers == [("1", "y")]
    assert scene.letters() == [State.SEEN]


def test_a_decision_that_comes_when_nobody_asks_any_more_is_taken_back(scene: Scene):
    scene.ask()
    scene.step()
    gate = scene.gate()
    scene.room.decide(gate, "approve", agent="human:ana")
    scene.bridge.is_over = True
    scene.step()
    waits = scene.room.peek("builder")
    assert scene.questions.sift(waits) == []
    assert scene.letters() == [State.WITHDRAWN]
    assert scene.room.peek("builder") == []


@pytest.mark.parametrize("is_elsewhere", [True, False])
def test_what_was_seen_of_an_agent_while_it_asked_counts_no_longer_once_it_is_answered(
    scene: Scene, is_elsewhere: bool
):
    scene.ask()
    scene.step()
    seen = Glance("asking", "asks: run 1", "approval", scene.room.now(), host.identity())
    glance.put(scene.room.home, scene.agent.id, seen)
    scene.step()
    assert glance.get(scene.room.home, scene.agent.id) == seen
    if is_elsewhere:
        scene.questions.hear(Heard(asked="1"))
    else:
        scene.room.decide(scene.gate(), "approve", agent="human:ana")
    scene.step()
    assert glance.get(scene.room.home, scene.agent.id) is None


def test_who_allows_something_once_has_not_allowed_it_for_ever(scene: Scene):
    scene.ask(options=(Option("e", "Always", "allow_always"), OPTIONS[1]))
    scene.step()
    with pytest.raises(InvalidValue, match="none of the options: approve-always, deny"):
        scene.room.decide(scene.gate(), "approve", agent="human:ana")
    scene.room.decide(scene.gate(), "Approve-Always", agent="human:ana")
    scene.step()
    assert scene.bridge.answers == [("1", "e")]


@pytest.mark.promise("people-decide")
def test_a_decision_that_does_not_get_through_is_passed_on_once_it_does(scene: Scene):
    scene.ask()
    scene.step()
    scene.room.decide(scene.gate(), "approve", agent="human:ana")
    scene.bridge.is_deaf = True
    for _ in range(3):
        assert scene.step() is not None, "it is tried again"
    assert scene.questions.sift(scene.room.peek("builder")) == []
    assert scene.letters() == [State.STORED], "it is neither shown as mail nor taken back"
    scene.bridge.is_deaf = False
    assert scene.step() is None
    assert scene.bridge.answers == [("1", "y")]
    assert scene.letters() == [State.SEEN]
    told = [one.payload for one in scene.room.events() if one.type == "agent.pushed"]
    assert [one["result"] for one in told if one] == ["uncertain", "handed"]


def test_a_gate_of_the_agents_own_is_no_permission_and_its_answer_is_mail(scene: Scene):
    sent = scene.room.send("human:ana", "May I?", sender="builder", type="decision_gate")
    scene.step()
    scene.room.decide(sent.id, "approve", agent="human:ana")
    assert len(scene.questions.sift(scene.room.peek("builder"))) == 1


def test_the_person_above_an_agent_is_asked_and_no_other_agent_is(scene: Scene):
    scene.room.join("human:ben")
    scene.agent = scene.room.join("builder", supervisor="human:ben")
    scene.ask()
    scene.step()
    assert scene.room.gate(scene.gate()).asked == ["human:ben"]
    scene.questions.hear(Heard(asked="1"))
    scene.step()
    scene.room.join("lead")
    scene.agent = scene.room.join("builder", supervisor="lead")
    scene.ask("2")
    scene.step()
    assert sorted(scene.room.gate(scene.gate()).asked) == ["human:ana", "human:ben"]


def test_an_agent_that_may_send_no_more_now_asks_when_it_may(home: str):
    with LocalRoom(home, Settings(sender_rate=10), project="p") as room:
        room.join("human:ana")
        scene = Scene(room)
        room.send("human:ana", "one", sender="builder")
        for number in range(200):
            scene.ask(str(number))
        assert scene.step() is not None
        assert 0 < len(room.gates()) < 200, "what is asked counts as what it sends"
        scene.questions.finish("the agent has ended")
        assert room.gates() == []


def actor(scene: Scene) -> Actor:
    manifest = Manifest(scene.agent.id, "p/builder", "acp", str(os.getpid()))
    return Actor(scene.room, manifest, scene.bridge)  # pyright: ignore[reportArgumentType] - all that is used


def test_half_a_character_of_an_agents_keeps_neither_its_words_nor_its_question_from_people(scene: Scene):
    asked = inquiry("1", "bash: echo \ud83d", "echo \ud83d", OPTIONS)
    scene.bridge.heard = [
        Heard("Done \ud83d\ude00 \ud83d"),
        Heard('{"patterns":["echo \ud83d"]}', "event", asks=asked),
    ]
    actor(scene).step()
    assert scene.gate()
    written = [one for one in scene.room.events() if one.type == "agent.output"]
    assert [one.payload["text"] for one in written] == [
        "Done \U0001f600 \\ud83d", '{"patterns":["echo \\ud83d"]}'
    ]  # fmt: skip


def test_a_question_whose_words_cannot_be_written_down_is_asked_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> None:
        raise ValueError("not these words")

    monkeypatch.setattr(berth, "said", fails)
    scene.bridge.heard = [Heard("{}", "event", asks=Question("1", "run 1", "rm -rf build", OPTIONS))]
    acting = actor(scene)
    with pytest.raises(ValueError, match="not these"):
        acting.step()
    acting.step()
    assert scene.gate()


def test_half_a_character_in_what_is_known_of_an_agent_is_spelt_out(scene: Scene):
    scene.room.send("builder", "hello", sender="human:ana")
    actor(scene).step()
    [pushed] = [one for one in scene.room.events() if one.type == "agent.pushed"]
    assert pushed.payload["words"] == "its server said \\ud83d"
    seen = glance.last(scene.room.home, scene.agent.id)
    assert seen is not None
    assert seen.words == "it is idle \\ud83d"
