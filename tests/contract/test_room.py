"""What a room promises, wherever it lives: in this process, over a Unix socket, over HTTP, over a WebSocket.

Another door is one more entry in `DOORS`. What is pushed, by a WebSocket or as server-sent events, has more
promises of its own: `test_following.py` for events, and `test_relay.py` for mail.
"""

import os
import re
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import pytest

from postroom import errors
from postroom.model.ladder import Evidence, Priority, State
from postroom.model.message import Event, Mail, first_delivery
from postroom.protocol import unwire
from postroom.room.contract import Room
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.remote import RemoteRoom
from tests.conftest import UNLIMITED
from tests.process import until
from tests.relayed import Calls, linked
from tests.served import Served, served

Door = Callable[[Served, str], Room]


def _local(web: Served, name: str) -> Room:
    return cast("Room", LocalRoom(web.room.home, UNLIMITED, agent=name, project="p"))  # its search says more


def _unix(web: Served, name: str) -> Room:
    return RemoteRoom(f"unix://{web.path}", agent=name, project="p")


def _token(web: Served, name: str) -> str:
    return web.token(name, "mail", "observe", *(["operate"] if name.startswith("human:") else []))


def _http(web: Served, name: str) -> RemoteRoom:
    return RemoteRoom(web.url, token=_token(web, name), project="p")


class Connected(RemoteRoom):
    """All operations as calls over one WebSocket; who listens has mail pushed to it by another."""

    def __init__(self, web: Served, name: str, token: str) -> None:
        super().__init__(web.url, token=token, project="p")
        self._carriage = Calls(web, name, token)
        self._push = partial(linked, web, name, headers={"Authorization": f"Bearer {token}"}, window=1)

    def listen(self, agent: str | None = None, *, timeout: float | None = None) -> Iterator[Mail]:
        with self._push() as link:
            while (frame := link.pushed(timeout)) is not None:
                said, message = frame["mail"], unwire.message(frame["mail"])
                delivery = first_delivery(message, "", said["recipient"])
                yield Mail(message, delivery._replace(shown_before=said["shown_before"]))
                assert "ok" in link.ask("seen", cursor=frame["cursor"])


def _websocket(web: Served, name: str) -> Room:
    return Connected(web, name, _token(web, name))


DOORS: dict[str, Door] = {"local": _local, "unix": _unix, "http": _http, "websocket": _websocket}
# Two connections of one agent share its mail, and none of them holds it: that is in `test_relay.py`.
HOLDING = [name for name in DOORS if name != "websocket"]
# Over a WebSocket one looks on, and is told of messages, not of events: that is in `test_following.py`.
FOLLOWING = HOLDING


@pytest.fixture
def web(home: str) -> Iterator[Served]:
    room = LocalRoom(home, UNLIMITED, project="p")
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    with served(room) as found:
        yield found
    room.close()


@pytest.fixture(params=DOORS)
def enter(request: pytest.FixtureRequest, web: Served) -> Iterator[Callable[[str], Room]]:
    """Opens the room as somebody, by one door."""
    opened: list[Room] = []

    def open_one(name: str) -> Room:
        opened.append(DOORS[request.param](web, name))
        return opened[-1]

    yield open_one
    for room in opened:
        room.close()


@pytest.fixture
def planner(enter: Callable[[str], Room]) -> Room:
    return enter("planner")


@pytest.fixture
def builder(enter: Callable[[str], Room]) -> Room:
    return enter("builder")


def test_sending_says_what_is_true_now(planner: Room, builder: Room):
    sent = planner.send(
        "builder", "hello", subject="s", priority="high", metadata={"a": 1}, requires_ack=True
    )
    assert [d.state for d in sent.deliveries] == [State.STORED]
    assert sent.reach == ["stored"]
    [mail] = builder.peek()
    assert mail.message == planner.message(sent.id) == sent.message
    assert (mail.body, mail.subject, mail.message.metadata) == ("hello", "s", {"a": 1})
    assert (mail.message.priority, mail.message.requires_ack) == (Priority.HIGH, True)


def test_taking_offers_and_settling_proves_that_it_was_seen(planner: Room, builder: Room):
    sent = planner.send("builder", "one")
    mail = builder.take()
    assert mail is not None
    assert (mail.id, mail.delivery.state, mail.shown_before) == (sent.id, State.OFFERED, False)
    assert builder.take() is None
    seen = builder.settle(mail)
    assert (seen.state, seen.evidence) == (State.SEEN, Evidence.AGENT)
    assert builder.settle(mail).state is State.SEEN
    [told] = planner.receipts(sent.id).deliveries
    assert told.state is State.SEEN


def test_a_message_can_be_taken_by_its_id(planner: Room, builder: Room):
    planner.send("builder", "first")
    second = planner.send("builder", "second")
    mail = builder.take(id=second.message.handle)
    assert mail is not None
    assert mail.body == "second"
    with pytest.raises(errors.UnknownMessage):
        builder.take(id="0123456789abcdef"[:8])


def test_who_waits_gets_what_comes(planner: Room, builder: Room):
    with ThreadPoolExecutor(2) as pool:
        taking = pool.submit(builder.take, timeout=20)
        sent = planner.send("builder", "late")
        mail = taking.result(30)
        assert mail is not None
        assert mail.id == sent.id
    assert builder.take(timeout=0.05) is None
    assert builder.wait(timeout=0.05) == []
    again = planner.send("builder", "more")
    assert [one.id for one in builder.wait(timeout=20)] == [again.id]


def test_acknowledging_and_refusing_are_told_to_the_sender(planner: Room, builder: Room):
    one, other = planner.send("builder", "one"), planner.send("builder", "other")
    assert builder.ack(one.id).state is State.ACKED
    assert builder.nack(other.id, "not mine").state is State.BOUNCED
    assert planner.until(one.id, "acked", timeout=20)[0].state is State.ACKED
    [bounce] = planner.peek()
    assert (bounce.payload or {})["bounce"]["reason"] == "not mine"


def test_a_reply_is_in_the_thread_and_acknowledges(planner: Room, builder: Room):
    sent = planner.send("builder", "question")
    mail = builder.take()
    assert mail is not None
    answer = builder.reply(mail, "answer", payload={"n": 1})
    assert answer.message.reply_to == sent.id
    assert planner.receipts(sent.id).deliveries[0].state is State.ACKED
    assert [one.body for one in planner.thread(sent.id)] == ["question", "answer"]
    [thread] = planner.threads()
    assert (thread.messages, thread.latest.body, thread.unread) == (2, "answer", 1)


def test_asking_gives_the_answer(planner: Room, builder: Room):
    def answer() -> None:
        mail = builder.take(timeout=20)
        assert mail is not None
        builder.reply(mail, f"re: {mail.body}")

    thread = threading.Thread(target=answer)
    thread.start()
    found = planner.ask("builder", "how many?", timeout=20)
    thread.join()
    assert found.body == "re: how many?"
    assert planner.peek() == []
    with pytest.raises(errors.TimedOut) as caught:
        planner.ask("builder", "again?", timeout=0.05)
    assert caught.value.facts["message_ref"]


def test_what_nobody_has_seen_can_be_withdrawn_by_its_sender(planner: Room, builder: Room):
    sent = planner.send("builder", "no")
    with pytest.raises(errors.IllegalMove):
        builder.withdraw(sent.id)
    assert [d.state for d in planner.withdraw(sent.id)] == [State.WITHDRAWN]
    assert builder.peek() == []


def test_a_key_makes_one_message_of_two(planner: Room):
    first = planner.send("builder", "x", key="k")
    again = planner.send("builder", "x", key="k")
    assert (again.duplicate, again.id) == (True, first.id)
    with pytest.raises(errors.KeyConflict):
        planner.send("builder", "y", key="k")


def test_mail_for_later_is_held_and_what_expires_is_not_shown(planner: Room, builder: Room):
    later = planner.send("builder", "later", after=datetime.now(UTC) + timedelta(hours=1))
    assert later.deliveries[0].held
    assert builder.peek() == []
    assert later.message.not_before is not None
    with pytest.raises(errors.UnknownMessage):
        builder.take(id=later.id)


def test_what_was_sent_is_listed_with_what_became_of_it(planner: Room, builder: Room):
    for n in range(3):
        planner.send("builder", f"{n}")
    builder.ack(planner.sent()[0][0].id)
    found = planner.sent(limit=2)
    assert [(message.body, d[0].state) for message, d in found] == [("2", State.ACKED), ("1", State.STORED)]


def test_words_are_found(planner: Room):
    planner.send("builder", "the parser is broken")
    planner.send("builder", "the lexer is fine")
    [hit] = planner.search("parser")
    assert (hit.message.body, hit.snippet.marks) == ("the parser is broken", [(4, 10)])
    assert len(planner.search("the", sender="planner", limit=1)) == 1
    assert planner.search("the", since=2**42) == []
    with pytest.raises(errors.InvalidQuery):
        planner.search("...")


def test_files_come_out_as_they_were(planner: Room, builder: Room, tmp_path: os.PathLike[str]):
    path = os.path.join(tmp_path, "report.txt")
    with open(path, "wb") as file:
        file.write(b"a report")
    sent = planner.send("builder", "see", attachments=[path, ("data.bin", b"\0\1")])
    found = builder.attachments(sent.id)
    assert [(one.name, one.size) for one in found] == [("report.txt", 8), ("data.bin", 2)]
    with open(found[1].path, "rb") as file:
        assert file.read() == b"\0\1"


def test_a_large_body_is_in_a_file(planner: Room, builder: Room):
    planner.send("builder", "x" * 20_000)
    [mail] = builder.peek()
    path = builder.spill(mail)
    assert path is not None
    with open(path, encoding="utf-8") as file:
        assert "x" * 20_000 in file.read()
    assert builder.spill(mail._replace(message=mail.message._replace(body="small"))) is None


def test_several_are_taken_as_one_text_and_settled_together(planner: Room, builder: Room):
    for n in range(3):
        planner.send("builder", f"body {n}")
    bundle = builder.take_bundle()
    assert bundle is not None
    assert all(f"body {n}" in bundle.frame.text for n in range(3))
    builder.settle_all(bundle.mails, shown=bundle.frame.lengths)
    assert {d[0].state for _, d in planner.sent()} == {State.SEEN}
    assert builder.take_bundle() is None


def test_a_text_of_several_names_files_that_can_be_read_here(planner: Room, builder: Room):
    planner.send("builder", "y" * 20_000, attachments=[("report.txt", b"a report")])
    bundle = builder.take_bundle()
    assert bundle is not None
    [attached] = re.findall(r"attached: .* (/\S+)", bundle.frame.text)
    [whole] = re.findall(r"The whole: (/\S+)", bundle.frame.text)
    for path, content in ((attached, b"a report"), (whole, b"y" * 20_000)):
        with open(path, "rb") as file:
            assert file.read().strip() == content


def test_a_frame_shows_messages_and_marks_nothing(planner: Room, builder: Room):
    planner.send("builder", "look")
    frame = builder.frame(builder.peek())
    assert "look" in frame.text
    assert len(builder.peek()) == 1


def test_a_listener_has_seen_a_message_when_it_asks_for_the_next(planner: Room, builder: Room):
    first, second = planner.send("builder", "1"), planner.send("builder", "2")
    listening = builder.listen(timeout=0.2)
    assert next(listening).id == first.id
    assert planner.receipts(first.id).deliveries[0].state is not State.SEEN
    assert next(listening).id == second.id
    assert planner.receipts(first.id).deliveries[0].state is State.SEEN
    assert next(listening, None) is None
    assert planner.receipts(second.id).deliveries[0].state is State.SEEN


@pytest.mark.parametrize("enter", HOLDING, indirect=True)
def test_a_listener_has_its_mailbox_to_itself_until_it_goes(
    planner: Room, builder: Room, enter: Callable[[str], Room]
):
    first, other = planner.send("builder", "1"), enter("builder")
    listening = cast("Listening", builder.listen(timeout=20))
    assert next(listening).id == first.id
    with pytest.raises(errors.MailboxLeased):
        other.take()
    with pytest.raises(errors.MailboxLeased):
        next(other.listen(timeout=0))
    second = planner.send("builder", "2")
    assert next(listening).id == second.id
    listening.close()
    mail = other.take()
    assert mail is not None
    assert (mail.id, mail.shown_before) == (second.id, True)
    assert planner.receipts(first.id).deliveries[0].state is State.SEEN
    assert list(listening) == []


def test_what_a_listener_answers_is_answered(planner: Room, builder: Room):
    sent = [planner.send("builder", f"{n}", type="request") for n in range(3)]
    for mail in builder.listen(timeout=0.2):
        builder.reply(mail, f"re {mail.body}")
    assert [planner.receipts(one.id).deliveries[0].state for one in sent] == [State.ACKED] * 3
    assert sorted(mail.body for mail in planner.peek()) == ["re 0", "re 1", "re 2"]


def test_events_are_told_in_order(planner: Room, builder: Room):
    sent = planner.send("builder", "x")
    builder.ack(sent.id)
    known = list(planner.events())
    assert [event.type for event in known][-2:] == ["message.sent", "delivery.acked"]
    assert known[-2].message == sent.message
    assert [one.type for one in planner.events(agent="builder")][-1] == "delivery.acked"


@pytest.mark.parametrize("enter", FOLLOWING, indirect=True)
def test_events_are_told_as_they_happen(planner: Room, builder: Room):
    sent = planner.send("builder", "x")
    builder.ack(sent.id)
    known = list(planner.events())
    following = cast("Generator[Event]", planner.events(follow=True, after=str(known[-2].seq)))
    assert next(following).type == "delivery.acked"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, following)
        again = planner.send("builder", "y")
        event = waiting.result(30)
    following.close()
    assert (event.type, event.message and event.message.id) == ("message.sent", again.id)
    assert [one.type for one in planner.events(agent="builder")][-1] == "message.sent"


def test_everybody_is_listed_with_what_waits(planner: Room):
    planner.send("builder", "x")
    found = {status.agent.address: status for status in planner.agents()}
    assert set(found) == {"p/planner", "p/builder", "human:ana"}
    assert (found["p/builder"].waiting, found["p/builder"].reach) == (1, "stored")
    assert [project.name for project in planner.projects()] == ["p"]


def test_an_agent_gives_addresses_to_its_children_and_is_renamed(planner: Room, builder: Room):
    child = builder.join("builder.test", role="tester", capabilities=("tests",), description="runs tests")
    assert (child.role, child.capabilities, child.description) == ("tester", ["tests"], "runs tests")
    assert [one.address for one in planner.groups()["tester"]] == ["p/builder.test"]
    assert builder.rename("maker", agent="builder.test").name == "maker"
    assert builder.rename("smith").address == "p/smith"
    with pytest.raises(errors.UnknownRecipient):
        planner.send("builder", "x")


def test_who_leaves_keeps_its_address(planner: Room, builder: Room):
    assert builder.leave().left_at is not None
    assert planner.send("builder", "x").reach == ["left"]


def test_who_is_idle_says_so_to_who_asked(planner: Room, builder: Room):
    sent = planner.send("builder", "?", type="request")
    mail = builder.take()
    assert mail is not None
    builder.settle(mail)
    assert [one.id for one in builder.idle()] == [sent.id]
    assert builder.idle() == []


def test_somebody_is_left_alone_who_wants_to_be(planner: Room, builder: Room):
    assert builder.manners(mute=3600.0).muted is not None
    assert planner.send("builder", "x").deliveries[0].reason == "muted"
    [(reason, count, _)] = builder.held()
    assert (reason, count) == ("muted", 1)
    assert builder.manners(mute=False, hours="22:00-07:00", zone="UTC").hours == (1320, 420)
    assert builder.manners().zone == "UTC"


def test_topics_reach_who_follows(planner: Room, builder: Room):
    assert builder.subscribe("news")
    assert not builder.subscribe("news")
    planner.send("topic:news", "extra")
    assert [one.body for one in builder.topic_history("news")] == ["extra"]
    assert [one.address for one in planner.subscribers("news")] == ["p/builder"]
    [topic] = planner.topics()
    assert (topic.name, topic.subscribers, topic.messages) == ("news", 1, 1)
    assert builder.unsubscribe("news")
    with pytest.raises(errors.UnknownRecipient):
        planner.send("topic:news", "nobody")


def test_a_gate_is_decided_once_by_who_was_asked(planner: Room, enter: Callable[[str], Room]):
    ana = enter("human:ana")
    gate = planner.send("human:ana", "?", type="decision_gate", payload={"question": "Deploy?"})
    assert [(one.message.id, one.mine) for one in ana.gates()] == [(gate.id, True)]
    assert [one.mine for one in (ana.gate(gate.id), planner.gate(gate.id))] == [True, False]
    with pytest.raises(errors.NotAsked):
        planner.decide(gate.id, "approve")
    answer = ana.decide(gate.id, "approve", note="go")
    assert answer.message.body == "approve: go"
    decision = planner.gate(gate.id).decision
    assert decision is not None
    assert (decision.option, decision.note, decision.by) == ("approve", "go", "human:ana")
    with pytest.raises(errors.AlreadyDecided):
        ana.decide(gate.id, "deny")


def test_a_message_is_passed_on(planner: Room, builder: Room, enter: Callable[[str], Room]):
    sent = planner.send("builder", "the original")
    forwarded = builder.forward(sent.id, "human:ana", "please look")
    assert "the original" in forwarded.message.body
    assert enter("human:ana").peek()[0].id == forwarded.id


def test_statistics_count_what_was_sent(planner: Room, builder: Room):
    builder.ack(planner.send("builder", "x").id)
    found = planner.stats()
    assert found.messages == 1
    [pair] = found.pairs
    assert (pair.sender, pair.recipient, pair.acked) == ("p/planner", "p/builder", 1)
    assert pair.ack is not None
    assert planner.stats(since=2**42).messages == 0


def test_who_may_write_to_whom_is_told(planner: Room):
    assert planner.may_write("planner", "builder") == ["p/builder"]


@pytest.mark.parametrize(
    ("wrong", "to", "options"),
    [
        (errors.UnknownRecipient, "nobody", {}),
        (errors.InvalidAddress, "not an address", {}),
        (errors.InvalidPayload, "builder", {"type": "dispatch", "payload": {"no": 1}}),
        (errors.UnknownType, "builder", {"type": "no-such-type"}),
        (errors.InvalidValue, "builder", {"priority": "soon"}),
        (errors.UnknownMessage, "builder", {"thread": "00000000"}),
        (errors.InvalidAttachment, "builder", {"attachments": ["/no/such/file"]}),
    ],
)
def test_what_cannot_be_sent_is_the_same_error_by_every_door(
    planner: Room, wrong: type[errors.PostroomError], to: str, options: dict
):
    with pytest.raises(wrong) as caught:
        planner.send(to, "x", **options)
    assert str(caught.value)
    assert planner.sent() == []


def test_a_room_can_be_used_by_several_threads(planner: Room, builder: Room):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: planner.send("builder", f"{n}"), range(40)))
    taken: list[str] = []
    while mail := builder.take():
        taken.append(builder.settle(mail) and mail.body)
    assert sorted(taken, key=int) == [f"{n}" for n in range(40)]


def test_until_waits_for_a_rung_that_comes(planner: Room, builder: Room, web: Served):
    sent = planner.send("builder", "x")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(planner.until, sent.id, "seen", timeout=20)
        until(lambda: web.room.bell.waiting(web.room.known("planner").id) > 0)
        mail = builder.take()
        assert mail is not None
        builder.settle(mail)
        assert waiting.result(30)[0].state is State.SEEN
    assert planner.until(sent.id, "acked", timeout=0.05)[0].state is State.SEEN
