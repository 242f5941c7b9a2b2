"""Letters and files that no program of ours would write: each is set aside by itself, and nothing stops."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from postroom.bridges.files import outbox
from postroom.config import Settings
from postroom.room.local import LocalRoom
from tests.postal import Postal

pytestmark = pytest.mark.promise("mailbox-once")
HALF = "\ud800"  # of a character


@pytest.fixture
def room(home: str) -> Iterator[LocalRoom]:
    with LocalRoom(home, Settings(sender_rate=0, mailbox_rate=0), agent="alice", project="p") as room:
        room.join("alice")
        yield room


@pytest.fixture
def bob(room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Postal]:
    monkeypatch.setattr(outbox, "_QUIET", 0.0)
    found = Postal(room, os.path.join(tmp_path, "tree"))
    yield found
    found.close()


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
    assert os.listdir(bob.path("outbox", ".taking")) == []
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
def test_a_name_in_the_inbox_with_a_number_that_is_none_of_ours_is_left_alone(
    room: LocalRoom, bob: Postal, digits: str
) -> None:
    name = f"2-{digits}-aaaaaaaa.json"
    with open(bob.path("inbox", name), "w", encoding="utf-8") as file:
        file.write("{}")
    sent = room.send("bob", "hello")
    bob.carry()
    assert bob.state(sent.id) == "offered"
    assert name in bob.names("inbox")
