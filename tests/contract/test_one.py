"""`one:@group`: exactly one of many has it, until it refuses it, gives it back or ends."""

import threading

import pytest

from postroom.errors import IllegalMove, PostroomError, StaleClaim
from postroom.model.ladder import Cause, State
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.contract.conftest import Enter
from tests.room_activity import gone_process

REVIEWERS = ("ann", "ben", "cleo")


@pytest.fixture
def team(enter: Enter) -> LocalRoom:
    room = enter("planner")
    room.join("planner")
    for agent in REVIEWERS:
        room.join(agent, role="reviewer")
    return room


def states(room: LocalRoom, ref: str) -> dict[str, str]:
    return {d.recipient: d.reason or d.state.value for d in room.receipts(ref).deliveries}


def taken(room: LocalRoom, agent: str) -> Mail:
    mail = room.take(agent)
    assert mail is not None
    return mail


@pytest.mark.promise("one-of-many")
def test_whoever_claims_it_first_has_it_and_the_others_do_not(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    assert len(sent.deliveries) == 3
    assert [mail.body for mail in team.peek("cleo")] == ["review this"]
    mail = taken(team, "ben")
    assert team.take("ann") is None
    assert team.peek("cleo") == []
    assert states(team, sent.id) == {"ann": "taken", "ben": "offered", "cleo": "taken"}
    team.settle(mail)
    assert team.take("ann") is None
    team.ack(mail)
    done = "ben has done it"
    assert states(team, sent.id) == {"ann": done, "ben": "acked", "cleo": done}
    assert {d.state for d in team.receipts(sent.id).deliveries} == {State.ACKED, State.WITHDRAWN}


@pytest.mark.promise("one-of-many")
def test_a_refusal_releases_it_to_the_others_and_only_the_last_one_bounces(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    team.nack(taken(team, "ben"), "busy", agent="ben")
    assert team.peek("planner") == []
    assert team.take("ben") is None
    team.nack(taken(team, "ann"), "busy", agent="ann")
    team.nack(taken(team, "cleo"), "tired", agent="cleo")
    [bounce] = team.peek("planner")
    assert "refused by cleo: tired" in bounce.body
    assert {d.state for d in team.receipts(sent.id).deliveries} == {State.BOUNCED}


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("seen", [False, True])
def test_when_the_program_that_claimed_it_ends_another_gets_it(team: LocalRoom, enter: Enter, seen: bool):
    sent = team.send("one:@reviewers", "review this")
    with gone_process():
        dead = enter()
        mail = taken(dead, "ben")
        if seen:
            dead.settle(mail)
    again = taken(team, "ann")
    assert again.id == sent.id
    assert not again.shown_before, "she has not seen it"
    team.ack(again)
    found = {d.recipient: d.state for d in team.receipts(sent.id).deliveries}
    assert found == {
        "ann": State.ACKED, "ben": State.BOUNCED if seen else State.WITHDRAWN, "cleo": State.WITHDRAWN
    }  # fmt: skip
    assert team.peek("planner") == []


@pytest.mark.promise("one-of-many")
def test_an_old_claim_is_refused_once_another_has_it(team: LocalRoom, enter: Enter):
    team.send("one:@reviewers", "review this")
    with gone_process():
        late = enter()
        old = taken(late, "ben")
    new = taken(team, "ann")
    for act in (
        late.settle,
        late.ack,
        lambda mail: late.nack(mail, "no"),
        lambda mail: late.reply(mail, "x"),
    ):
        with pytest.raises((StaleClaim, IllegalMove)):
            act(old)
    team.ack(new)


def test_a_reply_is_the_acknowledgement(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this", type="request")
    team.reply(taken(team, "ben"), "fine", agent="ben")
    assert [mail.body for mail in team.peek("planner")] == ["fine"]
    assert states(team, sent.id)["ann"] == "ben has done it"


def test_who_read_it_in_the_inbox_may_acknowledge_it_without_a_claim(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    team.ack(sent.id, agent="cleo")
    assert team.take("ann") is None
    with pytest.raises(PostroomError):
        team.ack(sent.id, agent="ben")


def test_what_another_has_cannot_be_taken_by_its_id(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    taken(team, "ben")
    with pytest.raises(StaleClaim, match="another has taken"):
        team.take("ann", id=sent.id)
    with pytest.raises(StaleClaim, match="another has taken"):
        team.ack(sent.id, agent="ann")


def test_it_expires_for_all_at_once(team: LocalRoom, clock: Clock):
    sent = team.send("one:@reviewers", "review this", expires=60)
    with gone_process():
        taken(team, "ben")
    clock.advance(61)
    team.sweep()
    assert team.take("ann") is None
    assert {d.state for d in team.receipts(sent.id).deliveries} == {State.EXPIRED}


def test_withdrawn_it_is_withdrawn_from_all(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    taken(team, "ben")
    team.withdraw(sent.id)
    assert {d.state for d in team.receipts(sent.id).deliveries} == {State.WITHDRAWN}


def test_waiting_for_a_rung_is_waiting_for_one_of_them(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    team.settle(taken(team, "ben"))
    assert any(d.state is State.SEEN for d in team.until(sent.id, "seen", timeout=5))


@pytest.mark.promise("one-of-many")
def test_of_two_who_listen_one_is_shown_it(team: LocalRoom, enter: Enter):
    sent = team.send("one:@reviewers", "review this")
    ann, ben = (enter().listen(agent, timeout=0) for agent in ("ann", "ben"))
    mail = next(ann)
    assert mail.id == sent.id
    assert next(ben, None) is None
    assert next(ann, None) is None  # which says that it has been seen
    assert states(team, sent.id) == {"ann": "seen", "ben": "taken", "cleo": "taken"}


@pytest.mark.promise("one-of-many")
def test_a_listener_that_leaves_it_unseen_releases_it(team: LocalRoom, enter: Enter):
    sent = team.send("one:@reviewers", "review this")
    listening = enter().listen("ann", timeout=0)
    next(listening)
    listening.close()  # type: ignore[attr-defined]
    assert [attempt.cause for attempt in team.receipts(sent.id).attempts] == [Cause.LET_GO]
    assert team.take("ben") is not None
    assert team.take("ann") is None


def test_what_a_listener_read_ahead_may_have_been_taken_meanwhile(team: LocalRoom, enter: Enter):
    for n in range(4):
        team.send("ann", f"own {n}")
    team.send("one:@reviewers", "review this")
    team.send("ann", "last")
    listening = enter().listen("ann", timeout=0)
    shown = [next(listening).body for _ in range(3)]
    taken(team, "ben")
    shown += [mail.body for mail in listening]
    assert shown == ["own 0", "own 1", "own 2", "own 3", "last"]


@pytest.mark.promise("one-of-many")
def test_however_many_want_it_at_once_exactly_one_gets_it(team: LocalRoom, enter: Enter):
    total = 30
    for n in range(total):
        team.send("one:@reviewers", str(n))
    got: dict[str, list[str]] = {agent: [] for agent in REVIEWERS}

    def work(agent: str) -> None:
        room = enter(agent)
        while (mail := room.take()) is not None:
            got[agent].append(mail.body)
            room.ack(mail)
        room.close()

    threads = [threading.Thread(target=work, args=(agent,)) for agent in REVIEWERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(int(body) for bodies in got.values() for body in bodies) == list(range(total))
    assert verify(team).problems == []


@pytest.mark.promise("one-of-many")
def test_what_a_killed_listener_had_is_not_taken_from_who_has_it_now(team: LocalRoom, enter: Enter):
    sent = team.send("one:@reviewers", "review this")
    with gone_process():
        dead = enter()
        listening = dead.listen("ben", timeout=0)
        assert next(listening).id == sent.id
    again = taken(team, "cleo")
    assert next(enter().listen("ben", timeout=0), None) is None
    assert team.take("ann") is None
    team.ack(again)
    assert verify(team).problems == []


@pytest.mark.promise("one-of-many")
@pytest.mark.parametrize("seen", [False, True])
def test_who_leaves_releases_it(team: LocalRoom, seen: bool):
    sent = team.send("one:@reviewers", "review this")
    mail = taken(team, "ben")
    if seen:
        team.settle(mail)
    team.leave("ben")
    assert [one.cause for one in team.receipts(sent.id).attempts] == [None if seen else Cause.LEFT]
    assert taken(team, "ann").body == "review this"


@pytest.mark.promise("one-of-many")
def test_when_the_last_who_had_it_leaves_its_sender_is_told(team: LocalRoom):
    sent = team.send("one:@reviewers", "review this")
    for agent in REVIEWERS:
        team.settle(taken(team, agent))
        assert team.peek("planner") == []
        team.leave(agent)
    [letter] = team.peek("planner")
    assert letter.payload is not None
    assert letter.payload["bounce"]["message"] == sent.id


@pytest.mark.promise("one-of-many")
def test_when_the_program_of_the_last_who_had_seen_it_ends_its_sender_is_told(team: LocalRoom, enter: Enter):
    for agent in ("ann", "cleo"):
        team.leave(agent)
    sent = team.send("one:@reviewers", "review this")
    with gone_process():
        dead = enter()
        dead.settle(taken(dead, "ben"))
    for _ in range(2):
        [letter] = team.peek("planner")  # who looks finds out
        assert letter.payload is not None
        assert letter.payload["bounce"]["message"] == sent.id
    assert states(team, sent.id) == {"ben": "it ended before it acknowledged"}


def test_who_has_done_it_may_end(team: LocalRoom, enter: Enter):
    team.send("one:@reviewers", "review this")
    with gone_process():
        ending = enter()
        mail = taken(ending, "ben")
        ending.settle(mail)
        ending.ack(mail)
    team.sweep()
    assert team.peek("planner") == []
