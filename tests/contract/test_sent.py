"""What one sent: an index that lags behind, filled by those who ask, and never seen to lag."""

import pytest

from postroom.errors import StoreFull
from postroom.room import history
from postroom.room.local import LocalRoom
from postroom.store.sqlite.store import SqliteStore


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_TAIL", 6)
    monkeypatch.setattr(history, "_BATCH", 4)


def bodies(room: LocalRoom, agent: str, **options) -> list[str]:
    return [message.body for message, _ in room.sent(agent, **options)]


def position(room: LocalRoom) -> int:
    return int(room.store.look().position("sent") or 0)


def test_what_one_sent_is_told_newest_first_whoever_else_wrote_and_however_far_the_index_is(room: LocalRoom):
    mine: list[str] = []
    stood = set[int]()
    for n in range(40):
        room.send("builder", f"mine {n}")
        room.send("planner", f"theirs {n}", sender="builder")
        mine.insert(0, f"mine {n}")
        if n % 7 == 0:
            assert bodies(room, "planner") == mine[:50]
            stood.add(position(room))
    assert len(stood) > 3, "the index was filled on the way"
    assert position(room) < int(room.store.look().last_cursor()), "and there is something beyond it"
    assert bodies(room, "planner", limit=100) == mine


def test_pages_meet_without_a_gap_where_the_index_ends(room: LocalRoom):
    for n in range(20):
        room.send("builder", str(n))
    room.sent("planner")
    for n in range(20, 24):
        room.send("builder", str(n))
    found: list[str] = []
    before: int | None = None
    while page := room.sent("planner", limit=3, before=before):
        found += [message.body for message, _ in page]
        before = page[-1][0].seq
    assert found == [str(n) for n in reversed(range(24))]


def test_what_is_pruned_is_gone_from_the_index_too(room: LocalRoom, clock):
    from postroom.room import keep, verify

    for n in range(12):
        room.send("builder", str(n))
        mail = room.take("builder")
        assert mail is not None
        room.ack(mail)
    room.sent("planner")
    assert position(room) > 0
    clock.advance(60)
    room.send("builder", "stays")
    keep.prune(room, room.store.clock() - 1000)
    assert bodies(room, "planner") == ["stays"]
    assert verify.verify(room).problems == []


def test_a_disk_that_takes_nothing_more_is_no_reason_not_to_answer(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    for n in range(10):
        room.send("builder", str(n))

    def full(self: SqliteStore) -> None:
        raise StoreFull("no space left")

    monkeypatch.setattr(SqliteStore, "begin", full)
    assert len(bodies(room, "planner")) == 10
    assert position(room) == 0
