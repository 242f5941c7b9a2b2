"""The room over HTTP: a real server, real requests."""

import json
from collections.abc import Iterator

import pytest

from postroom.room.local import LocalRoom
from tests.served import Served, served


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    """A served room with `planner`, `builder` and a person, `human:ana`."""
    room.join("human:ana")
    with served(room) as found:
        yield found


def test_a_message_sent_over_http_is_in_the_recipients_mailbox_with_how_its_sender_was_verified(web: Served):
    answer = web.post("/messages", {"to": "builder", "body": "hello"}, token=web.token("planner"))
    assert answer.status == 200
    assert answer.json["deliveries"][0]["state"] == "stored"
    [mail] = web.room.peek("builder")
    assert (mail.body, mail.sender, mail.message.verified) == ("hello", "planner", "token")


def test_what_was_taken_over_http_is_seen_once_it_is_settled(web: Served):
    token = web.token("builder")
    sent = web.room.send("builder", "one")
    mail = web.post("/inbox/take", token=token).json["mail"]
    assert (mail["id"], mail["state"]) == (sent.id, "offered")
    done = web.post("/inbox/settle", {"id": mail["id"], "claim": mail["claim"]}, token=token)
    assert done.json["state"] == "seen"


def test_nobody_speaks_as_another(web: Served):
    token = web.token("planner")
    answer = web.post("/messages", {"to": "builder", "body": "x", "sender": "builder"}, token=token)
    assert (answer.status, answer.json["error"]) == (403, "not_your_name")
    person = web.token("human:ana")
    answer = web.post("/messages", {"to": "builder", "body": "x", "sender": "planner"}, token=person)
    assert (answer.status, answer.json["error"]) == (403, "not_your_name")


def test_an_agents_token_sees_only_what_it_has_a_part_in(web: Served):
    web.room.join("other")
    mine, theirs = web.room.send("builder", "for builder"), web.room.send("other", "for other")
    token = web.token("builder")
    assert [one["id"] for one in web.get("/messages", token=token).json["messages"]] == [mine.id]
    assert web.get(f"/messages/{theirs.id}", token=token).status == 404
    assert web.get("/search?q=other", token=token).json["messages"] == []
    assert web.get("/stats", token=token).json["error"] == "lacks_scope"
    everything = web.get("/messages", token=web.token("human:ana")).json["messages"]
    assert [one["id"] for one in everything] == [theirs.id, mine.id]


def test_a_link_logs_a_browser_in_once(web: Served):
    secret = web.desk.links.make(web.room.known("human:ana").id)
    first = web.get(f"/login?once={secret}", prefix="")
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert web.get(f"/login?once={secret}", prefix="").status == 403
    me = web.get("/me", headers={"Cookie": cookie.partition(";")[0]})
    assert me.json["agent"] == "human:ana"
    assert me.json["verified"] == "page"


def test_events_are_streamed_as_they_happen_and_again_from_the_last_one_that_was_heard(web: Served):
    token = web.token("human:ana")
    link = web.connection()
    link.request("GET", "/api/v1/stream", headers={"Authorization": f"Bearer {token}"})
    stream = link.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    hello = _event(stream)
    assert hello["event"] == "hello"
    sent = web.room.send("builder", "live")
    heard = _event(stream)
    link.close()
    assert (heard["event"], heard["data"]["payload"]["message"]["id"]) == ("message.sent", sent.id)

    web.room.take("builder")
    link = web.connection()
    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": heard["id"]}
    link.request("GET", "/api/v1/stream", headers=headers)
    stream = link.getresponse()
    _event(stream)
    again = _event(stream)
    link.close()
    assert again["event"] == "delivery.offered"
    assert again["data"]["delivery"]["state"] == "offered"
    assert "nonce" not in again["data"]["payload"]


def _event(stream) -> dict:
    found: dict = {}
    while line := stream.readline().decode().rstrip("\n"):
        key, _, value = line.partition(": ")
        found[key] = json.loads(value) if key == "data" else value
    return found
