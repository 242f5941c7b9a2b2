"""One ladder: the function, the SQL trigger and the diagram in the docs say the same."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from itertools import product

import pytest

from postroom.errors import IllegalMove
from postroom.model.ladder import MOVES, RUNGS, Evidence, Outcome, Priority, State, ended, move, reached
from postroom.store.sqlite import migrate
from postroom.store.sqlite.statement import DEAD, DONE, HELD, KEPT, OFFERED, TAKEN

ALL_MOVES = list(product(State, State))
PLACE = {State.STORED: 5, State.OFFERED: OFFERED, State.DEAD: DEAD}
LEGAL = {(old, new) for old, news in MOVES.items() for new in news}
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "explanation", "ladder.md")


def page() -> str:
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    """A real delivery table, with its constraints."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for number in range(1, migrate.VERSION + 1):
        migrate.run(connection, number)
    yield connection
    connection.close()


def put(database: sqlite3.Connection, state: State) -> None:
    database.execute("DELETE FROM delivery")
    database.execute(
        "INSERT INTO delivery (tenant, seq, recipient, state, place, priority, shown_before, attempts,"
        " unproven, stored_at) VALUES ('local', 1, 'a1', ?, ?, 2, 0, 0, 0, 0)",
        (state.value, PLACE.get(state, 10)),
    )


def test_every_state_has_its_moves():
    assert set(MOVES) == set(State)
    assert len(ALL_MOVES) == 64


@pytest.mark.promise("ladder")
@pytest.mark.parametrize(("old", "new"), ALL_MOVES, ids=lambda state: state.value)
def test_the_check_in_the_schema_allows_exactly_the_legal_moves(database, old: State, new: State):
    put(database, old)
    statement = "UPDATE delivery SET was = state, state = ?, place = ? WHERE seq = 1"
    if (old, new) in LEGAL:
        database.execute(statement, (new.value, PLACE.get(new, 10)))
        assert database.execute("SELECT state FROM delivery").fetchone() == (new.value,)
    else:
        with pytest.raises(sqlite3.IntegrityError, match="illegal move on the ladder"):
            database.execute(statement, (new.value, PLACE.get(new, 10)))
        assert database.execute("SELECT state FROM delivery").fetchone() == (old.value,)


@pytest.mark.promise("ladder")
@pytest.mark.parametrize(("old", "new"), ALL_MOVES, ids=lambda state: state.value)
def test_the_transition_function_allows_exactly_the_legal_moves(old: State, new: State):
    if (old, new) in LEGAL:
        assert move(old, new) is new
    else:
        with pytest.raises(IllegalMove) as refusal:
            move(old, new)
        assert refusal.value.facts == {"state": old.value, "wanted": new.value}


def test_the_diagram_in_the_docs_shows_exactly_the_legal_moves():
    drawn = re.findall(r"^ +(\w+) --> (\w+)", page(), re.MULTILINE)
    assert len(drawn) == len(set(drawn))
    assert {(State(old), State(new)) for old, new in drawn} == LEGAL


def test_the_diagram_begins_with_stored_and_ends_where_no_move_is_left():
    assert re.findall(r"\[\*\] --> (\w+)", page()) == ["stored"]
    final = {State(state) for state in re.findall(r"(\w+) --> \[\*\]", page())}
    assert final == {state for state, moves in MOVES.items() if not moves}


@pytest.mark.parametrize("words", [Evidence, Outcome, State])
def test_the_docs_name_every_word_of_the_ladder(words):
    missing = [word.value for word in words if not re.search(rf"[`*]{word.value}[`*]", page())]
    assert missing == []


def test_every_statement_that_moves_a_delivery_says_where_from():
    """Without that the CHECK could not judge the move."""
    from postroom.store.sqlite.read import SQL

    moves = re.compile(r"UPDATE delivery SET [^;]*\bstate = [^;]*WHERE")
    moving = [name for name in SQL.names() if moves.search(SQL[name])]
    assert len(moving) >= 6
    assert [name for name in moving if "SET was = state, state = " not in SQL[name]] == []


@pytest.mark.parametrize(
    ("state", "place"), [("stored", 9), ("stored", 4), ("offered", 5), ("dead", 10), ("seen", 11)]
)
def test_no_delivery_can_lie_where_its_state_does_not_belong(database, state: str, place: int):
    put(database, State(state))
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("UPDATE delivery SET place = ?, priority = 1", (place,))


@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
@pytest.mark.parametrize("priority", Priority, ids=lambda priority: priority.name.lower())
def test_the_check_in_the_schema_knows_the_places_that_the_statements_name(
    database, state: State, priority: Priority
):
    waiting = {priority.value * 2, priority.value * 2 + 1}
    named = {State.STORED: waiting | {HELD, TAKEN, KEPT}, State.OFFERED: {OFFERED}, State.DEAD: {DEAD}}
    allowed = set[int]()
    for place in range(-2, 20):
        database.execute("DELETE FROM delivery")
        with contextlib.suppress(sqlite3.IntegrityError):
            database.execute(
                "INSERT INTO delivery (tenant, seq, recipient, state, place, priority, shown_before,"
                " attempts, unproven, stored_at) VALUES ('local', 1, 'a1', ?, ?, ?, 0, 0, 0, 0)",
                (state.value, place, priority.value),
            )
            allowed.add(place)
    assert allowed == named.get(state, {DONE})


def test_no_state_can_be_invented(database):
    with pytest.raises(sqlite3.IntegrityError):
        database.execute(
            "INSERT INTO delivery (tenant, seq, recipient, state, place, priority, shown_before,"
            " attempts, unproven, stored_at) VALUES ('local', 2, 'a1', 'lost', 10, 2, 0, 0, 0, 0)"
        )


def test_a_higher_rung_has_reached_the_lower_ones_and_an_exit_has_reached_none():
    for low, high in product(RUNGS, RUNGS):
        assert reached(high, low) == (RUNGS.index(high) >= RUNGS.index(low))
    exits = set(State) - set(RUNGS)
    assert not any(reached(state, rung) for state in exits for rung in RUNGS)


def test_what_has_ended_moves_only_by_a_persons_retry():
    for state in State:
        if ended(state):
            assert MOVES[state] == ({State.STORED} if state is State.DEAD else frozenset())
        else:
            assert MOVES[state]
