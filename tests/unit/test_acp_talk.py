"""What an agent says token by token, gathered."""

from collections.abc import Callable

import pytest

from postroom.bridges.acp import talk as module
from postroom.bridges.acp.talk import Talk, Timer
from postroom.bridges.contract import Heard


class Clock:
    """Holds what is due, until it is rung."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def later(self, seconds: float, job: Callable[[], None]) -> Timer:
        del seconds
        self.due.append(job)
        return self

    def cancel(self) -> None:
        self.due.clear()

    def ring(self) -> None:
        self.due.pop()()


def spoken(clock: Clock) -> tuple[Talk, list[Heard], list[str]]:
    told: list[Heard] = []
    shown: list[str] = []
    return Talk(told.append, lambda text, mark: shown.append(text), clock.later), told, shown


def test_half_a_character_waits_for_the_other_half():
    clock = Clock()
    talk, told, shown = spoken(clock)
    talk.add("message", "Done \ud83d")
    clock.ring()
    talk.add("message", "\ude00!")
    clock.ring()
    assert [one.text for one in told] == ["Done ", "\U0001f600!"]
    assert shown == ["Done ", "\U0001f600!"]


def test_half_a_character_at_the_end_of_a_long_piece_waits_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_LARGEST", 3)
    talk, told, _ = spoken(Clock())
    talk.add("thought", "abc\ud83d")
    talk.add("thought", "\ude00")
    talk.flush()
    assert [one.text for one in told] == ['{"thought":"abc"}', '{"thought":"\U0001f600"}']


def test_half_a_character_that_stays_alone_is_spelt_out():
    talk, told, _ = spoken(Clock())
    talk.add("message", "\ud83d")
    talk.tell({"turn": "end_turn"})
    assert [one.text for one in told] == ["\\ud83d", '{"turn":"end_turn"}']
