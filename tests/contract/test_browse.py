"""What was written, newest first, whatever it says: filtered and paged like a search, without words."""

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.search import browse
from tests.contract.conftest import Enter


def bodies(room: LocalRoom, limit: int = 50, after: int | None = None, **options) -> list[str]:
    return [message.body for message, _ in browse(room, limit, after, **options)]


@pytest.fixture
def told(enter: Enter) -> LocalRoom:
    """With one message in each state that a test can bring about."""
    room = enter("planner")
    for name in ("planner", "builder", "other"):
        room.join(name)
    room.send("other", "stored")
    room.send("other", "offered", priority="urgent")
    room.take("other")
    for state in ("seen", "acked", "bounced", "withdrawn"):
        sent = room.send("builder", state)
        match state:
            case "seen":
                mail = room.take("builder")
                assert mail is not None
                room.settle(mail)
            case "acked":
                room.ack(sent.id, agent="builder")
            case "bounced":
                room.nack(sent.id, "no", agent="builder")
            case _:
                room.withdraw(sent.id)
    return room


@pytest.mark.parametrize("state", ["stored", "offered", "seen", "acked", "bounced", "withdrawn"])
def test_each_state_is_found_where_it_lies(told: LocalRoom, state: str):
    said = [body for body in bodies(told, state=state) if body in list(State)]
    assert said == [state]


@pytest.mark.parametrize("few", [0, 10_000])
def test_a_state_in_which_there_are_many_is_found_as_well(told: LocalRoom, few: int, monkeypatch):
    from postroom.store.sqlite import search

    monkeypatch.setattr(search, "_FEW", few)
    for n in range(3):
        told.send("other", f"more {n}")
    assert bodies(told, 2, state="stored", to="other") == ["more 2", "more 1"]
    [oldest] = [m for m, _ in browse(told, 50, state="stored", to="other") if m.body == "stored"]
    assert bodies(told, 2, oldest.seq, state="stored", to="other") == ["more 1", "more 0"]


def test_what_concerns_somebody_is_what_they_wrote_or_got(told: LocalRoom):
    told.send("planner", "from other", sender="other")
    assert bodies(told, party="other") == ["from other", "offered", "stored"]
    assert bodies(told, sender="other") == ["from other"]


def test_a_page_begins_before_the_last_one_of_the_page_before(told: LocalRoom):
    first = browse(told, 2)
    rest = browse(told, 50, before=first[-1][0].seq)
    assert len(first) + len(rest) == len(browse(told, 50))
    assert rest[0][0].seq < first[-1][0].seq
