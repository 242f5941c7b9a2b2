"""A store that cannot be reached is asked less and less often."""

from typing import Any, cast

import pytest

from postroom.bridges.files.depot import Depot
from postroom.bridges.files.patient import Patient
from postroom.errors import MailboxUnreachable


class Away:
    """A depot that counts how often it is asked, and answers as it is told."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: Exception | None = MailboxUnreachable("it is away")

    def __getattr__(self, _: str) -> Any:
        return self._ask

    def _ask(self, *_: Any) -> list[str]:
        self.asked += 1
        if self.answer is not None:
            raise self.answer
        return []


class Hands:
    """A clock that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def away() -> Away:
    return Away()


@pytest.fixture
def patient(away: Away, clock: Hands) -> Patient:
    return Patient(cast(Depot, away), clock)


def asked_over(seconds: int, patient: Patient, clock: Hands) -> None:
    for _ in range(seconds):
        clock.now += 1
        with pytest.raises(MailboxUnreachable, match="it is away"):
            patient.names("bob/outbox")


def test_what_is_away_is_asked_less_and_less_often_and_says_what_it_said(
    patient: Patient, away: Away, clock: Hands
):
    asked_over(60, patient, clock)
    first_minute = away.asked
    asked_over(540, patient, clock)
    assert first_minute < 8
    assert away.asked - first_minute < 12


def test_what_is_back_is_asked_as_before(patient: Patient, away: Away, clock: Hands):
    asked_over(60, patient, clock)
    away.answer, clock.now = None, clock.now + 60
    before = away.asked
    for _ in range(10):
        assert patient.names("bob/outbox") == []
    assert away.asked == before + 10


def test_that_something_is_not_there_is_an_answer(patient: Patient, away: Away):
    away.answer = FileNotFoundError()
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            patient.about("bob/outbox/a.json")
    assert away.asked == 3
