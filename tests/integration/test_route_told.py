"""The routes of one agent: which is taken, for which conversation, when a failed one is tried again."""

from itertools import pairwise
from typing import cast

import pytest

from postroom.bridges.contract import Berth, Way
from postroom.bridges.manifest import Manifest
from postroom.daemon import route as routes
from postroom.daemon.route import Routes
from postroom.errors import BridgeError, NoServer
from postroom.model.context import session_id
from postroom.model.message import Session
from postroom.room.local import LocalRoom
from tests.slow import Slow


class Server:
    """A way that is there, or not, and notes for which conversation it was opened."""

    def __init__(self) -> None:
        self.sessions: list[str | None] = []
        self.error: BridgeError | None = None

    def open(self, berth: Berth) -> Slow:
        self.sessions.append(berth.details.get("session"))
        if self.error is not None:
            raise self.error
        return Slow()


class Agent:
    """One with a pane and a server, and a clock that the test has."""

    def __init__(self, room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.pane, self.now, self.told = Server(), Server(), 0.0, ""
        agent = room.who("builder")
        self.manifest = Manifest(agent.id, agent.address, "tmux", runtime="codex", routes=["codex"])
        self.routes = Routes(room, self.manifest)
        monkeypatch.setattr(routes, "load", lambda _: self.server)
        monkeypatch.setattr(routes.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(routes.berth, "carrier", lambda *_: self._carrier())

    def _carrier(self) -> Session | None:
        if not self.told:
            return None
        return Session(
            session_id("codex", self.told), "local", "", "codex", "", None, None, None, 0, 0, None, 0, {}
        )

    def open(self) -> routes.Route:
        return self.routes.open(self.manifest, cast("Way", self.pane))


@pytest.fixture
def agent(room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> Agent:
    return Agent(room, monkeypatch)


def test_the_server_is_opened_for_the_conversation_that_hooks_tell_of(agent: Agent):
    agent.told = "t1"
    route = agent.open()
    assert (route.manifest.bridge, agent.server.sessions) == ("codex", ["t1"])
    assert not agent.routes.is_stale(route)
    agent.told = "t2"
    assert agent.routes.is_stale(route)
    agent.told = ""
    assert agent.routes.is_stale(route)


def test_a_pane_leads_to_whatever_it_shows(agent: Agent):
    agent.server.error = BridgeError("no answer")
    route = agent.open()
    agent.told = "t1"
    assert not agent.routes.is_stale(route)


def test_a_server_that_does_not_answer_is_told_of_and_one_that_is_not_there_is_not(agent: Agent):
    agent.server.error = NoServer("not there")
    route = agent.open()
    assert (route.manifest.bridge, route.instead) == ("tmux", "")
    agent.now = 1000.0
    agent.server.error = BridgeError("no answer")
    assert agent.open().instead == "no answer"
    agent.now = 2000.0
    agent.server.error = NoServer("not there")
    assert agent.open().instead == "no answer", "why it was left, nobody has forgotten"
    agent.now, agent.server.error = 3000.0, None
    route = agent.open()
    assert (route.manifest.bridge, route.instead, agent.routes.instead) == ("codex", "", "")


def test_one_that_answers_and_takes_no_mail_is_tried_less_and_less_often(agent: Agent):
    tried: list[float] = []
    while agent.now < 100.0:
        agent.now += 1.0
        if agent.open().manifest.bridge == "codex":
            tried.append(agent.now)
            agent.routes.fail("codex", "it takes no mail")
    assert [later - before for before, later in pairwise(tried)] == [2.0, 4.0, 8.0, 16.0, 32.0]
    agent.now += 1000.0
    agent.routes.fail("codex", "it takes no mail")
    agent.now += 2.0
    assert agent.open().manifest.bridge == "codex", "what was long ago does not count"


def test_a_connection_that_breaks_now_and_then_is_made_again_and_one_that_keeps_breaking_is_not(agent: Agent):
    def losses(pause: float) -> list[str]:
        said: list[str] = []
        for _ in range(5):
            agent.now += pause
            said.append(agent.routes.lose())
        return said

    assert losses(60.0) == [""] * 5
    assert any(losses(0.1))


def test_one_that_failed_is_tried_again_less_and_less_often(agent: Agent):
    agent.server.error = BridgeError("no answer")
    agent.open()
    tried: list[float] = []
    while agent.now < 300.0:
        agent.now += 1.0
        count = len(agent.server.sessions)
        assert agent.routes.better("tmux") is None
        if len(agent.server.sessions) > count:
            tried.append(agent.now)
    pauses = [later - before for before, later in zip([0.0, *tried], tried, strict=False)]
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert agent.routes.better("codex") is None, "there is none that is better"
