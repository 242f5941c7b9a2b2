"""How long an agent must have been idle before something is typed, who knows that it was, what it said."""

from collections.abc import Callable

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import (
    Assent,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Observation,
    Result,
    Text,
)
from postroom.bridges.manifest import Manifest
from postroom.daemon.actor import Actor
from postroom.model.ladder import Evidence
from postroom.room.local import LocalRoom


class Screen:
    """A bridge to an agent that is idle, and has written nothing for so many seconds."""

    name = "tmux"

    def __init__(self, still: float) -> None:
        self._still = still
        self.typed: list[str] = []
        self.said: list[Heard] = []

    def capabilities(self) -> Capabilities:
        return Capabilities(screen=True, proves=(Evidence.TERMINAL,))

    def attend(self, ring: Callable[[], None]) -> None: ...

    def receive(self) -> list[Heard]:
        taken, self.said = self.said, []
        return taken

    def observe(self) -> Observation:
        return Observation(Doing.IDLE, "its composer is empty", still=self._still)

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        assert assent.holds()
        assent.begun()
        self.typed.append(text.text)
        return Delivered(Result.PROVEN, evidence=Evidence.TERMINAL, words="it cleared")


@pytest.fixture
def actor(room: LocalRoom) -> Callable[[Screen], Actor]:
    def begin(screen: Screen) -> Actor:
        agent = room.join("builder")
        manifest = Manifest(agent.id, agent.address, "tmux", process=host.identity())
        manifests.put(room.home, manifest)
        room.send("builder", "hello")
        return Actor(room, manifest, screen)  # pyright: ignore[reportArgumentType] - all that it needs here

    return begin


def test_one_that_has_been_still_for_long_is_typed_into_at_once(actor: Callable[[Screen], Actor]):
    screen = Screen(still=5.0)
    actor(screen).step()
    assert len(screen.typed) == 1


def test_one_that_has_just_moved_must_be_idle_for_a_while(actor: Callable[[Screen], Actor]):
    screen = Screen(still=0.0)
    wait = actor(screen).step()
    assert screen.typed == []
    assert wait
    assert 0 < wait <= 0.25


def test_what_it_says_at_once_is_written_down_at_once_and_in_order(
    actor: Callable[[Screen], Actor], room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    screen, begun = Screen(still=0.0), list[int]()
    acting = actor(screen)
    usual = room.write
    monkeypatch.setattr(room, "write", lambda: (begun.append(1), usual())[1])
    acting.step()
    quiet = len(begun)
    many = [Heard(f"line {n}", "event") for n in range(200)]
    screen.said = [*many, Heard("proof", proves=Evidence.TERMINAL), Heard("after")]
    acting.step()
    assert len(begun) - 2 * quiet <= 4
    told = [one.payload for one in room.events() if one.type == "agent.output"]
    assert [one["text"] for one in told if one] == [*(one.text for one in many), "proof", "after"]
