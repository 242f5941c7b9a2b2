"""Nobody gets more than a page at once, and nothing stays open behind what was returned."""

import pytest

from postroom.model.ladder import Priority
from postroom.model.message import Message
from postroom.room.local import LocalRoom

PAGE = 500
MANY = 10_000


@pytest.fixture
def crowded(room: LocalRoom) -> str:
    """More than two pages of everything; the id of the message that began the one thread."""
    planner, builder = room.who("planner"), room.who("builder")
    thread = ""
    with room.write() as tx:
        for n in range(1100):
            about = {"project": "p", "name": f"agent-{n}", "role": "", "capabilities": [], "description": ""}
            tx.append("agent.joined", f"a{n:014}", payload={**about, "supervisor": None})
            message = _message(tx, planner.id, thread)
            tx.post(message, [builder.id])
            thread = message.thread
        seqs = [mail.delivery.seq for _ in range(2) for mail in tx.ready(builder.id, PAGE)]
        for seq in sorted(set(seqs)):
            mail = tx.mail(seq, builder.id)
            assert mail is not None
            tx.append("delivery.dead", builder.id, about=mail.message, payload={"reason": "x"})
    return thread


def _message(tx, sender: str, thread: str) -> Message:
    from postroom.model.ids import message_id

    fresh = message_id(tx.now, tx.next_seq)
    return Message(
        tx.next_seq, fresh, tx.tenant, "p", sender, "planner", None, "unverified", "builder", "note", "turn",
        "", "x", thread or fresh, tx.now, Priority.NORMAL, False, *[None] * 11,
    )  # fmt: skip


@pytest.mark.promise("pages")
@pytest.mark.parametrize("limit", [MANY, -1, PAGE, 1, 0])
def test_no_question_answers_with_more_than_a_page(room: LocalRoom, crowded: str, limit: int):
    builder, planner = room.who("builder").id, room.who("planner").id
    most = PAGE if limit < 0 else min(limit, PAGE)
    with room.store.read() as tx:
        sizes = {
            "agents": len(tx.agents(limit)),
            "dead": len(tx.dead(limit)),
            "events": len(tx.events("", limit)),
            "events_before": len(tx.events_before("", limit)),
            "ready": len(tx.ready(builder, limit)),
            "sent": len(tx.sent(planner, None, limit)),
            "thread": len(tx.thread(crowded, 0, limit)),
            "messages_in_project": len(tx.messages_in_project("p", 0, limit)),
        }
    assert {name: size for name, size in sizes.items() if size > most} == {}
    if limit >= 1:
        assert min(sizes.values()) >= 1


def test_pages_put_together_are_the_whole(room: LocalRoom, crowded: str):
    assert len(room.agents()) == 1102
    assert len(room.thread(crowded)) == 1100
    assert len({message.seq for message in room.thread(crowded)}) == 1100
    assert len(list(room.events())) == len({event.seq for event in room.events()})
    seqs: list[int] = []
    with room.store.read() as tx:
        while page := tx.messages_in_project("p", seqs[-1] if seqs else 0):
            seqs += page
    assert len(seqs) == 1100


def test_a_thread_is_found_only_by_the_message_that_began_it(room: LocalRoom):
    first = room.send("builder", "question")
    answer = room.reply(first.id, "answer", agent="builder")
    assert [message.body for message in room.store.look().thread(first.id)] == ["question", "answer"]
    assert room.store.look().thread(answer.id) == []
    assert [message.body for message in room.thread(answer.id)] == ["question", "answer"]
