"""Mailboxes elsewhere, end to end: a real daemon, a real server, and an agent that has only its bucket."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from postroom import Mailbox
from postroom.bridges.files import place, tree
from postroom.bridges.files.tree import Tree
from postroom.model.ladder import State
from postroom.model.message import Delivery
from postroom.room import glance
from postroom.room.local import LocalRoom
from tests.process import BOUND, until
from tests.stores import S3, Site, Sshd
from tests.tui.house import Daemon

SOON = (
    "postroom.bridges.files.carrier.BLIND=0.2 postroom.bridges.files.patient._FIRST=0.1"
    " postroom.bridges.files.patient._LONGEST=0.2 postroom.daemon.trees._SOON=0.2"
)

STEPS = ("copied", "outbox-claimed", "outbox-sent", "inbox-claimed", "inbox-written")


@pytest.fixture(params=["s3", "sftp"])
def server(
    request: pytest.FixtureRequest, tmp_path: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[S3 | Sshd]:
    base = os.path.join(tmp_path, "sshd")
    os.mkdir(base)
    with S3() if request.param == "s3" else Sshd(base) as server:
        server.reach(monkeypatch)
        yield server


@pytest.fixture
def site(server: S3 | Sshd, tmp_path: str) -> Site:
    return server.site(os.path.join(tmp_path, "tree"))


@pytest.fixture
def daemons(room: LocalRoom) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def begin(room: LocalRoom, daemons: ExitStack, *words: str) -> Daemon:
    daemon = Daemon(room.home, *words, SEAMS=SOON)
    daemons.callback(daemon.kill)
    return daemon.answers()


def delivery(room: LocalRoom, ref: str) -> Delivery:
    return room.receipts(ref).deliveries[0]


@pytest.mark.promise("mailbox-elsewhere")
def test_mail_is_carried_both_ways_and_survives_the_end_of_the_daemon(
    room: LocalRoom, site: Site, daemons: ExitStack
):
    tree.add(room, place.checked(site.url), "bob", room.scope)
    daemon = begin(room, daemons)
    sent = room.send("bob", "are you there?")
    with Mailbox(site.url, "bob") as bob:
        [asked] = bob.receive(BOUND)
        assert asked.text == "are you there?"
        daemon.process.send_signal(signal.SIGKILL)
        daemon.died()
        bob.reply(asked.id, "I am")
        id = bob.send("planner", "and you?")
        begin(room, daemons)
        until(lambda: delivery(room, sent.id).state is State.ACKED)
        until(lambda: len(room.peek("planner")) == 2)
        assert [mail.body for mail in room.peek("planner")] == ["I am", "and you?"]
        while mail := room.take("planner"):
            room.settle(mail)
        assert bob.wait_for_ack(id, BOUND)
        assert bob.receive() == []


@pytest.mark.parametrize("server", ["s3"], indirect=True)
@pytest.mark.parametrize(
    "step", ["copied", "outbox-claimed", "outbox-sent", "inbox-claimed", "inbox-written"]
)
@pytest.mark.promise("mailbox-elsewhere")
def test_a_daemon_that_is_killed_on_the_way_to_a_bucket_loses_nothing_and_repeats_nothing(
    step: str, room: LocalRoom, site: Site, daemons: ExitStack
):
    tree.add(room, place.checked(site.url), "bob", room.scope)
    sent = room.send("bob", "to the bucket")
    site.put("bob/outbox/1.json", json.dumps({"id": "1", "to": "planner", "payload": "from it"}).encode())
    killed = begin(room, daemons, step)
    killed.died()
    assert killed.process.returncode == -signal.SIGKILL
    begin(room, daemons)
    until(lambda: delivery(room, sent.id).state is State.OFFERED and delivery(room, sent.id).handed_at)
    until(lambda: "1.json" in site.names("bob/outbox/processed"))
    assert [mail.body for mail in room.peek("planner")] == ["from it"]
    letters = [name for name in site.names("bob/inbox") if name.startswith("2-")]
    assert len(letters) == 1


def test_a_mailbox_that_appears_in_a_tree_is_served(room: LocalRoom, site: Site, daemons: ExitStack):
    where = place.checked(site.url)
    tree.put(room, Tree(where, room.project()))
    begin(room, daemons)
    site.put("carol/outbox/1.json", json.dumps({"id": "1", "to": "planner", "payload": "I am new"}).encode())
    until(lambda: room.peek("planner"))
    [mail] = room.peek("planner")
    assert (mail.body, mail.message.sender) == ("I am new", "carol")
    sent = room.send("carol", "welcome")
    until(lambda: delivery(room, sent.id).state is State.OFFERED)
    until(lambda: json.loads(site.get(".postroom/served"))["served"])


AWAY = 90.0  # seconds: who was away for long is asked once a minute


@pytest.mark.promise("mailbox-elsewhere")
@pytest.mark.timeout(240)
def test_a_store_that_goes_away_is_told_and_what_waits_goes_on_when_it_is_back(
    room: LocalRoom, site: Site, server: S3 | Sshd, daemons: ExitStack
):
    bob = tree.add(room, place.checked(site.url), "bob", room.scope)[0].agent
    begin(room, daemons)
    first = room.send("bob", "first")
    until(lambda: delivery(room, first.id).state is State.OFFERED)
    server.stop()
    second = room.send("bob", "second")
    until(lambda: (seen := glance.get(room.home, bob)) is not None and seen.reason == "offline", AWAY)
    assert delivery(room, second.id).state is State.STORED
    server.start()
    until(lambda: delivery(room, second.id).state is State.OFFERED, AWAY)
    assert delivery(room, first.id).state is State.OFFERED
