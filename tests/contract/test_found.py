"""What an adversary found, so that it stays mended."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom.bell.polling import PollingBell
from postroom.errors import StoreBusy, UnknownMessage, UnknownRecipient
from postroom.model.ladder import State
from postroom.room import backup
from postroom.room.directory import Scope
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter, Others
from tests.repository import make_repository


@pytest.mark.promise("never-stuck")
def test_what_a_dead_process_holds_is_found_behind_ones_own_many_claims(
    room: LocalRoom, enter, others: Others
):
    for n in range(15):
        room.send("builder", str(n))
    for _ in range(14):
        assert room.take("builder")
    others.become(2)
    assert (enter("builder").take() or pytest.fail("nothing")).body == "14"
    others.become(1)
    assert room.take("builder") is None
    others.die(2)
    assert (room.take("builder") or pytest.fail("it is stuck")).body == "14"


@pytest.mark.promise("never-stuck")
@pytest.mark.parametrize("polls", [False, True])
def test_a_claim_made_while_one_waits_comes_back_when_its_process_dies(
    room: LocalRoom, enter: Enter, others: Others, polls: bool
):
    """However many others wait in the same process, and wherever there are no bells."""
    room.settings = room.settings._replace(sweep_seconds=0.05)
    if polls:
        room.bell = PollingBell()
    names = [room.join(f"other-{n}").name for n in range(6)]
    claimed = threading.Event()

    def claim() -> None:
        others.become(7)
        other = enter("planner")
        other.send("builder", "one")
        while other.take("builder") is None:
            pass
        claimed.set()

    with ThreadPoolExecutor(8) as pool:
        waits = [pool.submit(room.wait, name, timeout=1) for name in names]
        waiting = pool.submit(lambda: [room.wait("builder", timeout=20) for _ in range(2)][-1])
        pool.submit(claim).result()
        assert claimed.wait(10)
        others.die(7)
        found = waiting.result()
        assert [wait.result() for wait in waits] == [[]] * 6
    assert [mail.body for mail in found] == ["one"]


def test_a_sender_who_waits_is_told_that_its_message_expired(room: LocalRoom, clock):
    sent = room.send("builder", "soon over", expires=60)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(room.until, sent.id, "seen", timeout=20)
        clock.advance(61)
        room.bell.ring([room.who("planner").id])  # the test's clock jumps, and a sleeper does not see that
        assert [delivery.state for delivery in waiting.result()] == [State.EXPIRED]


def test_what_a_listener_could_not_settle_is_not_shown_as_new(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    room.send("builder", "one")
    listening = room.listen("builder", timeout=0.01)
    assert next(listening).body == "one"
    with monkeypatch.context() as broken:
        broken.setattr(room, "write", _busy)
        with pytest.raises(StoreBusy):
            next(listening)
    assert list(listening) == []
    assert room.sent("planner")[0][1][0].state is State.SEEN


def _busy(**_: object) -> None:
    raise StoreBusy("locked")


def test_mail_from_before_a_restore_settles_nothing_of_what_came_after_it(
    room: LocalRoom, enter: Enter, clock, tmp_path
):
    kept = str(tmp_path / "kept.db")
    backup.backup(room, kept)
    room.send("builder", "lost by the restore")
    mail = room.take("builder")
    assert mail is not None
    backup.restore(enter("planner"), kept)
    clock.advance(1)
    sent = room.send("builder", "two")
    assert sent.message.seq > mail.message.seq  # a restore gives no number again
    with pytest.raises(UnknownMessage):
        room.ack(mail)
    assert [waits.body for waits in room.peek("builder")] == ["two"]


def test_a_project_named_by_what_was_rolled_back_is_not_remembered(enter: Enter, tmp_path, monkeypatch):
    """Two repositories of one name; the first one's first message is refused."""
    rooms: list[LocalRoom] = []
    for parent in ("one", "two"):
        make_repository(tmp_path / parent / "proj")
        monkeypatch.chdir(tmp_path / parent / "proj")
        entered = enter("planner")
        entered.scope = Scope(None)
        rooms.append(entered)
    first, second = rooms
    with pytest.raises(UnknownRecipient):
        first.send("nobody-at-all", "hello")
    assert [second.join("builder").project, first.join("builder").project] == ["proj", "proj-2"]
