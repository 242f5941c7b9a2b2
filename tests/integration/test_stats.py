"""`postroom stats`: what is counted is what happened, and the picture shows it."""

import os
import sqlite3
import xml.etree.ElementTree as xml
from contextlib import closing

import pytest

from postroom.model.tally import Spread, spread
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.commandline import CommandLine, is_told_well
from tests.conftest import OpenRoom


@pytest.fixture
def told(open_room: OpenRoom, clock: Clock) -> LocalRoom:
    """builder answers one of two requests, a third is withdrawn; it acks a note, and has one unread."""
    room = open_room("planner", clock=clock)
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    for delay in (2, 60):
        room.send("builder", "x" * 100, type="request", payload={"n": 1})
        mail = room.take("builder")
        assert mail
        clock.advance(delay)
        if delay == 2:
            room.reply(mail, "done", agent="builder")
        else:
            room.settle(mail)
    room.withdraw(room.send("builder", "never mind", type="request").id)
    room.send("builder", "äöü", subject="hi", sender="human:ana")
    mail = room.take("builder")
    assert mail
    clock.advance(0.05)
    room.ack(mail)
    room.send("builder", "unread")
    return room


@pytest.mark.promise("stats")
def test_an_agents_figures_are_what_happened(told: LocalRoom):
    stats = told.stats()
    [builder] = [one for one in stats.agents if one.address == "p/builder"]
    assert (builder.sent, builder.received, builder.acked) == (1, 5, 2)
    assert builder.ack == Spread(2, 50, 2000)
    assert (builder.requests, builder.unanswered) == (2, 1)
    assert builder.answer == Spread(1, 2000, 2000)
    assert builder.characters == 2 * (100 + len('{"n":1}')) + 5
    assert stats.messages == 6


@pytest.mark.promise("stats")
def test_pairs_and_what_was_handed_over_add_up_to_the_agents(told: LocalRoom):
    stats = told.stats()
    for agent in stats.agents:
        to = [pair for pair in stats.pairs if pair.recipient == agent.address]
        put = [one for one in stats.put if one.recipient == agent.address]
        assert sum(pair.messages for pair in to) == agent.received
        assert sum(pair.unanswered for pair in to) == agent.unanswered
        assert sum(one.characters for one in put) == sum(pair.characters for pair in to) == agent.characters
    assert ("p/builder", "note", "human:ana", "api", 1, 5) in stats.put
    assert all(one.characters for one in stats.put), "what nobody was given is not counted"


def test_only_what_was_sent_since_a_moment_is_counted(told: LocalRoom, clock: Clock):
    assert told.stats(since=clock.now + 1).messages == 0
    assert told.stats(since=clock.now).messages == 1
    assert told.stats(since=clock.now + 1).agents == []


def test_a_reply_of_somebody_else_and_a_bounce_are_no_answers(room: LocalRoom):
    room.join("tester")
    sent = room.send("builder", "?", type="request")
    room.send("planner", "!", sender="tester", correlation=sent.id)
    mail = room.take("builder")
    assert mail
    room.nack(mail, "no")
    [builder] = [one for one in room.stats().agents if one.address == "p/builder"]
    assert (builder.requests, builder.unanswered, builder.answer) == (1, 1, None)


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([], None),
        ([(None, 3)], None),
        ([(7, 1)], Spread(1, 7, 7)),
        ([(n, 1) for n in range(1, 101)], Spread(100, 50, 95)),
        ([(10, 95), (99, 5)], Spread(100, 10, 10)),
        ([(10, 94), (99, 6), (None, 50)], Spread(100, 10, 99)),
    ],
)
def test_a_spread_is_by_nearest_rank(times: list[tuple[int | None, int]], found: Spread | None):
    assert spread(times) == found


def test_times_are_exact_when_short_and_near_when_long(open_room: OpenRoom, clock: Clock):
    room = open_room("planner", clock=clock)
    room.join("planner")
    for ms in (0, 99, 104, 1_260, 59_499, 7_200_000, 864_000_000):
        room.send("planner", "x")
        mail = room.take("planner")
        assert mail
        clock.now += ms
        room.ack(mail)
        known = room.store.tally().traffic(0)
        assert any(one.ms is not None and abs(one.ms - ms) <= ms * 0.05 for one in known), ms
    assert {one.ms for one in room.store.tally().traffic(0)} >= {0, 99}


# on the command line


@pytest.fixture
def cli(told: LocalRoom) -> CommandLine:
    return CommandLine(told.home)


def test_the_tables_name_people_as_the_project_does(cli: CommandLine):
    out = cli.ok("stats").out
    assert "builder 1 5 40 % 50 ms 2 s 2 1 2 s 2 s 219" in " ".join(out.split())
    assert "Who writes to whom" in out
    assert "builder  request  planner    api" in out


def test_json_says_how_many_there_are_beyond_the_limit(cli: CommandLine):
    document = cli.ok("stats", "--json", "-n", "1").json
    assert document["messages"] == 6
    assert document["all"] == {"agents": 3, "pairs": 3, "put": 2, "digests": 0}
    assert [len(document[key]) for key in ("agents", "pairs", "put")] == [1, 1, 1]
    assert document["agents"][0]["answer_ms"] == {"times": 1, "p50": 2000, "p95": 2000}


def test_an_empty_room_has_nothing_to_tell(home: str):
    cli = CommandLine(home)
    cli.ok("join", "planner")
    assert cli.ok("stats").err == "Nothing was sent.\n"
    assert cli.ok("stats", "--json", "--plot", os.path.join(home, "s.svg")).json["agents"] == []
    assert xml.parse(os.path.join(home, "s.svg")).getroot().tag.endswith("svg")


def test_the_picture_is_sound_and_names_everybody(cli: CommandLine, tmp_path):
    cli.sent("builder", "x")
    with closing(sqlite3.connect(os.path.join(cli.home, "room.db"))) as room:
        hostile = "<b>&\u202ebold"  # as a room may have it from before types were held
        room.execute("UPDATE message SET type = ? WHERE body = 'x'", (hostile,))
        room.commit()
    cli.ok("read", "--all", "--as", "builder")
    path = str(tmp_path / "s.svg")
    assert f"drawn: {path}" in cli.ok("stats", "--plot", path).err
    elements = xml.parse(path).getroot().iter()
    texts = [element.text or "" for element in elements if element.tag.endswith("text")]
    assert "human:ana → builder" in texts
    assert "<b>&bold" in texts
    assert "From a request to its answer: median to 95 of 100" in texts


def test_a_picture_that_cannot_be_written_is_told_in_a_line(cli: CommandLine, tmp_path):
    result = cli("stats", "--plot", str(tmp_path))
    assert result.code == 2
    assert is_told_well(result)


@pytest.mark.promise("stats")
def test_of_what_was_cut_only_what_was_shown_counts(home: str):
    cli = CommandLine(home)
    for name in ("planner", "builder"):
        cli.ok("join", name)
    cli.ok("send", "builder", "-", "--as", "planner", stdin=b"x" * 200_000)
    framed = cli.ok("read", "--all", "--frame", "--as", "builder")
    [one] = cli.ok("stats", "--json").json["put"]
    assert len(framed.out) - 1000 < one["characters"] <= len(framed.out) < 10_000
    cli.ok("send", "builder", "-", "--as", "planner", stdin=b"y" * 200_000)
    spilled = cli.ok("read", "--as", "builder")
    [one] = cli.ok("stats", "--json").json["put"]
    assert one["characters"] <= len(framed.out) + len(spilled.out) < 200_000
    cli.ok("send", "builder", "-", "--as", "planner", stdin=b"z" * 200_000)
    cli.ok("read", "--whole", "--as", "builder")
    [one] = cli.ok("stats", "--json").json["put"]
    assert 200_000 <= one["characters"] < 250_000
    assert cli.ok("verify").code == 0
