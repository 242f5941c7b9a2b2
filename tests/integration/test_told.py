"""What a caller is told holds when the rest goes wrong: a disk that does not confirm, journals that lag."""

import os

import pytest

from postroom.config import Settings
from postroom.errors import IllegalMove, StoreError
from postroom.model.ladder import Outcome
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.conftest import OpenRoom


def test_a_disk_that_does_not_confirm_is_told_and_the_message_is_stored(
    open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
):
    room = open_room("planner", settings=Settings(durability="full"))
    room.join("builder")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(StoreError, match="did not confirm"):
        room.send("builder", "hello")
    assert [mail.body for mail in room.peek("builder")] == ["hello"]


def test_what_was_handed_over_and_then_withdrawn_counts_as_unproven_and_cannot_be_read(room: LocalRoom):
    sent = room.send("builder", "hello")
    room.take("builder")
    room.withdraw(sent.id)
    assert [attempt.outcome for attempt in room.receipts(sent.id).attempts] == [Outcome.UNPROVEN]
    with pytest.raises(IllegalMove, match="withdrawn"):
        room.take("builder", id=sent.id)


def test_a_room_is_rebuilt_as_it_is_though_its_journals_lagged(home: str, tmp_path):
    cli = CommandLine(home)
    cli.ok("join", "builder")
    cli.ok("journal", "sync")
    cli.ok("send", "builder", "after the last sync", "--as", "planner")
    done = cli.ok("replay", "--into", os.path.join(tmp_path, "rebuilt"), "--json").json
    assert done["digest"] == cli.ok("verify", "--json").json["digest"]
