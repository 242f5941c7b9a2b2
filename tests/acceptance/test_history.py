"""A room's history as its owner sees it: rebuilt, pruned, redacted, copied, and still the same story."""

import os
import shutil

import pytest

from postroom.config import Settings
from postroom.model.ladder import State
from postroom.room import backup, digest, journal, keep, replay
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.conftest import OpenRoom


@pytest.fixture
def room(open_room: OpenRoom, clock: Clock) -> LocalRoom:
    """A room in which something of everything has happened."""
    room = open_room("planner", clock=clock)
    for agent in ("planner", "builder", "human:ana"):
        room.join(agent)
    answered = room.send("builder", "a question", subject="s", payload={"n": 1}, key="k")
    room.reply(answered.id, "an answer", agent="builder")
    room.nack(room.send("builder", "no thanks").id, "too much", agent="builder")
    room.withdraw(room.send("builder", "never mind").id)
    room.send("builder", "soon stale", expires=1)
    room.send("builder", "later", after=3600)
    room.send("human:ana", "please decide", priority="urgent")
    clock.advance(2)
    room.take("builder", handed=False)
    clock.advance(60)
    listening = room.listen("builder", timeout=0.001)
    assert list(listening) == []
    room.rename("carpenter", agent="builder")
    room.send("carpenter", "a secret", subject="hush")
    return room


def rebuilt(room: LocalRoom, where: str) -> LocalRoom:
    journal.sync(room)
    replay.replay(journal.directory(room), where)
    return LocalRoom(where, Settings(), agent="planner", project="p", clock=room.store.clock)


@pytest.mark.promise("replay")
def test_the_journals_alone_rebuild_the_room(room: LocalRoom, tmp_path):
    with rebuilt(room, str(tmp_path / "again")) as again:
        assert digest.digest(again.store.whole()) == digest.digest(room.store.whole())
        assert list(again.events()) == list(room.events())
        assert [mail.id for mail in again.peek("carpenter")] == [mail.id for mail in room.peek("carpenter")]
        for message, deliveries in room.sent("planner"):
            assert again.receipts(message.id).deliveries == deliveries


@pytest.mark.promise("replay")
def test_a_room_whose_file_is_lost_is_rebuilt_from_its_journals_and_goes_on(room: LocalRoom, tmp_path):
    journal.sync(room)
    waiting = [mail.id for mail in room.peek("carpenter")]
    room.close()
    for name in ("room.db", "room.db-wal", "room.db-shm"):
        if os.path.exists(os.path.join(room.home, name)):
            os.unlink(os.path.join(room.home, name))
    where = str(tmp_path / "again")
    replay.replay(os.path.join(room.home, "events"), where)
    with LocalRoom(where, Settings(), agent="planner", project="p", clock=room.store.clock) as again:
        assert [mail.id for mail in again.peek("carpenter")] == waiting
        mail = again.take("carpenter")
        assert mail is not None
        assert again.settle(mail).state is State.SEEN
        assert verify(again).problems == []


@pytest.mark.promise("keep")
def test_what_is_redacted_is_gone_and_the_story_still_verifies(room: LocalRoom, tmp_path):
    [secret] = [message for message, _ in room.sent("planner") if message.body == "a secret"]
    journal.sync(room)
    keep.redact(room, secret.id)
    assert room.receipts(secret.id).message.body == ""
    assert verify(room).problems == []
    room.close()
    for where, _, files in os.walk(room.home):
        for name in files:
            with open(os.path.join(where, name), "rb") as file:
                assert b"a secret" not in file.read(), f"it is still in {name}"
    with rebuilt(room, str(tmp_path / "again")) as again:
        assert again.receipts(secret.id).message.redacted == room.receipts(secret.id).message.redacted


@pytest.mark.promise("keep")
def test_what_is_pruned_is_gone_and_the_story_still_verifies(room: LocalRoom, clock: Clock, tmp_path):
    before = {message.id for message, _ in room.sent("planner")}
    clock.advance(86400)
    keep.prune(room, clock.now)
    left = {message.id for message, _ in room.sent("planner")}
    assert left < before
    open_ones = {mail.id for agent in ("carpenter", "human:ana", "planner") for mail in room.peek(agent)}
    assert open_ones & before <= left, "what still waits is not pruned"
    assert verify(room).problems == []
    with rebuilt(room, str(tmp_path / "again")) as again:
        assert digest.digest(again.store.whole()) == digest.digest(room.store.whole())


@pytest.mark.promise("keep")
def test_a_backup_is_a_room_and_can_be_restored(room: LocalRoom, tmp_path, open_room: OpenRoom):
    copy = str(tmp_path / "copy.db")
    backup.backup(room, copy)
    before = digest.digest(room.store.whole())
    room.send("carpenter", "after the backup")
    home = str(tmp_path / "elsewhere")
    os.makedirs(home, 0o700)
    shutil.copy(copy, os.path.join(home, "room.db"))
    with LocalRoom(home, Settings(), agent="planner", project="p", clock=room.store.clock) as there:
        assert digest.digest(there.store.whole()) == before
        assert verify(there).problems == []
    backup.restore(room, copy)
    assert "after the backup" not in [mail.body for mail in room.peek("carpenter")]
    assert verify(room).problems == []
