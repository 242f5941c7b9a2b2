"""The relay: real WebSockets to a real server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed

from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from tests.process import until
from tests.relayed import Link, linked, linked_locally
from tests.served import Served, served


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    """A served room with `planner`, `builder` and a person, `human:ana`."""
    room.join("human:ana")
    with served(room) as found:
        yield found


def state(web: Served, ref: str) -> str:
    return web.room.receipts(ref).deliveries[0].state.value


@pytest.mark.promise("relay-ladder")
def test_what_is_sent_over_a_socket_is_pushed_as_offered_and_seen_on_the_readers_word(web: Served):
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        sent = planner.ask("send", to="builder", body="hello")["ok"]
        frame = builder.mail()
        mail = frame["mail"]
        assert (mail["id"], mail["body"], mail["sender"], mail["verified"]) == (
            sent["id"], "hello", "planner", "token")  # fmt: skip
        assert (mail["state"], mail["shown_before"], state(web, sent["id"])) == ("offered", False, "offered")
        assert builder.ask("seen", cursor=frame["cursor"])["ok"] == {"seen": 1}
        until(lambda: state(web, sent["id"]) == "seen")
        [attempt] = web.room.receipts(sent["id"]).attempts
        assert (attempt.route, attempt.evidence) == ("websocket", "agent")
        assert attempt.context.startswith("websocket:")


def test_mail_that_came_while_nobody_was_connected_is_pushed_to_who_connects(web: Served):
    sent = [web.room.send("builder", f"{n}").id for n in range(5)]
    with linked(web, "builder") as builder:
        assert [builder.mail()["mail"]["id"] for _ in sent] == sent


@pytest.mark.promise("relay-ladder")
@pytest.mark.parametrize("act", [{"op": "ack"}, {"op": "reply", "body": "yes"}])
def test_an_acknowledgement_or_an_answer_proves_what_was_pushed(web: Served, act: dict[str, str]):
    sent = web.room.send("builder", "?")
    with linked(web, "builder", window=1) as builder:
        later = web.room.send("builder", "next").id
        mail = builder.mail()["mail"]
        assert "ok" in builder.ask(
            act["op"], ref=mail["handle"], **{k: v for k, v in act.items() if k != "op"}
        )
        assert state(web, sent.id) == "acked"
        assert builder.mail()["mail"]["id"] == later  # there is room for it now


@pytest.mark.promise("relay-unproven")
def test_what_was_pushed_and_not_proven_comes_again_to_the_next_connection_labelled(web: Served):
    first, second = (web.room.send("builder", text).id for text in ("one", "two"))
    with linked(web, "builder") as builder:
        frame = builder.mail()
        assert builder.mail()["mail"]["id"] == second
        builder.ask("seen", cursor=frame["cursor"])
    until(lambda: state(web, second) == "stored")
    with linked(web, "builder") as builder:
        again = builder.mail()["mail"]
        assert (again["id"], again["shown_before"], state(web, first)) == (second, True, "seen")


@pytest.mark.promise("relay-resume")
def test_who_comes_back_with_its_cursor_gets_nothing_twice_and_the_rest(web: Served):
    sent = [web.room.send("builder", f"{n}").id for n in range(3)]
    with linked(web, "builder", window=2) as builder:
        builder.mail()
        frame = builder.mail()
    with linked(web, "builder", cursor=frame["cursor"]) as builder:
        mail = builder.mail()["mail"]
        assert (mail["id"], mail["shown_before"]) == (sent[2], False)
        assert [state(web, one) for one in sent] == ["seen", "seen", "offered"]


@pytest.mark.promise("relay-resume")
def test_a_client_that_comes_back_before_its_old_connection_was_missed_takes_its_place(web: Served):
    sent = web.room.send("builder", "one").id
    with linked(web, "builder") as old:
        frame = old.mail()
        with linked(web, "builder", cursor=frame["cursor"]) as new:
            with pytest.raises(ConnectionClosed) as closed:
                old.hear("nothing")
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4001
            assert not [one for one in new.has_heard_all() if one["type"] == "mail"]
            assert state(web, sent) == "seen"


@pytest.mark.promise("relay-pressure")
def test_a_reader_is_pushed_no_more_than_its_window_and_nothing_is_dropped(web: Served):
    sent = [web.room.send("builder", f"{n}").id for n in range(10)]
    with linked(web, "builder", window=3) as builder:
        frames = [builder.mail() for _ in range(3)]
        builder.has_heard_all()
        assert not [one for one in builder.kept if one["type"] == "mail"]
        assert [state(web, one) for one in sent] == ["offered"] * 3 + ["stored"] * 7
        while len(frames) < len(sent):
            builder.say(op="seen", cursor=frames[-1]["cursor"])
            frames.append(builder.mail())
        assert [frame["mail"]["id"] for frame in frames] == sent


@pytest.mark.promise("relay-pressure")
def test_a_reader_that_reads_nothing_holds_nobody_up(web: Served):
    with linked(web, "builder") as slow, linked(web, "planner") as planner:
        web.room.join("other")
        with linked(web, "other") as other:
            for n in range(150):
                planner.ask("send", to="builder", body="x" * 20_000)
                planner.ask("send", to="other", body=f"{n}")
                frame = other.mail()
                assert frame["mail"]["body"] == f"{n}"
                other.say(op="seen", cursor=frame["cursor"])
        waiting = web.room.peek("builder", limit=500)
        assert len(waiting) == 50  # the window is 100
        seen = [slow.mail() for _ in range(100)]
        slow.say(op="seen", cursor=seen[-1]["cursor"])
        assert len({slow.mail()["mail"]["id"] for _ in range(50)}) == 50


def test_who_is_connected_is_told_to_the_others_of_the_project(web: Served):
    def told(link: Link) -> dict:
        return link.hear("presence")

    with linked(web, "planner") as planner:
        assert told(planner) == {"type": "presence", "here": ["p/planner"], "gone": [], "whole": True}
        with linked(web, "builder") as builder:
            assert told(planner)["here"] == ["p/builder"]
            assert told(builder)["here"] == ["p/builder", "p/planner"]
            [status] = [one for one in web.room.agents() if one.agent.name == "builder"]
            assert status.reach == "live"
        assert told(planner)["gone"] == ["p/builder"]


@pytest.mark.promise("relay-doors")
def test_a_sender_does_not_get_its_own_message_back(web: Served):
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        planner.ask("send", to="@all", body="to all")
        assert builder.mail()["mail"]["body"] == "to all"
        assert not [one for one in planner.has_heard_all() if one["type"] == "mail"]


def test_a_sender_is_told_what_becomes_of_its_messages_if_it_asks_for_that(web: Served):
    with linked(web, "planner", receipts=1) as planner, linked(web, "builder") as builder:
        planner.hear("presence")
        sent = planner.ask("send", to="builder", body="x")["ok"]
        builder.ask("ack", ref=builder.mail()["mail"]["id"])
        told: list[tuple[str, str]] = []
        while (sent["id"], "acked") not in told:
            told += [(one["message"], one["state"]) for one in planner.hear("receipt")["deliveries"]]


def test_two_connections_of_one_agent_share_its_mail(web: Served):
    with linked(web, "builder", window=1) as one, linked(web, "builder", window=1) as other:
        sent = {web.room.send("builder", f"{n}").id for n in range(2)}
        assert {one.mail()["mail"]["id"], other.mail()["mail"]["id"]} == sent


def test_everything_a_room_can_do_can_be_asked_for_over_a_socket(web: Served):
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        assert planner.ask("me")["ok"]["agent"] == "p/planner"
        assert {one["name"] for one in planner.ask("agents", project="p")["ok"]["agents"]} >= {"builder"}
        planner.say(id="q", op="ask", to="builder", body="how many?", timeout=20)
        builder.ask("reply", ref=builder.mail()["mail"]["id"], body="two")
        while (frame := planner.raw()).get("id") != "q":
            pass
        assert frame["ok"]["body"] == "two"


def test_an_error_has_its_code_and_a_hint_and_the_connection_goes_on(web: Served):
    with linked(web, "planner") as planner:
        wrong = planner.ask("send", to="nobody", body="x")
        assert wrong["error"] == "unknown_recipient"
        assert wrong["hint"]
        assert planner.ask("send", to="builder", body="x", sender="builder")["error"] == "not_your_name"
        assert planner.ask("stats")["error"] == "lacks_scope"
        assert planner.ask("fly")["error"] == "usage"
        assert planner.ask("ping")["ok"] == {}


def test_one_who_names_no_agent_looks_on_and_goes_on_where_it_was(web: Served):
    with linked(web, "human:ana", path="/ws/projects/p") as ana:
        assert ana.raw()["agent"] is None
        web.room.send("builder", "one")
        frame = ana.hear("message")
        assert frame["message"]["body"] == "one"
        ana.say(op="send", to="builder", body="x")
        assert ana.raw()["error"] == "usage"
    web.room.send("builder", "two")
    with linked(web, "human:ana", path=f"/ws/projects/p?cursor={frame['cursor']}") as ana:
        assert ana.hear("message")["message"]["body"] == "two"
    assert len(web.room.peek("builder")) == 2  # looking marks nothing


def test_a_program_at_the_unix_socket_says_who_it_is(web: Served):
    with linked_locally(web, "/ws/projects/p?agent=planner") as planner:
        planner.ask("send", to="builder", body="local")
    [mail] = web.room.peek("builder")
    assert (mail.sender, mail.message.verified) == ("planner", "unverified")


def test_mail_for_who_listens_by_itself_is_left_to_it(web: Served):
    with Listening(web.room, "builder", None) as listening, linked(web, "builder") as builder:
        web.room.send("builder", "for the listener")
        assert next(listening).body == "for the listener"
        assert not [one for one in builder.has_heard_all() if one["type"] == "mail"]


@pytest.mark.promise("relay-ladder")
def test_what_clients_had_seen_is_noted_before_the_server_ends(room: LocalRoom):
    refs = [room.send("builder", str(n)).id for n in range(250)]
    with served(room) as web:
        builder = linked(web, "builder", window=1000)
        frames = [builder.mail() for _ in refs]
        assert builder.ask("seen", cursor=frames[-1]["cursor"])["ok"] == {"seen": len(refs)}
    builder.close()
    assert {room.receipts(ref).deliveries[0].state.value for ref in refs} == {"seen"}


@pytest.mark.promise("relay-pressure")
def test_a_window_that_was_full_is_filled_again_though_nothing_new_comes(web: Served):
    for n in range(10):
        web.room.send("builder", str(n))
    with linked(web, "builder", window=2) as builder:
        for n in range(10):
            frame = builder.mail()
            assert frame["mail"]["body"] == str(n)
            builder.say(op="seen", cursor=frame["cursor"])
        assert web.room.peek("builder") == []


@pytest.mark.promise("relay-ladder")
def test_a_message_to_many_is_claimed_for_all_who_are_connected_as_it_is_stored(web: Served):
    names = [f"a{n}" for n in range(20)]
    for name in names:
        web.room.join(name)
    web.room.send("a0", "before")  # so that more than the new one lies there
    links = [linked(web, name) for name in names]
    try:
        assert links[0].mail()["mail"]["body"] == "before"
        for link in links:
            link.hear("hello")  # which is written once it gets its mail
        sent = web.room.send("@all", "to all", confirm=True).id
        assert [link.mail()["mail"]["body"] for link in links] == ["to all"] * len(links)
        of_us = [one for one in web.room.receipts(sent).deliveries if one.recipient in names]
        assert {(one.state.value, one.offered_at) for one in of_us} == {("offered", of_us[0].stored_at)}
    finally:
        for link in links:
            link.close()


@pytest.mark.promise("relay-doors")
def test_twenty_who_write_a_hundred_messages_each_all_get_them_once(web: Served):
    """In a ring, all at once; each says of what it gets that it has seen it."""
    names = [f"a{n}" for n in range(20)]
    bodies = {name: [f"{name}, {n}" for n in range(100)] for name in names}
    for name in names:
        web.room.join(name)
    with ExitStack() as stack:
        links = {name: stack.enter_context(linked(web, name)) for name in names}

        def converse(name: str, to: str, sender: str) -> list[str]:
            link, got, cursor = links[name], list[str](), ""
            for body in bodies[name]:
                link.say(op="send", to=to, body=body)
            while len(got) < len(bodies[sender]):
                frame = link.mail()
                cursor = frame["cursor"]
                got.append(frame["mail"]["body"])
                link.say(op="seen", cursor=cursor)
            link.ask("seen", cursor=cursor)
            return got + [one["mail"]["body"] for one in link.has_heard_all() if one["type"] == "mail"]

        with ThreadPoolExecutor(len(names)) as pool:
            after, before = names[1:] + names[:1], names[-1:] + names[:-1]
            heard = dict(zip(names, pool.map(converse, names, after, before), strict=True))
    assert heard == {name: bodies[sender] for name, sender in zip(names, before, strict=True)}
    assert [name for name in names if web.room.peek(name)] == []
    found = [one for name in names for message, _ in web.room.sent(name, limit=200) for one in
             web.room.receipts(message.id).deliveries]  # fmt: skip
    assert ([one.state.value for one in found], {one.attempts for one in found}) == (["seen"] * 2000, {1})
