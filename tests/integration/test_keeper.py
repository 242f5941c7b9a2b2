"""What is asked of a keeper: done in time or not at all, and its errors are told as they were raised."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import Any

import pytest

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.manifest import Manifest
from postroom.daemon import control, errand, keeper
from postroom.daemon.keeper import Keeper
from postroom.errors import (
    AlreadyRunning,
    BridgeError,
    LoopGuard,
    PostroomError,
    Refused,
    TimedOut,
    UnknownAgent,
    UsageError,
    told,
)
from postroom.room.local import LocalRoom
from tests.process import BOUND
from tests.slow import Slow
from tests.tui.house import House
from tests.tui.stage import Stage, patiently


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def kept(room: LocalRoom, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    monkeypatch.setattr(keeper, "load", lambda _: slow)
    monkeypatch.setattr(errand, "_ANSWER", 0.01)
    agent = room.known("builder")
    found = Keeper(room, Manifest(agent.id, agent.address, "slow", host.identity()), {})
    found.start()
    assert slow.busy.wait(BOUND)
    yield found
    slow.go.set()
    found.stop()
    found.join(BOUND)


def test_what_has_not_begun_in_time_is_not_done_later(kept: Keeper, slow: Slow):
    done: list[str] = []
    with pytest.raises(TimedOut, match="so it was not done"):
        kept.ask(lambda *_: done.append("late"))
    slow.go.set()
    kept.submit(lambda *_: done.append("next")).result(BOUND)
    assert done == ["next"]
    assert kept.crashes == 0


def test_what_has_begun_is_waited_for(kept: Keeper, slow: Slow, monkeypatch: pytest.MonkeyPatch):
    begun, end, bounds = threading.Event(), threading.Event(), list[float]()

    def job(*_: object) -> str:
        begun.set()
        assert end.wait(BOUND)
        return "done"

    def waits(answers: "list[Future[Any]]", seconds: float) -> Any:
        """The first time is over when it has begun; the second time, it ends."""
        bounds.append(seconds)
        assert begun.wait(BOUND)
        if len(bounds) > 1:
            end.set()
        return wait(answers, BOUND if len(bounds) > 1 else 0)

    monkeypatch.setattr(errand, "wait", waits)
    slow.go.set()
    assert kept.ask(job) == "done"
    assert len(bounds) == 2


def test_what_was_given_up_harms_nobody_when_the_keeper_ends(kept: Keeper, slow: Slow):
    with pytest.raises(TimedOut):
        kept.ask(lambda *_: None)
    kept.stop()
    slow.go.set()
    kept.join(BOUND)
    assert kept.is_over


# errors on their way


@pytest.mark.parametrize(
    "error",
    [
        LoopGuard("round and round", thread="t1"),
        AlreadyRunning("p/backend runs", agent="p/backend", hint="Go there."),
        TimedOut("late"),
        UnknownAgent("who?"),
        BridgeError("gone", hint="", silent=True),
    ],
)
def test_an_error_is_raised_as_it_was_with_its_facts(error: PostroomError):
    again = told(json.loads(json.dumps(error.as_json())))
    assert (type(again), str(again), again.hint, again.facts) == (
        type(error),
        str(error),
        error.hint,
        error.facts,
    )


def test_an_error_that_is_not_known_here_is_one_of_the_bridge():
    assert type(told({"error": "of_next_year", "message": "so"}, BridgeError)) is BridgeError


@pytest.fixture
def house(room: LocalRoom) -> Iterator[House]:
    with Stage() as stage, House(room, stage) as house:
        yield house


def raw(home: str, line: bytes) -> Any:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(BOUND)
        link.connect(config.beside(home, "daemon.sock"))
        link.sendall(line)
        return json.loads(link.makefile().readline())


def test_words_that_make_no_sense_are_told_as_that(house: House):
    house.daemon()
    asked: list[dict[str, Any]] = [
        {"verb": "start", "manifest": {"nothing": 1}, "env": {}},
        {"verb": "start", "manifest": 7, "env": {}},
        {"verb": "command", "agent": 7, "text": "x", "by": "y"},
        {"verb": "observe"},
        {"verb": "screen", "agent": "x", "lines": "many"},
        {"verb": "watch"},
        {"verb": "release"},
        {"verb": "dance"},
    ]
    for words in asked:
        with pytest.raises(UsageError):
            control.ask(house.home, str(words.pop("verb")), **words)
    with pytest.raises(UnknownAgent):
        control.ask(house.home, "screen", agent="nobody")
    assert raw(house.home, b"no json\n")["error"] == "usage"
    assert raw(house.home, b"[1]\n")["error"] == "usage"


# an agent that is deleted


@pytest.mark.parametrize("has_ended", [False, True])
def test_who_is_deleted_is_forgotten_and_told_once(house: House, has_ended: bool):
    pane = house.stage.agent()
    known = house.adopt("builder", pane)
    house.stage.tmux("set-option", "-p", "-t", pane.id, "@postroom_agent", known.address)
    house.daemon()
    house.seen(house.room.send("builder", "hello").id)
    if has_ended:
        house.stage.tmux("respawn-pane", "-k", "-t", pane.id, "cat")
        patiently(lambda: house.notes("ended"))
    house.room.delete_project("p")
    patiently(lambda: house.notes("forgotten"))
    assert manifests.every(house.home) == []
    assert pane.ask("#{@postroom_agent}") == ""
    patiently(lambda: control.ask(house.home, "ping")["agents"] == 0)
    assert control.ask(house.home, "ping")["crashes"] == 0
    assert (len(house.notes("forgotten")), house.notes("crashed")) == (1, [])


def test_who_was_deleted_while_nobody_looked_is_forgotten_at_the_start(house: House):
    pane = house.stage.agent()
    house.adopt("builder", pane)
    house.room.delete_project("p")
    house.daemon()
    patiently(lambda: house.notes("forgotten"))
    assert manifests.every(house.home) == []
    assert house.notes("crashed") == []


def test_a_refusal_keeps_its_class_over_the_socket(house: House):
    pane = house.stage.agent()
    known = house.adopt("builder", pane)
    house.daemon()
    one = {"id": "abc123", "pane": pane.target, "place": "x", "pattern": "x", "to": "builder"}
    one |= {"owner": known.agent, "sender": known.address}
    control.ask(house.home, "watch", watch=one)
    with pytest.raises(Refused) as refused:
        control.ask(house.home, "watch", watch={**one, "id": "abc124"})
    assert "abc123" in refused.value.hint
