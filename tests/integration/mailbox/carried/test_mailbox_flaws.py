"""Letters and files that no program of ours would write: each is set aside by itself, and nothing stops."""

import os
from typing import Any

import pytest

from postroom.bridges.files import outbox
from postroom.bridges.files.shelf import Folder, Sheet
from postroom.config import Settings
from postroom.errors import BridgeError
from postroom.room.local import LocalRoom
from tests.postal import Postal
from tests.process import until

pytestmark = [pytest.mark.promise("mailbox-once"), pytest.mark.usefixtures("hurried")]
HALF = "\ud800"  # of a character


def bodies(room: LocalRoom) -> list[str]:
    return [mail.body for mail in room.peek("alice")]


TEXTS = [
    "id",
    "to",
    "from",
    "type",
    "priority",
    "subject",
    "body",
    "thread",
    "replyTo",
    "expiresAt",
    "payload",
]


@pytest.mark.parametrize(
    "bad",
    [
        *({field: HALF} for field in TEXTS),
        {"payload": {"text": HALF}},
        {"payload": {HALF: 1}},
        {"metadata": {"k": [HALF]}},
        {"type": "nack", "replyTo": "x", "payload": {"reason": HALF}},
        {"expiresAt": "9999-12-31T23:59:59-23:59"},
        {"expiresAt": "0001-01-01T00:00:00+23:59"},
        {"payload": {"n": 10**400}},
    ],
)
def test_a_letter_that_nothing_can_hold_is_set_aside_and_keeps_no_other(
    room: LocalRoom, bob: Postal, bad: dict[str, Any]
) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", **bad})
    bob.put("b.json", {"id": "2", "to": "alice", "payload": "fine"})
    for _ in range(3):
        bob.carry()
    assert "fine" in bodies(room)
    assert bob.names("outbox", ".taking") == []
    assert len(bob.names("outbox", "rejected") + bob.names("outbox", "processed")) == 2


def test_a_letter_that_breaks_something_of_ours_is_set_aside(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = LocalRoom.send

    def brittle(self: LocalRoom, to: str, body: str, **more: Any) -> object:
        if body == "odd":
            raise OverflowError("too large")
        return send(self, to, body, **more)

    monkeypatch.setattr(LocalRoom, "send", brittle)
    bob.put(
        "a.json", {"id": "1", "to": "alice", "payload": "odd"}, {"id": "2", "to": "alice", "payload": "x"}
    )
    bob.carry()
    assert bodies(room) == ["x"]
    assert "OverflowError" in bob.receipt("1")["error"]["message"]


@pytest.mark.parametrize("digits", ["9" * 26, "9" * 19, "9" * 18, "٣" * 10])
def test_a_name_in_the_inbox_with_a_number_that_is_none_of_ours_harms_nothing(
    room: LocalRoom, bob: Postal, digits: str
) -> None:
    name = f"2-{digits}-aaaaaaaa.json"
    with open(bob.path("inbox", name), "w", encoding="utf-8") as file:
        file.write("{}")
    sent = room.send("bob", "hello")
    bob.carry()
    assert bob.state(sent.id) == "offered"
    is_form = len(digits) == 18
    assert (name in bob.names("inbox")) == is_form
    assert os.path.exists(bob.path("inbox", "rejected", name)) != is_form


def test_what_cannot_be_set_aside_is_told_of_once_it_is(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_LATER", 0.0)
    move, fails = bob.shelf.move, [True] * 5

    def stuck(source: Folder, name: str, target: Folder, new_name: str) -> str:
        if target is Folder.REJECTED and fails:
            fails.pop()
            raise BridgeError("no space left on device")
        return move(source, name, target, new_name)

    monkeypatch.setattr(bob.shelf, "move", stuck)
    bob.write("a.json", b"no letter")
    bob.put("b.json", {"id": "2", "to": "nobody", "payload": "x"})
    until(lambda: bob.carrier.step() is not None and len(bob.names("outbox", "rejected")) == 2)
    assert not fails
    bob.carry()
    told = "".join(one["body"] for one in bob.inbox())
    assert (told.count("'a.json'"), told.count("'b.json'")) == (1, 1)


def test_a_file_that_is_gone_when_it_would_be_set_aside_stops_nothing(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = bob.shelf.move

    def late(source: Folder, name: str, target: Folder, new_name: str) -> str:
        if name == "a.json":
            os.unlink(bob.path("outbox", name))
        return move(source, name, target, new_name)

    monkeypatch.setattr(bob.shelf, "move", late)
    bob.write("a.json", b"no letter")
    bob.put("b.json", {"id": "2", "to": "alice", "payload": "fine"})
    for _ in range(3):
        bob.carry()
    assert bodies(room) == ["fine"]
    assert bob.names("outbox") == []


def test_what_is_set_aside_takes_no_place_of_what_was_before(bob: Postal) -> None:
    for n in range(3):
        bob.put("a.json", {"id": f"good{n}", "to": "alice", "payload": "x"}, {"id": "bad", "n": n})
        bob.carry()
    kept = [bob.read("outbox", "rejected", name) for name in bob.names("outbox", "rejected")]
    assert sorted(one["n"] for one in kept) == [0, 1, 2]


def test_a_file_with_many_bad_letters_is_read_once_more(bob: Postal, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Folder] = []
    read = bob.shelf.read

    def count(folder: Folder, name: str, limit: int) -> Sheet:
        reads.append(folder)
        return read(folder, name, limit)

    monkeypatch.setattr(bob.shelf, "read", count)
    bob.put("a.json", *({"id": str(n)} for n in range(50)))
    bob.carry()
    assert len(bob.names("outbox", "rejected")) == 50
    assert reads.count(Folder.TAKING) == 1


def test_of_a_file_beyond_the_rate_the_rest_is_sent_when_it_may_be(
    home: str, tmp_path: os.PathLike[str]
) -> None:
    with LocalRoom(home, Settings(sender_rate=0, mailbox_rate=100), agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        bob.put("a.json", *({"id": str(n), "to": "alice", "payload": str(n)} for n in range(102)))
        bob.carry()
        told = "more than 100 letters a minute came (mailbox_rate)"
        assert bob.carrier.observe().unsent == told, "wherever that is noticed"
        until(lambda: bob.carrier.step() is not None and bob.names("outbox", "processed"))
        assert len(room.peek("alice", limit=200)) == 102
        bob.close()
