"""A room elsewhere: opened by its address, lost and found again, and no more trusted than its token."""

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import postroom
from postroom import errors
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.remote import RemoteRoom
from tests.process import Child, until
from tests.relayed import linked
from tests.served import Served, served


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room) as found:
        yield found


def test_an_address_opens_the_room_that_is_served_there(web: Served, monkeypatch: pytest.MonkeyPatch):
    with postroom.open(web.url, token=web.token("planner")) as room:
        assert isinstance(room, RemoteRoom)
        assert room.send("builder", "hi").message.verified == "token"
    monkeypatch.setenv("POSTROOM_HOME", web.url)
    monkeypatch.setenv("POSTROOM_TOKEN", web.token("builder"))
    with postroom.open() as room:
        assert [mail.body for mail in room.peek()] == ["hi"]
    monkeypatch.setenv("POSTROOM_HOME", f"unix://{web.path}")
    monkeypatch.delenv("POSTROOM_TOKEN")
    with postroom.open(agent="builder", project="p") as room:
        assert [mail.body for mail in room.peek()] == ["hi"]


@pytest.mark.parametrize("address", ["http://", "https://host/path", "http://host?x=1"])
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(errors.PostroomError):
        postroom.open(address, token="x").projects()


@pytest.mark.promise("web-identity")
def test_a_token_speaks_for_its_own_agent_alone(web: Served):
    with postroom.open(web.url, token=web.token("planner")) as room:
        with pytest.raises(errors.NotYourName):
            room.send("builder", "x", sender="builder")
        with pytest.raises(errors.NotYourName):
            room.take("builder")
        with pytest.raises(errors.NotYourName):
            room.leave("builder")
        with pytest.raises(errors.NotYourName):
            room.join("stranger")
        with pytest.raises(errors.LacksScope):
            room.stats()
    with pytest.raises(errors.UnknownToken), postroom.open(web.url, token="pr_no") as room:
        room.peek()


def test_a_server_that_is_not_there_is_told_as_that(web: Served):
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with (
        pytest.raises(errors.Unreachable) as caught,
        postroom.open(f"http://127.0.0.1:{port}", token="x") as room,
    ):
        room.projects()
    assert "not known" not in str(caught.value)
    assert caught.value.hint


def test_a_server_that_starts_anew_is_found_again(room: LocalRoom):
    with served(room) as web:
        elsewhere = postroom.open(f"unix://{web.path}", token=web.token("builder"))
        assert elsewhere.peek() == []
    os.unlink(web.path)
    with served(room):
        room.send("builder", "x")
        assert len(elsewhere.peek()) == 1
        assert elsewhere.send("planner", "also who writes").id
    with pytest.raises(errors.Unreachable) as caught:
        elsewhere.send("planner", "nobody is there")
    assert "not known" not in str(caught.value)
    elsewhere.close()


def test_whether_something_was_done_is_not_known_where_the_answer_does_not_come():
    def hang_up() -> None:
        link, _ = listening.accept()
        with link:
            link.recv(1 << 16)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        ended = pool.submit(hang_up)
        with (
            pytest.raises(errors.Unreachable) as caught,
            postroom.open(f"http://127.0.0.1:{listening.getsockname()[1]}", token="x") as room,
        ):
            room.send("planner", "lost?")
        ended.result(30)
    assert "whether it was done is not known" in str(caught.value)


@pytest.mark.promise("web-lease")
def test_what_was_taken_from_a_server_that_was_killed_is_offered_again_and_nothing_is_lost(
    room: LocalRoom, home: str
):
    sent = [room.send("builder", f"{n}").id for n in range(3)]
    with Child(home, module="tests.served") as child:
        port = child.hear()
        with postroom.open(f"http://127.0.0.1:{port}", token=_token(room)) as elsewhere:
            seen = elsewhere.take()
            assert seen is not None
            elsewhere.settle(seen)
            held = elsewhere.take()
            assert held is not None
            child.kill()
            with pytest.raises(errors.Unreachable):
                elsewhere.settle(held)
    assert _taken_by_builder(room) == [(sent[1], True), (sent[2], False)]
    assert room.receipts(sent[0]).deliveries[0].state is State.SEEN


def _taken_by_builder(room: LocalRoom) -> list[tuple[str, bool]]:
    """All that waits: which it is, and whether it is labelled as shown before."""
    found: list[tuple[str, bool]] = []
    while mail := room.take("builder"):
        found.append((mail.id, mail.shown_before))
        room.settle(mail)
    return found


def _token(room: LocalRoom) -> str:
    from postroom.room.token import issue

    return issue(room, room.known("builder"))


def test_a_listener_that_takes_longer_than_the_lease_has_seen_what_it_was_given(open_room, clock):
    room = open_room("planner", clock=clock)
    room.join("planner")
    room.join("builder")
    first, second = room.send("builder", "1"), room.send("builder", "2")
    with served(room) as web, postroom.open(web.url, token=web.token("builder")) as elsewhere:
        listening = elsewhere.listen(timeout=0.2)
        assert next(listening).id == first.id
        clock.advance(60)
        assert next(listening).id == second.id
        assert room.receipts(first.id).deliveries[0].state is State.SEEN
        assert next(listening, None) is None
        assert room.receipts(second.id).deliveries[0].state is State.SEEN


@pytest.mark.promise("remote-listen")
def test_a_mailbox_that_is_listened_to_from_elsewhere_is_left_alone_by_every_other_door(web: Served):
    web.room.send("builder", "1")
    with postroom.open(web.url, token=web.token("builder")) as elsewhere, linked(web, "builder") as pushed:
        first = pushed.mail()  # it was there before
        listening = elsewhere.listen(timeout=20)
        second = web.room.send("builder", "2")
        assert next(listening).id == second.id
        with pytest.raises(errors.MailboxLeased):
            web.room.take("builder")
        assert web.post("/inbox/take", token=web.token("builder")).json["error"] == "mailbox_leased"
        assert [one for one in pushed.has_heard_all() if one["type"] == "mail"] == []
        pushed.say(op="seen", cursor=first["cursor"])


@pytest.mark.promise("remote-listen")
def test_what_a_listener_had_in_hand_when_its_connection_broke_is_offered_again_labelled(web: Served):
    sent = web.room.send("builder", "x")
    with postroom.open(web.url, token=web.token("builder")) as elsewhere:
        listening: Any = elsewhere.listen(timeout=20)
        assert next(listening).id == sent.id
        listening._stream.close()  # as when its program is killed
        until(lambda: web.desk.held == {})
        mail = web.room.take("builder", timeout=20)
        assert mail is not None
        assert (mail.id, mail.shown_before) == (sent.id, True)


@pytest.mark.promise("remote-listen")
def test_a_listener_is_told_that_its_daemon_was_killed_and_nothing_is_lost(room: LocalRoom, home: str):
    sent = [room.send("builder", f"{n}").id for n in range(3)]
    with Child(home, module="tests.served") as child:
        port = child.hear()
        with postroom.open(f"http://127.0.0.1:{port}", token=_token(room)) as elsewhere:
            listening = elsewhere.listen(timeout=20)
            assert [next(listening).id, next(listening).id] == sent[:2]
            child.kill()
            with pytest.raises(errors.Unreachable):
                next(listening)
    assert _taken_by_builder(room) == [(sent[1], True), (sent[2], False)]
    assert room.receipts(sent[0]).deliveries[0].state is State.SEEN


@pytest.mark.promise("web-identity")
def test_only_who_listens_says_what_was_heard(web: Served):
    sent = web.room.send("builder", "x")
    with postroom.open(web.url, token=web.token("builder")) as elsewhere:
        listening: Any = elsewhere.listen(timeout=20)
        next(listening)
        for op in ("heard", "unlisten"):
            refused = web.post(f"/inbox/{op}", {"listener": listening._id}, token=web.token("planner"))
            assert (refused.status, refused.json["error"]) == (409, "stale_claim")
        assert web.room.receipts(sent.id).deliveries[0].state is State.STORED
        for query, status in (
            ("agent=builder", 403),
            ("agent=no%20name", 400),
            ("no=1", 400),
        ):
            answer = web.get(f"/inbox/listen?{query}", token=web.token("planner"))
            assert (answer.status, "error" in answer.json) == (status, True)
        listening.close()


def test_a_server_that_ends_puts_away_what_its_listeners_had_in_hand(room: LocalRoom):
    sent = room.send("builder", "x")
    with served(room) as web:
        elsewhere = postroom.open(web.url, token=web.token("builder"))
        listening = elsewhere.listen(timeout=20)
        assert next(listening).id == sent.id
    mail = room.take("builder")
    assert mail is not None
    assert mail.shown_before
    with pytest.raises(errors.Unreachable):
        next(listening)
    elsewhere.close()
