"""How a room does, as the page and Prometheus are told."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from postroom.room.local import LocalRoom
from postroom.room.metrics import HOUR, measure
from postroom.room.sweep import give_back
from postroom.server import prometheus
from postroom.server.port import NoBridges
from tests.clockwork import Clock
from tests.conftest import UNLIMITED
from tests.served import Served, served


@pytest.fixture
def told(open_room, clock: Clock) -> LocalRoom:
    """A room in which some of what was sent was seen: after 0.1, 0.2, … 1 second, and one after an hour."""
    room = open_room("planner", clock=clock)
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    for n in range(1, 11):
        room.send("builder", f"{n}", requires_ack=n > 8)
        mail = room.take("builder")
        assert mail is not None
        clock.advance(n / 10)
        room.settle(mail)
    room.ack(room.sent(limit=1)[0][0].id, agent="builder")
    clock.advance(3600)
    room.send("builder", "refused")
    room.nack(room.peek("builder")[0].id, "no", agent="builder")
    room.send("builder", "waits")
    room.send("builder", "not before tomorrow", after=86_400)
    return room


@pytest.fixture
def web(told: LocalRoom) -> Iterator[Served]:
    with served(told) as found:
        yield found


def test_the_metrics_are_those_of_the_time_that_is_asked_for(web: Served, clock: Clock):
    found = web.get("/metrics?hours=3", token=web.token("human:ana")).json
    assert found["total_messages"] == 14  # with the bounce
    assert found["unacknowledged"] == 1
    assert found["avg_latency"] == pytest.approx(550)
    assert found["p95_latency"] == 1000
    assert found["inbox_sizes"] == {"p/builder": 1, "p/planner": 1}
    assert found["delivery_failures"] == {"bounced": 1, "dead": 0, "expired": 0}
    assert found["ack_rate"] == 0.1
    assert found["routes"] == [{"route": "api", "seen": 10, "p50": 500, "p95": 1000, "p99": 1000}]
    hours = found["messages_per_hour"]
    assert len(hours) == 3
    assert [hour["messages"] for hour in hours][-2:] == [10, 4]
    assert hours[-1]["failed"] == 1
    last = web.get("/metrics?hours=1", token=web.token("human:ana")).json
    assert last["routes"] == []
    assert last["p95_latency"] is None


def test_what_came_to_nothing_is_counted_by_how_and_what_was_taken_back_is_not(open_room, clock: Clock):
    room = open_room("planner", clock=clock, settings=UNLIMITED._replace(max_unproven=1))
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    room.withdraw(room.send("builder", "taken back").id)
    room.send("builder", "too late", expires=1.0)
    clock.advance(2)
    assert room.peek("builder") == []
    room.send("builder", "dies")
    mail = room.take("builder", handed=False)
    assert mail is not None
    with room.write() as tx:
        give_back(tx, mail, room.settings)
    room.nack(room.send("builder", "no").id, "no", agent="builder")
    asked = [room.send("builder", f"{n}", requires_ack=True).id for n in range(3)]
    room.ack(asked[0], agent="builder")
    with served(room) as web:
        token = web.token("human:ana")
        found = web.get("/metrics", token=token).json
        text = web.get("/metrics", prefix="", token=token).content.decode()
    assert found["delivery_failures"] == {"bounced": 1, "dead": 1, "expired": 1}
    assert found["unacknowledged"] == 2
    assert found["messages_per_hour"][-1]["failed"] == 3
    for how in ("bounced", "dead", "expired"):
        assert f'postroom_failed{{how="{how}"}} 1.0' in text
    assert "postroom_unacknowledged 2.0" in text


def test_the_health_of_watchers_is_that_of_the_daemons_bridges(told: LocalRoom):
    class Bridged(NoBridges):
        def facts(self) -> dict[str, Any]:
            watches = {"count": 4, "crashes": 5}
            trees = {"count": 6, "mailboxes": 7, "trouble": {"/a": "gone"}}
            paused = {"p/builder": "the pane is too small"}
            return {"agents": 3, "crashes": 2, "paused": paused, "watches": watches, "trees": trees}

    with served(told, bridges=Bridged()) as web:
        token = web.token("human:ana")
        health = web.get("/metrics", token=token).json["watcher_health"]
        text = web.get("/metrics", prefix="", token=token).content.decode()
    assert (health["agents"], health["crashes"]) == (3, 2)
    assert health["paused"] == {"p/builder": "the pane is too small"}
    assert "postroom_bridged_agents 3.0" in text
    assert "postroom_crashes_total 2.0" in text
    assert (health["watches"], health["trees"]["trouble"]) == ({"count": 4, "crashes": 5}, {"/a": "gone"})
    for line in ("watches 4.0", "watch_crashes_total 5.0", "trees 6.0", "mailboxes 7.0", "trees_unseen 1.0"):
        assert f"postroom_{line}" in text


def test_programs_that_know_other_names_find_the_same_figures(web: Served, told: LocalRoom):
    found = web.get("/metrics?hours=3", token=web.token("human:ana")).json
    assert found["totalMessages"] == found["total_messages"] == 14
    assert (found["avgLatency"], found["p95Latency"]) == (found["avg_latency"], found["p95_latency"])
    assert found["p95Latency"] == 1000  # milliseconds from stored to seen
    assert found["inboxSizes"] == {"builder": 1, "planner": 1, "human:ana": 0}
    assert found["watcherHealth"] == {}


def test_agents_that_share_a_name_are_told_apart_by_their_projects(told: LocalRoom):
    class Bridged(NoBridges):
        def facts(self) -> dict[str, Any]:
            return {"watchers": {"p/builder": "running", "p/planner": "crashed", "q/planner": "running"}}

    LocalRoom(told.home, told.settings, agent="planner", project="q").join("planner")
    told.join("gone")
    told.leave("gone")
    with served(told, bridges=Bridged()) as web:
        found = web.get("/metrics", token=web.token("human:ana")).json
    assert found["inboxSizes"] == {"builder": 1, "p/planner": 1, "q/planner": 0, "human:ana": 0}
    assert found["watcherHealth"] == {"builder": "running", "p/planner": "crashed", "q/planner": "running"}


def test_an_empty_room_has_metrics_too(open_room):
    found = measure(open_room("planner"), 24)
    assert (found.messages, found.mean, found.p95, found.ack_rate) == (0, None, None, None)
    assert len(found.hours) == 24
    assert found.hours[1].at - found.hours[0].at == HOUR


@pytest.mark.parametrize("installed", [True, False])
def test_prometheus_reads_the_metrics_with_its_library_installed_or_not(
    web: Served, installed: bool, monkeypatch: pytest.MonkeyPatch
):
    if not installed:
        _hide(monkeypatch, "prometheus_client")
    answer = web.get("/metrics", prefix="", token=web.token("human:ana"))
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    assert found["postroom_messages_total",] == 14
    assert found["postroom_waiting",] == 2
    assert found["postroom_seen_seconds", ("quantile", "0.95"), ("route", "api")] == 1.0
    assert found["postroom_failed", ("how", "bounced")] == 1


def _hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = prometheus.importlib.import_module

    def hidden(name: str, *args: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(prometheus.importlib, "import_module", hidden)


def test_who_may_not_observe_is_told_no_metrics(web: Served):
    token = web.token("builder")
    assert web.get("/metrics", prefix="").status == 401
    assert web.get("/metrics", prefix="", token=token).json["error"] == "lacks_scope"
    assert web.get("/metrics", token=token).json["error"] == "lacks_scope"


def test_the_first_message_since_a_moment_is_found_by_halves(told: LocalRoom):
    messages = [message for message, _ in told.sent("planner")]
    with told.store.read():
        tally = told.store.tally()
        for message in messages:
            assert tally.first_since(message.created_at) <= message.seq
            assert tally.first_since(message.created_at + 1) > message.seq or _same(messages, message)
        assert tally.first_since(0) == 0


def _same(messages: list[Any], one: Any) -> bool:
    """Whether another was written in the same millisecond, later."""
    return any(other.created_at == one.created_at and other.seq > one.seq for other in messages)
