"""Idempotency keys: what is sent twice with one key is stored once."""

import pytest

from postroom.errors import KeyConflict
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.contract.conftest import Enter
from tests.process import Child


@pytest.mark.promise("idempotent")
@pytest.mark.core
def test_sending_again_with_the_same_key_gives_the_first_message_back(room: LocalRoom, enter: Enter):
    first = room.send("builder", "one", key="k", payload={"n": 1})
    again = enter("planner").send("builder", "one", key="k", payload={"n": 1})
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.message == first.message
    assert again.deliveries == first.deliveries
    assert len(room.peek("builder")) == 1


def test_the_answer_to_a_repetition_says_how_far_the_first_one_got(room: LocalRoom):
    room.send("builder", "one", key="k")
    room.ack(room.peek("builder")[0].id, agent="builder")
    assert room.send("builder", "one", key="k").deliveries[0].state is State.ACKED


@pytest.mark.promise("idempotent")
@pytest.mark.parametrize(
    "other",
    [
        {"to": "builder", "body": "two"},
        {"to": "builder", "body": "one", "type": "status"},
        {"to": "builder", "body": "one", "payload": {"n": 1}},
        {"to": "planner", "body": "one"},
    ],
)
def test_a_key_used_for_something_else_is_refused_and_nothing_is_stored(room: LocalRoom, other: dict):
    first = room.send("builder", "one", key="k")
    with pytest.raises(KeyConflict) as refusal:
        room.send(**other, key="k")
    assert refusal.value.facts["message_ref"] == first.id
    assert [mail.body for mail in room.peek("builder")] == ["one"]
    assert room.peek("planner") == []


def test_keys_of_different_senders_do_not_meet(room: LocalRoom):
    room.send("builder", "one", key="k")
    assert not room.send("planner", "two", key="k", sender="builder").duplicate


@pytest.mark.promise("idempotent")
def test_processes_that_send_the_same_key_at_once_store_one_message(room: LocalRoom, home: str):
    children = [Child("send_keyed", home, "planner", "builder", 20) for _ in range(3)]
    try:
        for child in children:
            child.hear()
        for child in children:
            child.tell("go")
        told = [child.hear() for child in children]
    finally:
        for child in children:
            child.__exit__(None, None, None)
    assert told[0] == told[1] == told[2]
    assert [mail.id for mail in room.peek("builder")] == told[0]


@pytest.mark.promise("idempotent")
def test_a_reply_sent_again_with_its_key_is_one_message(room: LocalRoom):
    sent = room.send("builder", "question")
    first = room.reply(sent.id, "answer", agent="builder", key="k")
    again = room.reply(sent.id, "answer", agent="builder", key="k")
    assert again.id == first.id
    assert again.duplicate
    assert [mail.body for mail in room.peek("planner")] == ["answer"]
    with pytest.raises(KeyConflict):
        room.reply(sent.id, "something else", agent="builder", key="k")
