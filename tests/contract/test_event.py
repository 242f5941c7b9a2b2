"""Events: everything that happened, in order, from any cursor on; a reader that pages never skips one."""

import threading
from itertools import pairwise

import pytest

from postroom.model.message import Event
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter
from tests.process import Child


def pages(room: LocalRoom, size: int, cursor: str = "") -> list[Event]:
    """All events after a cursor, in pages of a size."""
    found: list[Event] = []
    while page := room.store.look().events(cursor, size):
        assert len(page) <= size
        found += page
        cursor = room.store.look().cursor(page[-1])
    return found


def test_paging_in_any_size_gives_the_same_events(room: LocalRoom):
    for n in range(10):
        room.send("builder", str(n))
    whole = list(room.events())
    for size in (1, 2, 3, 7, 500):
        assert pages(room, size) == whole
    assert len({event.id for event in whole}) == len(whole)
    assert all(one.seq < two.seq for one, two in pairwise(whole))


def test_a_cursor_stands_after_its_event(room: LocalRoom):
    room.send("builder", "one")
    whole = list(room.events())
    for n, event in enumerate(whole):
        assert list(room.events(after=room.store.look().cursor(event))) == whole[n + 1 :]
    assert list(room.events(after=room.store.look().last_cursor())) == []


def test_events_can_be_read_backwards_and_for_one_party(room: LocalRoom):
    room.join("tester")
    for n in range(5):
        room.send("builder", str(n))
        room.take("builder")
        room.send("tester", str(n))
    whole = list(room.events())
    backwards: list[Event] = []
    cursor = ""
    while page := room.store.look().events_before(cursor, 3):
        backwards += page
        cursor = str(page[-1].seq)
    assert backwards == whole[::-1]
    builder = room.who("builder").id
    of_builder = room.store.look().events_before("", 500, builder)
    assert of_builder == [
        event for event in whole[::-1] if builder in (event.party, *event.payload.get("recipients", ()))
    ]
    assert len(of_builder) == 11  # it joined, and was sent and offered five messages
    assert list(room.events(agent="builder")) == of_builder[::-1]


@pytest.mark.promise("events")
def test_a_reader_that_pages_while_others_write_never_skips_an_event(room: LocalRoom, home: str):
    room.join("tester")
    children = [Child("send", home, sender, "builder", 150) for sender in ("planner", "tester")]
    found: list[Event] = []
    cursor = ""
    try:
        for child in children:
            child.hear()
        for child in children:
            child.tell("go")
        while sum(event.type == "message.sent" for event in found) < 300:
            page = room.store.look().events(cursor, 7)
            if not page:
                room.wait("builder", timeout=0.01)
                continue
            found += page
            cursor = room.store.look().cursor(page[-1])
        for child in children:
            child.hear()
    finally:
        for child in children:
            child.__exit__(None, None, None)
    assert found == list(room.events())


@pytest.mark.promise("events")
def test_of_two_transactions_begun_at_once_a_reader_in_between_misses_neither(room: LocalRoom, enter: Enter):
    """The one that begins first need not be the one that ends first; a cursor must survive either order."""
    first, second = enter("planner"), enter("planner")
    second.peek("builder")
    cursor = room.store.look().last_cursor()
    found: list[Event] = []

    def look() -> None:
        nonlocal cursor
        if page := room.store.look().events(cursor):
            found.extend(page)
            cursor = room.store.look().cursor(page[-1])

    with first.write() as tx:
        tx.append("agent.left", room.who("builder").id)
        look()
        thread = threading.Thread(target=lambda: [second.send("builder", "two"), second.close()])
        thread.start()  # begins while the first is open, and ends when the store lets it
        look()
    look()
    thread.join(20)
    look()
    assert sorted(event.type for event in found) == ["agent.left", "message.sent"]
    assert [event.id for event in found] == [event.id for event in list(room.events())[-2:]]


@pytest.mark.promise("events")
def test_a_follower_hears_of_every_event_in_order(room: LocalRoom, home: str):
    follower = room.events(follow=True, after=room.store.look().last_cursor())
    with Child("send", home, "planner", "builder", 40) as child:
        child.hear()
        child.tell("go")
        heard = [next(follower) for _ in range(40)]
        sent = child.hear()
    follower.close()  # type: ignore[attr-defined]
    assert [event.refs["message"] for event in heard] == sent


def test_a_followers_position_is_kept_by_name(room: LocalRoom, enter: Enter):
    assert room.store.look().position("journal") == ""
    cursor = room.store.look().last_cursor()
    with room.store.write() as tx:
        tx.set_position("journal", cursor)
    assert enter().store.look().position("journal") == cursor
    assert enter().store.look().position("search") == ""


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "\u0663", "9" * 40, " "])
def test_what_is_no_cursor_is_refused_or_finds_nothing_wrong(room: LocalRoom, cursor: str):
    from postroom.errors import UsageError

    try:
        list(room.events(after=cursor))
    except UsageError as refusal:
        assert "cursor" in str(refusal)  # noqa: PT017 - either is fine, a traceback is not
