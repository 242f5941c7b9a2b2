"""A terminal that cannot show all of a text: nothing is typed that cannot be checked, and nothing is lost."""

from collections.abc import Callable

import pytest

from postroom import host
from postroom.bridges.contract import (
    Assent,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Observation,
    Result,
    Text,
)
from postroom.bridges.manifest import Manifest
from postroom.daemon.actor import Actor
from postroom.model.ladder import Evidence, State
from postroom.room.local import LocalRoom

SMALL = 700  # characters that it can show
_LOOK = 5.0  # seconds between two looks where nothing that waits fits


class SmallTerminal:
    """A bridge of which only the size matters."""

    name = "small"

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.size = SMALL
        self.tries = 0

    def capabilities(self) -> Capabilities:
        return Capabilities(screen=True, proves=(Evidence.TERMINAL,))

    def setup(self) -> None: ...

    def observe(self) -> Observation:
        return Observation(Doing.IDLE, "its composer is empty", room=self.size, size=(self.size, 1))

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        self.tries += 1
        if len(text.text) > self.size:
            return Delivered(Result.REFUSED, "too_long")
        assent.begun()
        self.typed.append(text.text)
        return Delivered(Result.PROVEN, evidence=Evidence.TERMINAL)

    def attend(self, ring: Callable[[], None]) -> None: ...

    def receive(self) -> list[Heard]:
        return []

    def interrupt(self) -> Interrupted:
        return Interrupted(False, "")

    def answer(self, question: str, option: str) -> bool:
        return False

    def screen(self, lines: int = 0) -> str:
        return ""

    def terminal(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def terminal() -> SmallTerminal:
    return SmallTerminal()


@pytest.fixture
def actor(room: LocalRoom, terminal: SmallTerminal, monkeypatch: pytest.MonkeyPatch) -> Actor:
    monkeypatch.setattr("postroom.daemon.actor._SETTLED", 0.0)
    agent = room.who("builder")
    return Actor(room, Manifest(agent.id, agent.address, "small", host.identity()), terminal)


def steps(actor: Actor) -> None:
    for _ in range(50):
        pause = actor.step()
        if pause is None or pause >= _LOOK:
            return
    raise AssertionError("it never comes to rest")


def test_messages_that_are_too_long_together_go_in_one_by_one(
    room: LocalRoom, actor: Actor, terminal: SmallTerminal
):
    sent = [room.send("builder", f"message {n}: {'x' * 300}") for n in range(3)]
    steps(actor)
    assert [room.receipts(one.id).deliveries[0].state for one in sent] == [State.SEEN] * 3
    assert ["message 0" in terminal.typed[0], "message 2" in terminal.typed[-1]] == [True, True]


def test_of_what_is_too_long_by_itself_its_agent_is_told_once_and_others_go_in(
    room: LocalRoom, actor: Actor, terminal: SmallTerminal
):
    long = room.send("builder", "y" * 3_000)
    short = room.send("builder", "short")
    steps(actor)
    steps(actor)
    told = [text for text in terminal.typed if f"postroom read {long.message.handle}" in text]
    assert len(told) == 1
    assert "yyy" not in "".join(terminal.typed)
    waiting = room.receipts(long.id).deliveries[0]
    assert (waiting.state, waiting.reason) == (State.STORED, "too_long")
    assert room.receipts(short.id).deliveries[0].state is State.SEEN


def test_a_terminal_too_small_even_for_a_line_is_tried_once_and_again_when_it_has_grown(
    room: LocalRoom, actor: Actor, terminal: SmallTerminal
):
    terminal.size = 10
    one, another = room.send("builder", "one"), room.send("builder", "another")
    steps(actor)
    tries = terminal.tries
    steps(actor)
    assert (terminal.tries, terminal.typed) == (tries, [])
    waits = [room.receipts(each.id).deliveries[0] for each in (one, another)]
    assert [(each.state, each.reason) for each in waits] == [(State.STORED, "too_long")] * 2
    terminal.size = SMALL
    steps(actor)
    assert [room.receipts(each.id).deliveries[0].state for each in (one, another)] == [State.SEEN] * 2


def test_what_did_not_fit_and_was_read_elsewhere_holds_up_nobody(
    room: LocalRoom, actor: Actor, terminal: SmallTerminal
):
    together = [room.send("builder", f"message {n}: {'x' * 300}") for n in range(2)]
    actor.step()  # together they are too long
    room.ack(together[0].id, agent="builder")
    steps(actor)
    assert room.receipts(together[1].id).deliveries[0].state is State.SEEN


def test_a_receipt_says_what_an_agent_was_not_shown(room: LocalRoom, actor: Actor, terminal: SmallTerminal):
    terminal.size = 2_000
    sent = room.send("builder", "Z" * 9_000)
    steps(actor)
    [attempt] = room.receipts(sent.id).attempts
    shown = "".join(terminal.typed).count("Z")
    assert attempt.missing == 9_000 - shown > 0
