"""Whose files are in use, as the store tells it."""

import pytest

from postroom.errors import UsageError
from postroom.room import blob
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter

KNOWN = {
    "media_type": "text/plain",
    "size": 3,
    "sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
}


def hashes(room: LocalRoom, *, everyone: bool = False) -> list[str]:
    attached = room.store.whole().attached(everyone=everyone)
    return [one["sha256"] for _, attachments in attached for one in attachments]


def test_every_message_with_attachments_is_told_and_no_other(room: LocalRoom):
    room.send("builder", "plain")
    sent = [room.send("builder", "x", attachments=[f"{n}".encode(), b"same"]) for n in range(3)]
    room.send("builder", "with more", payload={"attachments": 1}, key="k")
    told = list(room.store.whole().attached())
    assert told == [(one.id, one.message.attachments) for one in sent]
    assert all(map(room.store.whole().is_attached, hashes(room)))
    assert not room.store.whole().is_attached("0" * 64)


def test_no_page_ends_the_telling(room: LocalRoom):
    for n in range(501):
        room.send("builder", "x", attachments=[{**KNOWN, "name": f"{n}"}] if n else [("0", b"one")])
    assert len(hashes(room)) == 501


@pytest.mark.promise("tenants")
def test_a_file_is_one_tenants_until_another_sends_it_and_stays_until_neither_names_it(
    room: LocalRoom, enter: Enter
):
    stranger = enter("planner", tenant="other")
    stranger.join("planner")
    mine = room.send("builder", "x", attachments=[b"mine"])
    [known] = mine.message.attachments or []
    theirs = stranger.send("planner", "x", attachments=[b"theirs"])
    [hidden] = theirs.message.attachments or []
    assert hashes(room) == [known["sha256"]]
    assert hashes(room, everyone=True) == [known["sha256"], hidden["sha256"]]
    assert not room.store.whole().is_attached(hidden["sha256"])
    assert blob.sweep(room) == blob.sweep(stranger) == 0
    with pytest.raises(UsageError, match="no message has"):
        room.send("builder", "give it to me", attachments=[hidden])
