"""Threads: who takes part, what is unread, and the guard that keeps agents from going round in circles."""

import contextlib
import sqlite3

import pytest

from postroom.errors import LoopGuard, UnknownMessage
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from postroom.room.options import SendOptions
from postroom.room.unit import Unit
from tests.contract.conftest import Enter


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner", max_hops=5)
    for agent in ("planner", "builder", "reviewer", "human:ana"):
        room.join(agent)
    return room


def next_of(room: LocalRoom, agent: str) -> Mail:
    mail = room.take(agent)
    assert mail is not None
    return mail


def test_a_thread_tells_who_takes_part_and_what_is_unread(team: LocalRoom):
    first = team.send("builder", "Build the parser.\nSoon.", sender="planner")
    team.reply(next_of(team, "builder"), "On it.", agent="builder")
    team.send("reviewer", "Look at this", sender="builder", thread=first.id)
    team.send("reviewer", "something else", sender="planner")
    [mine] = team.threads("builder")
    assert mine.summary == "Build the parser."
    assert [name.rpartition("/")[2] for name in mine.participants] == ["builder", "planner", "reviewer"]
    assert (mine.messages, mine.unread) == (3, 0)
    assert mine.latest.body == "Look at this"
    assert [(t.summary, t.unread) for t in team.threads("planner")] == [
        ("something else", 0), ("Build the parser.", 1)
    ]  # fmt: skip
    assert [t.unread for t in team.threads("reviewer")] == [1, 1]


def goes_on(how: str, ref: str) -> SendOptions:
    return {"thread": ref} if how == "thread" else {"reply_to": ref}


@pytest.mark.parametrize("how", ["thread", "reply_to"])
def test_an_agent_continues_only_what_it_has_a_part_in(team: LocalRoom, how: str):
    """Else it would have one from then on, and might read all of it."""
    first = team.send("builder", "between us", sender="planner").message
    for ref in (first.id, first.handle, "01a31859-b3a4-7e97-8f78-fdd500000000", "ffffffff"):
        with pytest.raises(UnknownMessage, match=f"there is no message '{ref}' of yours to continue"):
            team.send("builder", "and me", sender="reviewer", **goes_on(how, ref))
    team.send("planner", "and a person", sender="human:ana", **goes_on(how, first.id))
    team.send("reviewer", "What do you think?", sender="builder", thread=first.id)
    again = team.send("builder", "Well.", sender="reviewer", **goes_on(how, first.id))
    assert again.message.thread == first.id
    team.join("reviewer.helper")
    team.send("builder", "Very.", sender="reviewer.helper", **goes_on(how, first.id))


def test_whoever_has_a_part_goes_on_however_many_have_one(team: LocalRoom):
    """By what they wrote or were sent themselves, and by what those above or under them did."""
    crew = [f"crew{n}" for n in range(150)]
    with Unit(team, parts=True):
        for name in (*crew, "boss", "clerk", "reviewer"):
            team.join(name, role="crew" if name in crew else "")
            team.join(f"{name}.kid")
    first = team.send("@crews", "all of you", sender="planner", confirm=True)
    team.send("boss.kid", "and you", sender="planner", thread=first.id)
    team.send("clerk", "you, too", sender="planner", thread=first.id)
    for name in (*(f"{name}.kid" for name in crew), *crew, "boss", "clerk.kid"):
        team.send("builder", f"by {name}", sender=name, reply_to=first.id)
    for stranger in ("reviewer", "reviewer.kid"):
        with pytest.raises(UnknownMessage, match="of yours to continue"):
            team.send("builder", "and me", sender=stranger, reply_to=first.id)


@pytest.mark.promise("loop-guard")
def test_agents_answer_each_other_only_so_often(team: LocalRoom):
    sent = team.send("builder", "0", sender="planner").message
    for n in range(4):
        agent = ("builder", "planner")[n % 2]
        sent = team.reply(next_of(team, agent), str(n), agent=agent).message
    mail = next_of(team, "builder")
    with pytest.raises(LoopGuard, match=r"thread [0-9a-f]{8} has gone back and forth 5 times") as refusal:
        team.reply(mail, "and again", agent="builder")
    assert "max_hops" in refusal.value.hint
    assert refusal.value.facts["rule"] == "max_hops"
    assert len(team.thread(sent.id)) == 5, "what was refused is not stored"
    assert team.receipts(mail.id).deliveries[0].state is State.OFFERED, "nor is anything acknowledged"


@pytest.mark.promise("loop-guard")
def test_a_person_sets_it_back(team: LocalRoom):
    mail = team.send("builder", "0", sender="planner")
    for n in range(4):
        agent = ("builder", "planner")[n % 2]
        mail = team.reply(next_of(team, agent), str(n), agent=agent)
    word = team.send("planner", "go on", sender="human:ana", reply_to=mail.id)
    for n in range(5):
        word = team.send("builder", f"again {n}", sender="planner", reply_to=word.id)
    with pytest.raises(LoopGuard):
        team.send("builder", "and again", sender="planner", reply_to=word.id)


def test_a_person_is_never_held_back_and_the_guard_can_be_turned_off(team: LocalRoom, enter: Enter):
    word = team.send("builder", "0", sender="planner")
    for n in range(4):
        word = team.send("builder", str(n), sender="planner", reply_to=word.id)
    team.send("builder", "a person", sender="human:ana", reply_to=word.id)
    free = enter(max_hops=0)
    for n in range(10):
        word = free.send("builder", f"free {n}", sender="planner", reply_to=word.id)


def test_many_answers_to_one_message_are_no_loop(team: LocalRoom):
    word = team.send("builder", "who?", sender="planner")
    for n in range(20):
        team.send("planner", f"me {n}", sender="builder", reply_to=word.id)


@pytest.mark.promise("loop-guard")
@pytest.mark.parametrize(
    "body", ["Thanks!", "Got it, thanks.", "👍", "Thank you very much!", "Noted.", "ack"]
)
def test_thanks_for_an_answer_are_not_delivered(team: LocalRoom, body: str):
    team.send("builder", "which parser?", sender="planner", type="request")
    team.reply(next_of(team, "builder"), "pyparsing", agent="builder")
    answer = next_of(team, "planner")
    thanks = team.reply(answer, body, agent="planner")
    assert thanks.deliveries == []
    assert "not delivered" in thanks.note
    assert team.peek("builder") == []
    assert team.receipts(answer.id).deliveries[0].state is State.ACKED
    assert [message.body for message in team.thread(answer.id)][-1] == body


@pytest.mark.parametrize(
    "body", ["No.", "ok", "ok, but use lark", "Thanks, what about speed?", "done", "yes"]
)
def test_an_answer_that_says_something_is_delivered(team: LocalRoom, body: str):
    team.send("builder", "which parser?", sender="planner", type="request")
    team.reply(next_of(team, "builder"), "pyparsing", agent="builder")
    team.reply(next_of(team, "planner"), body, agent="planner")
    assert [mail.body for mail in team.peek("builder")] == [body]


def test_ok_to_a_request_is_an_answer(team: LocalRoom):
    team.send("builder", "may I merge?", sender="planner", type="request")
    team.reply(next_of(team, "builder"), "ok", agent="builder")
    assert [mail.body for mail in team.peek("planner")] == ["ok"]


@pytest.mark.promise("loop-guard")
def test_what_still_waits_unread_is_not_stored_again(team: LocalRoom):
    first = team.send("builder", "build it", sender="planner")
    second = team.send("builder", "are you done?", sender="planner", thread=first.id)
    again = team.send("builder", "are you done?", sender="planner", thread=first.id)
    assert again.id == second.id
    assert "still waits there unread" in again.note
    assert len(team.peek("builder")) == 2
    other = team.send("builder", "are you done now?", sender="planner", thread=first.id)
    assert other.id != second.id
    while mail := team.take("builder"):
        team.settle(mail)
    asked = team.send("builder", "are you done?", sender="planner", thread=first.id)
    assert (asked.note, asked.id == second.id) == ("", False), "once read, it may be asked again"


def test_what_is_forwarded_is_quoted_and_says_whose_it_was(team: LocalRoom):
    team.send("builder", "two\nlines", sender="planner", payload={"a": 1}, type="request")
    mail = next_of(team, "builder")
    sent = team.forward(mail.id, "reviewer", "please help", sender="builder")
    [got] = team.peek("reviewer")
    assert got.body == f"please help\n\nForwarded from planner ({mail.handle}):\n> two\n> lines"
    assert got.subject == "Fwd: two"
    assert got.payload == {"forwarded": {"type": "request", "payload": {"a": 1}}}
    assert got.message.metadata == {"forwarded": mail.id}
    assert sent.message.thread != mail.thread


def test_what_is_forwarded_takes_its_files_along_and_keeps_what_is_added(team: LocalRoom):
    sent = team.send("builder", "look", sender="planner", attachments=[("a.txt", b"one")], payload={"a": 1})
    passed = team.forward(
        sent.id, "reviewer", sender="builder", attachments=[("b.txt", b"two")], payload={"b": 2}
    )  # fmt: skip
    assert [file.name for file in team.attachments(passed.id)] == ["a.txt", "b.txt"]
    assert passed.message.payload == {"b": 2, "forwarded": {"type": "note", "payload": {"a": 1}}}


@pytest.mark.promise("loop-guard")
def test_a_thread_that_goes_on_without_replies_is_guarded_too(team: LocalRoom):
    first = team.send("builder", "0", sender="planner")
    for n in range(4):
        turn(team, first.id, n)
    team.send("builder", "my turn still", sender="planner", thread=first.id)
    with pytest.raises(LoopGuard, match=r"in thread [0-9a-f]{8} agents have taken \d+ turns"):
        turn(team, first.id, 4)


def turn(room: LocalRoom, thread: str, n: int) -> None:
    author, to = ("builder", "planner") if n % 2 == 0 else ("planner", "builder")
    room.send(to, f"turn {n}", sender=author, thread=thread)


def test_one_agent_may_say_as_much_as_it_likes_in_a_thread(team: LocalRoom):
    first = team.send("builder", "0", sender="planner")
    for n in range(20):
        team.send("builder", f"log {n}", sender="planner", thread=first.id)


def test_thanks_that_may_be_consent_are_delivered(team: LocalRoom):
    team.send("builder", "clean up", sender="planner", type="request")
    team.reply(next_of(team, "builder"), "Done. Shall I delete the old bucket?", agent="builder")
    team.reply(next_of(team, "planner"), "acknowledged", agent="planner")
    assert [mail.body for mail in team.peek("builder")] == ["acknowledged"]


def test_the_same_answer_to_another_question_is_another_answer(team: LocalRoom):
    first = team.send("builder", "merge A?", sender="planner", type="request")
    second = team.send("builder", "merge B?", sender="planner", type="request", thread=first.id)
    for question in (first, second):
        assert team.reply(question.id, "yes", agent="builder").note == ""
    assert [mail.message.reply_to for mail in team.peek("planner")] == [first.id, second.id]


def test_what_is_scheduled_does_not_keep_the_same_from_being_said_now(team: LocalRoom):
    first = team.send("builder", "hello", sender="planner")
    team.send("builder", "ping", sender="planner", thread=first.id, after=3600)
    assert team.send("builder", "ping", sender="planner", thread=first.id).note == ""


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_chain_of_answers_that_bites_its_tail_ends(room: LocalRoom, enter: Enter, length: int):
    """Nobody can write one: an answer names what was there before. But a file may have been tampered with."""
    chain = [room.send("builder", "0")]
    for n in range(1, length):
        chain.append(room.send("builder", f"{n}", reply_to=chain[-1].id))
    with contextlib.closing(sqlite3.connect(room.store.path)) as there:
        there.execute("UPDATE message SET reply_to = ? WHERE id = ?", (chain[-1].id, chain[0].id))
        there.commit()
    with pytest.raises(LoopGuard, match="20 times"):
        room.reply(chain[-1].id, "and on", agent="builder")
    assert [message.body for message in room.thread(chain[0].id)] == [f"{n}" for n in range(length)]
    assert room.forward(chain[0].id, "planner", sender="builder").deliveries
    assert room.frame(room.peek("builder")).shown
    with pytest.raises(UnknownMessage):
        room.send("builder", "to what is not there yet", reply_to="ffffffff")


def test_a_person_who_writes_in_the_thread_lets_the_others_go_on(room: LocalRoom, enter: Enter):
    strict = enter("planner", max_hops=3)
    strict.join("human:ana")
    begun = strict.send("builder", "0")
    first = strict.reply(begun.id, "1", agent="builder")
    second = strict.reply(first.id, "2", agent="planner")
    with pytest.raises(LoopGuard):
        strict.reply(second.id, "3", agent="builder")
    strict.send("builder", "go on", thread=begun.id, sender="human:ana")
    assert strict.reply(second.id, "3", agent="builder").deliveries
