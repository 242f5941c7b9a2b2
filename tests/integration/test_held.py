"""Mail that is held, for whatever reason, is in nobody's way: counted in steps of SQLite, not in time."""

from collections.abc import Callable

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.store.sqlite.statement import HELD, KEPT, TAKEN
from tests.clockwork import Clock
from tests.conftest import OpenRoom

MANY = 2000
ME = "4711.1.b.n"


@pytest.fixture
def room(open_room: OpenRoom, clock: Clock) -> LocalRoom:
    room = open_room("planner", clock=clock)
    room.join("planner")
    for agent in ("ann", "ben", "cleo"):
        room.join(agent, role="reviewer")
    return room


def execute(room: LocalRoom, statement: str, *values: object) -> list[tuple]:
    connection = room.store.look().connection  # type: ignore[attr-defined]
    return connection.execute(statement, values).fetchall()


def multiply(room: LocalRoom, place: int) -> None:
    """Let there be many deliveries like the one that lies there; only their numbers differ."""
    names = [name for (name,) in execute(room, "SELECT name FROM pragma_table_info('delivery')")]
    values = ", ".join("seq + n" if name == "seq" else name for name in names)
    numbers = "WITH RECURSIVE more (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM more WHERE n < 1000 + ?)"
    copy = f"INSERT INTO delivery SELECT {values} FROM delivery, more WHERE place = ?"  # noqa: S608 - the schema's names
    execute(room, f"{numbers} {copy}", MANY, place)
    [(there,)] = execute(room, "SELECT count(*) FROM delivery WHERE place = ?", place)
    assert there > MANY


def steps(room: LocalRoom, question: Callable[[], object]) -> int:
    """How many instructions SQLite runs to answer."""
    count = 0

    def one() -> int:
        nonlocal count
        count += 1
        return 0

    connection = room.store.look().connection  # type: ignore[attr-defined]
    connection.set_progress_handler(one, 1)
    try:
        question()
    finally:
        connection.set_progress_handler(None, 0)
    return count


def looks(room: LocalRoom, name: str) -> dict[str, int]:
    """What takers, sweeps, hooks and waiters ask about a mailbox, and how much work each is."""
    look, party = room.store.look(), room.who(name).id
    return {
        "next": steps(room, lambda: look.next(party, ME, name)),
        "standing": steps(room, lambda: look.standing(party, ME)),
        "claimers": steps(room, lambda: look.claimers(party)),
        "taken": steps(room, lambda: look.taken(party, ME)),
        "claims": steps(room, look.recipients_offered),
        "restless": steps(room, lambda: look.restless(party)),
        "next due": steps(room, lambda: look.next_due(party)),
    }


@pytest.mark.promise("held-apart")
def test_mail_that_waits_for_its_time_is_in_nobodys_way(room: LocalRoom):
    room.send("ann", "later", after=3600)
    before = looks(room, "ann")
    multiply(room, HELD)
    assert looks(room, "ann") == before


@pytest.mark.promise("held-apart")
def test_mail_that_others_have_without_a_program_is_in_nobodys_way(room: LocalRoom):
    room.send("one:@reviewers", "for one of you")
    assert room.take("ben", route="cli", handed=False) is not None
    before = looks(room, "ann")
    multiply(room, KEPT)
    assert looks(room, "ann") == before


@pytest.mark.promise("held-apart")
def test_one_mailbox_is_not_slowed_by_what_is_due_in_others(room: LocalRoom):
    room.send("ben", "later", after=3600)
    before = looks(room, "ann")
    multiply(room, HELD)
    assert looks(room, "ann") == before


def test_what_a_program_has_and_what_another_has_otherwise_lie_apart(room: LocalRoom):
    for route in ("api", "cli"):
        room.send("one:@reviewers", route)
        assert room.take("ben", route=route) is not None
    found = execute(room, "SELECT DISTINCT place, claimer IS NULL FROM delivery WHERE reason = 'taken'")
    assert sorted(found) == [(TAKEN, False), (KEPT, True)]
    assert verify(room, deep=True).problems == []


def test_what_was_offered_before_it_was_held_comes_first_and_labelled_when_its_time_comes(
    room: LocalRoom, clock: Clock
):
    for body in ("first", "second"):
        room.send("ann", body)
    assert room.take("ann", handed=False) is not None
    clock.advance(3600)
    room.sweep()  # the claim has lapsed
    execute(room, "UPDATE delivery SET place = ?, due_at = ? WHERE attempts = 1", HELD, clock() + 1000)
    clock.advance(2)
    mail = room.take("ann")
    assert mail is not None
    assert (mail.body, mail.shown_before, mail.delivery.attempts) == ("first", True, 2)


def test_a_search_for_what_is_stored_finds_what_another_has(room: LocalRoom):
    room.send("one:@reviewers", "needle")
    assert room.take("ben") is not None
    [found] = room.search("needle", state="stored", to="ann")
    assert {d.state for d in room.receipts(found.message.id).deliveries} == {State.STORED, State.OFFERED}
