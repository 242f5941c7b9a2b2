"""Gates: decided once, by whoever was asked; denied when their time is over."""

import threading

import pytest

from postroom.errors import (
    AlreadyDecided,
    InvalidPayload,
    InvalidValue,
    NotAsked,
    PostroomError,
    StaleClaim,
    UnknownMessage,
)
from postroom.model.ladder import State
from postroom.room import keep
from postroom.room.gate import decided, digest
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.contract.conftest import Enter
from tests.process import until


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("builder")
    for agent in ("builder", "planner", "human:ana", "human:ben"):
        room.join(agent, role="lead" if agent == "planner" else "")
    return room


def ask(room: LocalRoom, to: str = "human:ana", **payload: object) -> str:
    return room.send(to, "May I deploy?", type="decision_gate", payload=payload or None, expires=60).id


@pytest.mark.promise("gate")
def test_whoever_was_asked_decides_and_the_asker_is_told(team: LocalRoom):
    gate = ask(team, options=["now", "tonight", "never"])
    assert [g.message.id for g in team.gates()] == [gate]
    team.decide(gate, "tonight", note="after 18:00", agent="human:ana")
    assert team.gates() == []
    [answer] = team.peek("builder")
    assert answer.body == "tonight: after 18:00"
    assert answer.payload == {"decision": {"gate": gate, "option": "tonight", "note": "after 18:00"}}
    assert (answer.sender, answer.message.reply_to) == ("human:ana", gate)
    assert team.receipts(gate).deliveries[0].state is State.ACKED
    decision = team.gate(gate).decision
    assert decision is not None
    assert (decision.option, decision.note) == ("tonight", "after 18:00")


@pytest.mark.promise("gate")
def test_it_is_decided_once(team: LocalRoom):
    gate = ask(team)
    team.decide(gate, "approve", agent="human:ana")
    with pytest.raises(AlreadyDecided, match="ana has decided"):
        team.decide(gate, "deny", agent="human:ana")
    assert len(team.peek("builder")) == 1


@pytest.mark.promise("gate")
def test_it_says_whether_whoever_looks_decides_and_so_it_is(team: LocalRoom, enter: Enter):
    gates = ask(team), ask(team, "planner"), ask(team, "one:@leads")
    team.join("scout", role="lead")
    team.take("planner", id=gates[2])
    for name, mine in (("human:ana", gates[:1]), ("planner", gates[1:]), ("scout", ()), ("nobody", ())):
        looking = enter(name)
        assert tuple(g.message.id for g in looking.gates() if g.mine) == mine
        assert [looking.gate(one).mine for one in gates] == [one in mine for one in gates]
        for one in set(gates) - set(mine):
            with pytest.raises(PostroomError):
                looking.decide(one, "approve")
        for one in mine:
            looking.decide(one, "approve")


def test_what_one_of_many_has_taken_another_does_not_decide(team: LocalRoom, enter: Enter):
    team.join("scout", role="lead")
    gate = ask(team, "one:@leads")
    planner, scout = enter("planner"), enter("scout")
    assert [room.gate(gate).mine for room in (planner, scout)] == [True, True]
    planner.take(id=gate)
    assert [room.gate(gate).mine for room in (planner, scout)] == [True, False]
    with pytest.raises(StaleClaim):
        scout.decide(gate, "approve")


def test_who_has_another_name_now_decides_what_it_was_asked_before(team: LocalRoom, enter: Enter):
    gate = ask(team)
    ana = enter("human:ana")
    ana.rename("anna", agent="human:ana")
    team.join("human:ana")
    assert not ana.gate(gate).mine, "that name is another's now"
    anna = enter("human:anna")
    assert [(g.message.id, g.mine) for g in anna.gates()] == [(gate, True)]
    anna.decide(gate, "approve")


def test_who_says_no_name_sees_what_waits_and_decides_none(team: LocalRoom, enter: Enter):
    ask(team)
    assert [g.mine for g in enter().gates()] == [False]


@pytest.mark.promise("gate")
def test_of_many_who_decide_at_once_one_does(team: LocalRoom, enter: Enter):
    for n in range(4):
        team.join(f"lead{n}", role="lead")
    gate = ask(team, "@leads")
    told: list[str] = []

    def decide(agent: str) -> None:
        room = enter(agent)
        try:
            room.decide(gate, "approve")
            told.append(agent)
        except AlreadyDecided:
            pass
        room.close()

    threads = [threading.Thread(target=decide, args=(f"lead{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(told) == 1
    assert len(team.peek("builder")) == 1


@pytest.mark.promise("gate")
def test_when_its_time_is_over_it_is_denied_and_says_so(team: LocalRoom, clock: Clock):
    gate = ask(team)
    clock.advance(59)
    assert team.peek("builder") == []
    clock.advance(2)
    assert team.gates() == []
    [letter] = team.peek("builder")
    assert "nobody decided" in letter.body
    assert letter.payload == {"decision": {"gate": gate, "option": None}}
    with pytest.raises(AlreadyDecided, match="nobody decided in time"):
        team.decide(gate, "approve", agent="human:ana")
    assert team.peek("human:ana") == []


@pytest.mark.promise("gate")
def test_a_decision_in_time_is_not_followed_by_a_denial(team: LocalRoom, clock: Clock):
    gate = ask(team)
    team.decide(gate, "approve", agent="human:ana")
    clock.advance(120)
    assert [mail.body for mail in team.peek("builder")] == ["approve"]


@pytest.mark.promise("gate")
@pytest.mark.parametrize("act", ["ack", "take", "settle"])
def test_however_it_was_read_before_it_is_decided_and_not_denied(team: LocalRoom, clock: Clock, act: str):
    gate = ask(team)
    if act == "ack":
        team.ack(gate, agent="human:ana")
    else:
        mail = team.take("human:ana")
        assert mail is not None
        if act == "settle":
            team.settle(mail)
    team.decide(gate, "approve", agent="human:ana")
    clock.advance(120)
    assert [mail.body for mail in team.peek("builder")] == ["approve"]


@pytest.mark.promise("gate")
def test_what_was_withdrawn_or_refused_cannot_be_decided(team: LocalRoom, clock: Clock):
    taken_back, refused = ask(team), ask(team)
    team.withdraw(taken_back)
    team.nack(refused, "not mine", agent="human:ana")
    assert team.gates() == []
    for gate, how in ((taken_back, "withdrawn"), (refused, "bounced")):
        with pytest.raises(AlreadyDecided, match=how):
            team.decide(gate, "approve", agent="human:ana")
    clock.advance(120)
    told = [mail.payload or {} for mail in team.peek("builder")]
    assert [letter["bounce"]["message"] for letter in told if "bounce" in letter] == [refused]
    assert [letter["decision"]["gate"] for letter in told if "decision" in letter] == [refused]


def test_an_open_gate_is_listed_however_many_were_decided(team: LocalRoom):
    for _ in range(510):
        team.decide(ask(team), "approve", agent="human:ana")
    still = team.send("human:ana", "and this?", type="decision_gate", expires=600).id
    assert [g.message.id for g in team.gates()] == [still]


@pytest.mark.promise("gate")
def test_nobody_else_can_decide(team: LocalRoom):
    gate = ask(team)
    for other in ("human:ben", "planner", "builder"):
        with pytest.raises(NotAsked, match="but for human:ana"):
            team.decide(gate, "approve", agent=other)
    assert [g.message.id for g in team.gates()] == [gate]


def forge(team: LocalRoom, gate: str) -> None:
    """As an agent that was not asked, and as one that has a part in the conversation."""
    with pytest.raises(UnknownMessage):
        team.send("builder", "approve", sender="planner", correlation=gate, reply_to=gate, type="response")
    team.send("builder", "approve", sender="planner", correlation=gate, type="response")
    team.send("planner", "What do you think?", sender="builder", thread=gate)
    team.send("builder", "approve", sender="planner", correlation=gate, reply_to=gate, type="response")


@pytest.mark.promise("gate")
def test_a_message_that_looks_like_a_decision_decides_nothing(team: LocalRoom):
    gate = ask(team)
    forge(team, gate)
    assert [g.message.id for g in team.gates()] == [gate]
    assert team.gate(gate).decision is None


def test_for_the_others_who_were_asked_it_is_over(team: LocalRoom):
    team.join("lead2", role="lead")
    gate = ask(team, "@leads")
    team.decide(gate, "deny", agent="lead2")
    assert team.peek("planner") == []
    assert {d.recipient: d.state for d in team.receipts(gate).deliveries} == {
        "planner": State.WITHDRAWN,
        "lead2": State.ACKED,
    }


@pytest.mark.parametrize(("wanted", "chosen"), [("APPROVE", "approve"), ("appr", "approve"), ("d", "deny")])
def test_the_beginning_of_an_option_is_enough(team: LocalRoom, wanted: str, chosen: str):
    gate = ask(team)
    assert team.decide(gate, wanted, agent="human:ana").message.body == chosen


@pytest.mark.parametrize("wanted", ["", "yes", "app rove", "a\x00"])
def test_what_is_no_option_is_refused(team: LocalRoom, wanted: str):
    gate = ask(team, options=["approve", "apply"])
    for option in (wanted, "ap"):
        with pytest.raises(InvalidValue, match="approve, apply"):
            team.decide(gate, option, agent="human:ana")


def test_what_is_no_gate_cannot_be_decided(team: LocalRoom):
    with pytest.raises(UnknownMessage, match="asks for no decision"):
        team.decide(team.send("human:ana", "hello").id, "approve", agent="human:ana")


def test_every_gate_expires(team: LocalRoom, clock: Clock):
    gate = team.send("human:ana", "May I?", type="decision_gate")
    assert gate.message.expires_at == clock() + int(team.settings.gate_seconds * 1000)


def test_the_digest_tells_what_was_asked(team: LocalRoom):
    message = team.find_message(team.store.look(), ask(team))
    others = (message._replace(body="x"), message._replace(subject="x"), message._replace(payload={"x": 1}))
    assert len({digest(each) for each in (message, *others)}) == 4
    assert team.gate(message.id).digest == digest(message)


def test_who_asks_and_waits_gets_the_decision_and_no_forgery(team: LocalRoom, enter: Enter):
    waiter = enter("builder")
    answers: list[str] = []

    def wait() -> None:
        mail = waiter.ask("human:ana", "May I?", type="decision_gate", timeout=30)
        answers.append(mail.body)
        waiter.close()

    thread = threading.Thread(target=wait)
    thread.start()
    until(team.gates)
    gate = team.gates()[0].message.id
    forge(team, gate)
    team.decide(gate, "deny", agent="human:ana")
    thread.join(30)
    assert answers == ["deny"]


def test_what_only_the_room_says_cannot_be_said_by_others(team: LocalRoom):
    for key in ("decision", "bounce", "unanswered"):
        with pytest.raises(InvalidPayload, match=f"payload.{key}"):
            team.send("planner", "approve", type="response", payload={key: {"option": "approve"}})


def test_a_payload_that_is_nested_too_deep_is_refused(team: LocalRoom):
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(InvalidPayload, match="nested"):
        team.send("planner", "x", payload=deep)


def test_the_letter_that_would_deny_it_is_not_part_of_the_thread(team: LocalRoom, clock: Clock):
    gate = ask(team)
    assert [message.body for message in team.thread(gate)] == ["May I deploy?"]
    assert [thread.messages for thread in team.threads("builder")] == [1]
    clock.advance(61)
    team.sweep()
    assert len(team.thread(gate)) == 2


def test_a_redacted_gate_cannot_be_decided(team: LocalRoom):
    gate = ask(team, options=["red", "blue"])
    keep.redact(team, gate)
    with pytest.raises(AlreadyDecided, match="redacted"):
        team.decide(gate, "approve", agent="human:ana")


def test_of_options_that_differ_in_case_only_each_can_be_chosen(team: LocalRoom):
    gate = ask(team, options=["yes", "YES"])
    assert team.decide(gate, "YES", agent="human:ana").message.body == "YES"


def test_a_letter_that_was_withdrawn_a_moment_ago_is_not_the_answer(
    team: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    gate = team.find_message(team.store.look(), ask(team))
    tx = team.store.look()
    late = tx.decision

    def decided_meanwhile(seq: int) -> object:
        before = late(seq)
        team.decide(gate.id, "approve", agent="human:ana")
        return before

    monkeypatch.setattr(tx, "decision", decided_meanwhile)
    assert decided(tx, gate) is None
    monkeypatch.undo()
    assert (found := decided(team.store.look(), gate)) is not None
    assert found.body == "approve"


def test_an_open_gate_is_not_pruned_though_it_was_acknowledged(team: LocalRoom, clock: Clock):
    gate = ask(team)
    team.ack(gate, agent="human:ana")
    clock.advance(1)
    keep.prune(team, clock())
    assert [g.message.id for g in team.gates()] == [gate]
    team.decide(gate, "approve", agent="human:ana")
    clock.advance(120)
    keep.prune(team, clock())
    assert team.store.look().message(gate) is None


@pytest.mark.promise("gate")
def test_whoever_only_answers_a_gate_is_told_that_this_decides_nothing(team: LocalRoom):
    gate = ask(team)
    note = team.reply(gate, "approve", agent="human:ana").note
    assert note == f"this decides nothing; to decide: postroom decide {gate[-8:]} OPTION"
    assert [g.message.id for g in team.gates()] == [gate]
    team.decide(gate, "approve", agent="human:ana")
    assert team.reply(gate, "as I said", agent="human:ana").note == ""


def test_an_answer_to_anything_else_carries_no_note(team: LocalRoom):
    assert team.reply(team.send("planner", "?").id, "!", agent="planner").note == ""


@pytest.mark.promise("unsaid")
def test_a_denial_is_nowhere_before_its_moment(team: LocalRoom, clock: Clock):
    gate = ask(team, "human:ana")
    assert team.search("denied") == []
    assert [agent.address for agent in team.stats().agents] == ["human:ana", "p/builder"]
    assert team.stats().messages == 1
    clock.advance(61)
    [hit] = team.search("denied")
    assert hit.message.said_at == hit.message.not_before == clock() - 1000
    assert team.search("denied", since=clock() - 2000) == [hit]
    assert team.stats().messages == 2
    assert [thread.messages for thread in team.threads("builder")] == [2]
    assert len(team.thread(gate)) == 2


@pytest.mark.promise("unsaid")
def test_a_denial_that_a_decision_made_void_is_never_anywhere(team: LocalRoom, clock: Clock):
    gate = ask(team)
    team.decide(gate, "approve", agent="human:ana")
    clock.advance(61)
    team.sweep()
    assert team.search("denied") == []
    assert team.stats().messages == 2
    assert [thread.messages for thread in team.threads("builder")] == [2]


@pytest.mark.promise("unsaid")
def test_a_denial_is_in_no_topic(team: LocalRoom, clock: Clock):
    team.subscribe("ops", agent="planner")
    ask(team, "topic:ops")
    for _ in range(2):
        assert [message.type for message in team.topic_history("ops")] == ["decision_gate"]
        clock.advance(61)
        team.sweep()


def test_how_soon_a_denial_was_acknowledged_counts_from_its_moment(team: LocalRoom, clock: Clock):
    ask(team)
    clock.advance(61)
    team.ack(team.peek("builder")[0].id, agent="builder")
    [times] = [pair.ack for pair in team.stats().pairs if pair.sender == "postroom"]
    assert times is not None
    assert times.p50 == 1000
