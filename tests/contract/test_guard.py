"""Old processes and newer rooms: whoever is too old stops, and says so, before it writes anything wrong."""

import pytest

from postroom.errors import StoreNewer
from postroom.room.local import LocalRoom
from postroom.store.sqlite import migrate
from tests.contract.conftest import BackEnd, Enter, everything
from tests.process import Child


@pytest.mark.promise("newer")
def test_an_open_process_stops_at_its_next_write_when_the_room_has_moved_on(
    room: LocalRoom, back_end: BackEnd
):
    room.send("builder", "before")
    before = everything(room.store)
    back_end.set_meta(min_writer=migrate.VERSION + 1)
    for act in (
        lambda: room.send("builder", "after"),
        lambda: room.take("builder"),
        lambda: room.join("newcomer"),
        lambda: room.hush("planner"),
    ):
        with pytest.raises(StoreNewer) as refusal:
            act()
        assert refusal.value.hint
    assert everything(room.store) == before  # reading goes on
    back_end.set_meta(min_writer=migrate.VERSION)
    room.send("builder", "after")  # and no transaction was left open behind the refusals


@pytest.mark.promise("newer")
def test_a_long_lived_process_elsewhere_stops_too(room: LocalRoom, back_end: BackEnd, home: str):
    with Child("send_on_cue", home, "planner", "builder") as child:
        assert child.hear() == "ready"
        child.tell("go")
        assert "sent" in child.hear()
        back_end.set_meta(min_writer=migrate.VERSION + 1)
        child.tell("go")
        assert child.hear() == {"refused": "store_newer"}
    assert len(room.peek("builder")) == 1


@pytest.mark.promise("newer")
def test_a_newer_room_that_says_so_can_be_read_and_not_written(
    room: LocalRoom, back_end: BackEnd, enter: Enter
):
    room.send("builder", "one")
    newer = migrate.VERSION + 1
    back_end.set_version(newer)
    back_end.set_meta(version=newer, min_writer=newer)
    old = enter("planner")
    assert [mail.body for mail in old.peek("builder")] == ["one"]
    with pytest.raises(StoreNewer):
        old.send("builder", "two")


@pytest.mark.promise("newer")
def test_a_newer_room_with_a_compatible_schema_can_be_written(
    room: LocalRoom, back_end: BackEnd, enter: Enter
):
    newer = migrate.VERSION + 1
    back_end.set_version(newer)
    back_end.set_meta(version=newer)
    enter("planner").send("builder", "one")
    assert back_end.version() == newer


@pytest.mark.promise("newer")
def test_a_room_too_new_to_be_read_is_refused(room: LocalRoom, back_end: BackEnd, enter: Enter):
    newer = migrate.VERSION + 1
    back_end.set_version(newer)
    back_end.set_meta(version=newer, min_writer=newer, min_reader=newer)
    for act in (lambda: enter("planner").peek(), lambda: enter("planner").send("builder", "x")):
        with pytest.raises(StoreNewer):
            act()
