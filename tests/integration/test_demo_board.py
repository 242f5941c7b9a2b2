"""What the demo makes of a room's events: where a message for several stands, and what was lost."""

import pytest

from postroom.demo.account import account
from postroom.demo.board import Board, Mood, Row
from postroom.demo.script import NAMES, enter
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from tests.conftest import OpenRoom


@pytest.fixture
def room(open_room: OpenRoom) -> LocalRoom:
    """A room in which the agents of the demo have their places."""
    room = open_room("planner")
    for name in NAMES:
        enter(room, name)
    return room


def board_of(room: LocalRoom) -> Board:
    board, names = Board(NAMES), {status.agent.id: status.agent.name for status in room.agents()}
    for event in room.events():
        ref = event.refs.get("message")
        recipients = [names[one] for one in event.payload.get("recipients", ())]
        message = room.find_message(room.store.look(), ref) if ref else None
        board.feed(event, message, names.get(event.party, ""), recipients)
    return board


def row_of(room: LocalRoom) -> Row:
    [row] = board_of(room).items
    assert isinstance(row, Row)
    return row


def taken(room: LocalRoom, name: str) -> Mail:
    mail = room.take(name)
    assert mail is not None
    return mail


def test_a_message_to_a_group_stands_as_high_as_anybody_and_says_how_many_do(room: LocalRoom):
    room.send("@all", "hi")
    assert (row_of(room).state, row_of(room).share) == (State.STORED, "3/3")
    first = taken(room, "builder")
    assert (row_of(room).state, row_of(room).share) == (State.OFFERED, "1/3")
    second = taken(room, "critic")
    assert (row_of(room).state, row_of(room).share) == (State.OFFERED, "2/3")
    room.ack(first)
    assert (row_of(room).state, row_of(room).share) == (State.ACKED, "1/3")
    room.ack(second)
    assert (row_of(room).share, row_of(room).is_done) == ("2/3", False)
    room.ack(taken(room, "reviewer"))
    assert (row_of(room).share, row_of(room).is_done) == ("3/3", True)


def test_who_refuses_a_message_to_a_group_is_not_counted_among_those_who_have_it(room: LocalRoom):
    sent = room.send("topic:builds", "hi", sender="builder")
    room.ack(sent.id, agent="critic")
    room.nack(sent.id, "no", agent="planner")
    row = next(one for one in board_of(room).items if isinstance(one, Row))
    assert (row.state, row.share, row.is_done) == (State.ACKED, "1/2", False)
    assert account(room)["lost"] == 2, "the post, and the bounce that nobody has read"


def test_a_message_for_one_of_many_names_who_has_claimed_it(room: LocalRoom):
    room.send("one:@reviewers", "hi")
    assert (row_of(room).claimer, row_of(room).share) == ("", "")
    mail = taken(room, "critic")
    assert (row_of(room).claimer, row_of(room).state) == ("critic", State.OFFERED)
    room.ack(mail)
    row = row_of(room)
    assert (row.claimer, row.state, row.is_done) == ("critic", State.ACKED, True)
    assert row.states == {"critic": State.ACKED, "reviewer": State.WITHDRAWN}


def test_of_what_is_for_one_of_many_nothing_is_lost_once_one_has_it(room: LocalRoom):
    sent = room.send("one:@reviewers", "hi")
    assert account(room)["lost"] == 1
    room.ack(sent.id, agent="critic")
    assert account(room)["lost"] == 0


def test_of_what_is_for_all_of_them_each_who_has_not_got_it_counts(room: LocalRoom):
    sent = room.send("@all", "hi")
    assert account(room)["lost"] == 3
    room.ack(sent.id, agent="critic")
    assert account(room)["lost"] == 2


def test_what_several_take_once_each_was_not_offered_again(room: LocalRoom):
    room.send("@all", "hi")
    for name in ("builder", "critic", "reviewer"):
        room.ack(taken(room, name))
    assert account(room)["offered_again"] == []


def test_whoever_has_mail_and_has_not_answered_it_is_working(room: LocalRoom):
    room.send("@all", "hi")
    mail = taken(room, "critic")
    moods = board_of(room).moods()
    assert (moods["critic"], moods["reviewer"]) == (Mood.WORKING, Mood.WAITING)
    room.ack(mail)
    assert board_of(room).moods()["critic"] is Mood.WAITING


def test_what_a_killed_agent_has_in_hand_is_an_orphan_and_what_others_have_is_not(room: LocalRoom):
    room.send("builder", "hi")
    room.send("critic", "hi")
    taken(room, "builder")
    taken(room, "critic")
    board = board_of(room)
    assert board.moods()["builder"] is Mood.WORKING
    board.killed("builder")
    assert board.moods()["builder"] is Mood.KILLED
    assert [row.orphaned for row in board.items if isinstance(row, Row)] == [True, False]
    board.started("builder")
    assert board.moods()["builder"] is Mood.STARTING
