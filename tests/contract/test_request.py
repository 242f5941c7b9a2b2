"""Requests to somebody: open until they are answered, acknowledged or over, whatever its name is now."""

from typing import Any

import pytest

from postroom.room import keep
from postroom.room.local import LocalRoom
from postroom.room.request import requests
from tests.clockwork import Clock
from tests.contract.conftest import Enter


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("builder")
    for agent in ("builder", "planner", "human:ana"):
        room.join(agent, role="lead" if agent == "planner" else "")
    return room


@pytest.fixture
def ana(enter: Enter, team: LocalRoom) -> LocalRoom:
    return enter("human:ana")


def ask(room: LocalRoom, body: str, to: str = "human:ana", **options: Any) -> str:
    return room.send(to, body, type="request", **options).id


def bodies(room: LocalRoom, agent: str | None = None, limit: int = 50) -> list[str]:
    return [one.body for one in requests(room, agent, limit=limit)]


def test_what_somebody_was_asked_is_listed_until_it_is_answered_or_acknowledged(
    team: LocalRoom, ana: LocalRoom
):
    first, second, third = ask(team, "one?"), ask(team, "two?"), ask(team, "three?")
    team.send("human:ana", "no question")
    ask(team, "another's?", "planner")
    assert bodies(ana) == ["one?", "two?", "three?"]
    for _ in range(2):
        mail = ana.take()
        assert mail is not None
        ana.settle(mail)
    ana.take()
    assert bodies(ana) == ["one?", "two?", "three?"], "seen, and offered"
    ana.reply(first, "yes")
    ana.ack(second)
    assert bodies(ana) == ["three?"]
    ana.nack(third, "no time")
    assert bodies(ana) == []


def test_they_are_whose_they_are_under_any_name(team: LocalRoom, enter: Enter):
    seen = ask(team, "seen?")
    ask(team, "stored?")
    ana = enter("human:ana")
    mail = ana.take(id=seen)
    assert mail is not None
    ana.settle(mail)
    ana.rename("anna")
    ana.join("human:ana")
    assert bodies(ana) == []
    assert bodies(enter("human:anna")) == ["seen?", "stored?"]


def test_what_is_over_or_not_yet_due_or_with_another_is_no_question(
    team: LocalRoom, enter: Enter, ana: LocalRoom, clock: Clock
):
    ask(team, "soon over?", expires=10)
    ask(team, "tomorrow?", after=60)
    redacted = ask(team, "a secret?")
    keep.redact(team, redacted)
    assert bodies(ana) == ["soon over?"]
    clock.advance(20)
    assert bodies(ana) == []
    clock.advance(60)
    assert bodies(ana) == ["tomorrow?"]
    team.join("scout", role="lead")
    either, planner, scout = ask(team, "either?", "one:@leads"), enter("planner"), enter("scout")
    assert bodies(planner) == bodies(scout) == ["either?"]
    scout.take(id=either)
    assert (bodies(planner), bodies(scout)) == ([], ["either?"])


def test_the_oldest_come_first_and_no_more_than_were_wanted(team: LocalRoom, ana: LocalRoom):
    each = [ask(team, f"{n}?") for n in range(6)]
    mail = ana.take(id=each[1])
    assert mail is not None
    ana.settle(mail)
    assert bodies(ana, limit=3) == ["0?", "1?", "2?"]


def test_nobody_is_asked_who_has_no_name_here(team: LocalRoom, enter: Enter):
    assert bodies(enter()) == bodies(enter("human:nobody")) == []
