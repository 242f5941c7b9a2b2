"""Two tenants in one store: nothing of the one is ever visible to the other, not even by its number."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from postroom.errors import NotFound
from postroom.model.pen import Pen
from postroom.model.reading import Reading
from postroom.room.local import LocalRoom
from postroom.room.probe import scope_of
from postroom.room.refusal import refused
from postroom.runtimes.contract import Failure
from postroom.store import contract
from postroom.store.contract import ReadTx
from tests.clockwork import Clock
from tests.contract.conftest import Enter, everything

Ask = Callable[[ReadTx, dict[str, Any]], Any]

# Every question of the contract, asked by a stranger who knows all of the other tenant's ids.
QUESTIONS: dict[str, Ask] = {
    "agent": lambda tx, it: tx.agent(it["builder"]),
    "agent_named": lambda tx, it: tx.agent_named("p", "builder"),
    "agents": lambda tx, it: tx.agents(),
    "agents_in": lambda tx, it: tx.agents_in("p"),
    "answer": lambda tx, it: tx.answer("c", 0, it["builder"]),
    "asked_by": lambda tx, it: tx.asked_by(it["planner"]),
    "asking": lambda tx, it: tx.asking(it["reviewer"]),
    "claimers": lambda tx, it: tx.claimers(it["builder"]),
    "correlated": lambda tx, it: tx.correlated(it["planner"], "c"),
    "counts": lambda tx, it: any(tx.counts(it["builder"])),
    "dead": lambda tx, it: tx.dead(),
    "decision": lambda tx, it: [d for seq in it["seqs"] if (d := tx.decision(seq))],
    "deferrals": lambda tx, it: any(tx.deferrals(seq, it["builder"]) for seq in it["seqs"]),
    "deliveries": lambda tx, it: [d for seq in it["seqs"] for d in tx.deliveries(seq)],
    "due": lambda tx, it: tx.due(1 << 60),
    "event_id": lambda tx, it: [found for seq in it["seqs"] if (found := tx.event_id(seq))],
    "events": lambda tx, it: tx.events(),
    "events_before": lambda tx, it: tx.events_before(),
    "followers": lambda tx, it: tx.followers("jour"),
    "for_one": lambda tx, it: tx.for_one(it["builder"]),
    "gates": lambda tx, it: tx.gates(0),
    "history": lambda tx, it: [e for seq in it["seqs"] for e in tx.history(seq, it["builder"])],
    "is_subscribed": lambda tx, it: tx.is_subscribed("p", "news", it["builder"]),
    "lag": lambda tx, it: tx.lag("journal")[1],
    "last_cursor": lambda tx, it: tx.last_cursor() != "0",
    "lease": lambda tx, it: tx.lease(it["builder"]),
    "mail": lambda tx, it: [m for seq in it["seqs"] if (m := tx.mail(seq, it["builder"]))],
    "message": lambda tx, it: tx.message(it["id"]) or tx.message(it["id"][-8:]),
    "message_at": lambda tx, it: [m for seq in it["seqs"] if (m := tx.message_at(seq))],
    "message_by_key": lambda tx, it: tx.message_by_key(it["planner"], "k"),
    "messages_in_project": lambda tx, it: tx.messages_in_project("p"),
    "messages_in_topic": lambda tx, it: tx.messages_in_topic("p", "news"),
    "next": lambda tx, it: any((found := tx.next(it["builder"], "nobody", ""))[0]) or found[1],
    "next_due": lambda tx, it: tx.next_due() or tx.next_due(it["builder"]),
    "offered": lambda tx, it: tx.offered(it["builder"], it["claimer"]),
    "position": lambda tx, it: tx.position("journal"),
    "project": lambda tx, it: tx.project("p"),
    "project_at": lambda tx, it: tx.project_at("/repo"),
    "projects": lambda tx, it: tx.projects(),
    "prunable": lambda tx, it: tx.prunable(1 << 60, 0),
    "pushable": lambda tx, it: tx.pushable(it["builder"], 500),
    "reading": lambda tx, it: tx.reading("s1"),
    "ready": lambda tx, it: tx.ready(it["builder"], 500),
    "recipients_offered": lambda tx, it: tx.recipients_offered(),
    "refusal": lambda tx, it: tx.refusal(scope_of(it["hermit"])),
    "refresh": lambda tx, it: tx.refresh(it["letter"]),
    "restless": lambda tx, it: tx.restless(it["builder"]),
    "unlabelled": lambda tx, it: tx.unlabelled(it["builder"]),
    "sent": lambda tx, it: tx.sent(it["planner"]),
    "session": lambda tx, it: tx.session("s1"),
    "had_session": lambda tx, it: tx.had_session(it["builder"]),
    "has_interrupt": lambda tx, it: tx.has_interrupt(it["reviewer"]),
    "has_proven": lambda tx, it: tx.has_proven(it["planner"], ""),
    "has_refusals": lambda tx, it: tx.has_refusals(),
    "has_sessions": lambda tx, it: tx.has_sessions(),
    "sessions_in": lambda tx, it: tx.sessions_in("1.1.b.n"),
    "sessions_at": lambda tx, it: tx.sessions_at("claude", "/w"),
    "sessions_in_pane": lambda tx, it: tx.sessions_in_pane("claude", "%0"),
    "sessions_hosted": lambda tx, it: tx.sessions_hosted("1.1.b.n"),
    "sessions": lambda tx, it: tx.sessions(it["builder"]),
    "pen": lambda tx, it: tx.pen("%0"),
    "sessions_open": lambda tx, it: tx.sessions_open(),
    "sessions_unread": lambda tx, it: tx.sessions_unread(),
    "standing": lambda tx, it: any(tx.standing(it["builder"], "nobody")),
    "subscribers": lambda tx, it: tx.subscribers("p", "news"),
    "held": lambda tx, it: tx.held(it["hermit"]),
    "held_counts": lambda tx, it: tx.held_counts(it["hermit"]),
    "count_ready": lambda tx, it: tx.count_ready(it["builder"], 1),
    "unread": lambda tx, it: tx.unread(it["hermit"], 1),
    "waiting": lambda tx, it: tx.waiting(it["builder"]),
    "taken": lambda tx, it: tx.taken(it["reviewer"], it["claimer"]),
    "thread": lambda tx, it: tx.thread(it["id"]),
    "thread_end": lambda tx, it: tx.thread_end(it["id"]),
    "thread_has": lambda tx, it: tx.thread_has(it["id"], it["planner"]),
    "thread_people": lambda tx, it: tx.thread_people(it["id"]),
    "thread_size": lambda tx, it: tx.thread_size(it["id"]),
    "threads": lambda tx, it: tx.threads(it["planner"], 1000),
    "topic_after": lambda tx, it: tx.topic_after("p", ""),
    "topic_counts": lambda tx, it: any(tx.topic_counts("p", "news")),
    "watched": lambda tx, it: tx.watched(it["reviewer"]),
    "tasks": lambda tx, it: tx.tasks(it["reviewer"]),
}


@pytest.fixture
def furnished(room: LocalRoom, clock: Clock) -> dict[str, Any]:
    """One tenant's room with something of everything in it."""
    from postroom import host

    builder, planner = room.who("builder").id, room.who("planner").id
    with room.write() as tx:
        tx.append("project.created", payload={"name": "repo", "root": "/repo"})
        process = {"id": "s1", "runtime": "claude", "process": "1.1.b.n", "epoch": 0, "worktree": "/w"}
        tx.append("session.started", builder, payload={**process, "pane": "%0"})
        tx.set_position("journal", "3")
        tx.set_reading("s1", Reading("/t.jsonl", 0, {}))
        tx.set_pen("%0", Pen(1, "1.1.b.n", 5))
    for agent in ("builder", "reviewer"):
        room.join(agent, role="worker")
    room.subscribe("news", agent="builder")
    room.send("topic:news", "news")
    room.ack(room.take("builder") or pytest.fail("no news"))
    room.join("hermit")
    room.manners("hermit", mute=True)
    room.send("hermit", "when you are back")
    room.send("one:@workers", "for one of two")
    room.take("builder")
    gate = room.send("builder", "may I?", type="decision_gate")
    room.decide(gate.id, "approve", agent="builder")
    room.send("planner", "and this?", sender="builder", type="decision_gate")
    first = room.send("builder", "one", key="k", correlation="c", payload={"secret": 1})
    room.reply(room.send("builder", "done").id, "thanks", agent="builder")
    room.settle(room.take("planner") or pytest.fail("no answer"))
    room.ack(room.sent("builder")[0][0].id, agent="planner")
    room.take("builder")
    for _ in range(2):
        room.send("builder", "waits")
        room.send("reviewer", "how far are you?", type="request")
    room.settle(room.take("reviewer") or pytest.fail("no request"))
    task = room.send("reviewer", "do it", type="dispatch", payload={"task_id": "t"})
    room.settle(room.take("reviewer", id=task.id) or pytest.fail("no task"))
    room.send("reviewer", "stop", type="interrupt", payload={"kind": "stop"})
    room.send("builder", "later", after=60)
    doomed = room.send("builder", "doomed")
    room.nack(room.send("builder", "not now").id, "busy", agent="builder", retry_after=60)
    listening = room.listen("planner")
    listening.close()  # type: ignore[attr-defined]
    with room.write() as tx:
        mail = tx.mail(doomed.message.seq, builder)
        assert mail is not None
        tx.append("delivery.dead", builder, about=mail.message, payload={"reason": "x"})
        refused(tx, room.who("hermit").id, Failure("overloaded"))
        tx.append("lease.taken", builder, payload={"fence": 1, "holder": "1.1.b.n", "context": "c"})
    clock.advance(1)
    return {
        "builder": builder,
        "planner": planner,
        "reviewer": room.who("reviewer").id,
        "hermit": room.who("hermit").id,
        "id": first.id,
        "claimer": host.identity(),
        "letter": mail,
        "seqs": range(80),
    }


def test_every_question_of_the_contract_is_asked():
    asked = {name for name, _ in inspect.getmembers(contract.ReadTx, inspect.isfunction) if name[0] != "_"}
    assert set(QUESTIONS) == asked - {"cursor"}  # which asks nothing of the store


@pytest.mark.promise("tenants")
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_its_own_tenants_things_and_never_anothers(
    room: LocalRoom, enter: Enter, furnished: dict[str, Any], question: str
):
    ask = QUESTIONS[question]
    with room.store.read() as tx:
        assert ask(tx, furnished), "the question must find something at home, or it proves nothing"
    stranger = enter(tenant="stranger")
    with stranger.store.read() as tx:
        assert not ask(tx, furnished)
    with stranger.store.write() as tx:
        assert not ask(tx, furnished)


@pytest.mark.promise("tenants")
def test_nothing_a_tenant_does_changes_what_another_sees(
    room: LocalRoom, enter: Enter, furnished, clock: Clock
):
    before = everything(room.store)
    stranger = enter("planner", tenant="stranger")
    for name in ("planner", "builder"):  # the same names, in the same project
        stranger.join(name)
    stranger.send("builder", "mine", key="k", correlation="c")
    clock.advance(3600)
    assert stranger.take("builder") is not None
    stranger.rename("somebody", agent="builder")
    stranger.sweep()
    assert [mail.body for mail in stranger.peek("planner")] == []
    for id in (furnished["id"], furnished["id"][-8:]):
        for act in (stranger.receipts, stranger.withdraw, stranger.ack, stranger.thread, stranger.retry):
            with pytest.raises(NotFound):
                act(id)
    with pytest.raises(NotFound):
        stranger.send("builder", "into your thread", thread=furnished["id"])
    stranger.delete_project("p")
    clock.advance(-3600)
    assert everything(room.store) == before


@pytest.mark.promise("tenants")
def test_sequence_numbers_are_shared_and_that_is_all(room: LocalRoom, enter: Enter):
    stranger = enter("planner", tenant="stranger")
    stranger.join("planner")
    mine = [event.seq for event in room.events()]
    theirs = [event.seq for event in stranger.events()]
    assert set(mine).isdisjoint(theirs)
    assert sorted(mine + theirs) == list(range(1, len(mine) + len(theirs) + 1))
