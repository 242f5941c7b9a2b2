"""The room over HTTP: a real server, real requests."""

import base64
import http.client
import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from postroom import host
from postroom.protocol.operation import BY_NAME
from postroom.room.local import LocalRoom
from postroom.room.sweep import give_back
from postroom.room.token import revoke
from postroom.server import guard, login
from postroom.server.acts import looking, writing
from postroom.server.desk import Call
from postroom.server.principal import Credentials
from tests.conftest import UNLIMITED
from tests.process import until
from tests.served import BOUND, Served, served


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


@pytest.mark.parametrize("name", ["send", "reply"])
def test_each_part_of_a_message_is_an_option_or_known_to_be_none(name: str):
    """Who says nothing else is sent without a look at them."""
    options = {*writing._SAYING, "after", "expires", "class", "attachments"}
    assert not options & writing._PLAIN
    assert {part.name for part in BY_NAME[name].parameters} - options <= writing._PLAIN


def test_what_was_taken_over_http_is_seen_once_it_is_settled(web: Served):
    token = web.token("builder")
    sent = web.room.send("builder", "one")
    mail = web.post("/inbox/take", token=token).json["mail"]
    assert (mail["id"], mail["state"]) == (sent.id, "offered")
    done = web.post("/inbox/settle", {"id": mail["id"], "claim": mail["claim"]}, token=token)
    assert done.json["state"] == "seen"


@pytest.mark.promise("web-identity")
def test_nobody_speaks_as_another(web: Served):
    token = web.token("planner")
    answer = web.post("/messages", {"to": "builder", "body": "x", "sender": "builder"}, token=token)
    assert (answer.status, answer.json["error"]) == (403, "not_your_name")
    assert "over HTTP, `agent` or `sender`" in answer.json["hint"]
    person = web.token("human:ana")
    answer = web.post("/messages", {"to": "builder", "body": "x", "sender": "planner"}, token=person)
    assert (answer.status, answer.json["error"]) == (403, "not_your_name")


def test_an_agents_token_sees_only_what_it_has_a_part_in(web: Served):
    web.room.join("other")
    mine, theirs = web.room.send("builder", "for builder"), web.room.send("other", "for other")
    token = web.token("builder")
    assert [one["id"] for one in web.get("/messages", token=token).json["messages"]] == [mine.id]
    assert web.get(f"/messages/{theirs.id}", token=token).status == 404
    assert web.post(f"/messages/{theirs.id}/withdraw", {}, token=token).status == 404
    assert web.get("/search?q=other", token=token).json["messages"] == []
    lacks = web.get("/stats", token=token).json
    assert lacks["error"] == "lacks_scope"
    assert lacks["hint"].endswith("--scope observe")
    everything = web.get("/messages", token=web.token("human:ana")).json["messages"]
    assert [one["id"] for one in everything] == [theirs.id, mine.id]


def test_a_link_logs_a_browser_in_once(web: Served):
    secret = web.desk.links.make(web.room.known("human:ana").id)
    first = web.get(f"/login?once={secret}", prefix="")
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    again = web.get(f"/login?once={secret}", prefix="")
    assert again.status == 403
    [icon] = re.findall(r'rel="icon" href="([^"]+)"', again.content.decode())
    assert web.get(f"/{icon}", prefix="").status == 200, "else a browser looks for another"
    me = web.get("/me", headers={"Cookie": cookie.partition(";")[0]})
    assert (me.json["agent"], me.json["id"]) == ("human:ana", web.room.known("human:ana").id)
    assert me.json["verified"] == "page"


def test_a_link_is_worth_nothing_after_a_token_of_its_person_was_revoked(web: Served):
    ana = web.room.known("human:ana")
    token = web.token("human:ana")
    asked_for = web.post("/link", token=token).json["path"]
    given_out = f"/login?once={web.desk.links.make(ana.id)}"  # as the machine's own user gets it
    others = f"/login?once={web.desk.links.make(web.room.join('human:bo').id)}"
    proof_of_it = web.desk.identify(Credentials(bearer=token)).token
    revoke(web.room.home, ana)
    overtaken = f"/login?once={web.desk.links.make(ana.id, by=proof_of_it)}"
    for path in (asked_for, given_out, overtaken):
        refused = web.get(path, prefix="")
        assert (refused.status, "set-cookie" in refused.headers) == (403, False)
    assert web.get(others, prefix="").status == 303


def test_where_the_room_is_is_told_to_who_operates_at_this_machine_if_commands_must_be_told(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    def home(**options: Any) -> str | None:
        return web.get("/me", **options).json["home"]

    assert home(headers={"Cookie": web.cookie("human:ana")}) == web.room.home
    assert home(token=web.token("planner")) is None
    assert home(token=web.token("human:ana", "mail", "observe")) is None
    near = [
        guard._is_near({"client": client})
        for client in (("127.0.0.1", 1), ("::1", 1), ("192.0.2.7", 1), None)
    ]
    assert near == [True, True, False, False]
    far = web.desk.identify(Credentials(bearer=web.token("human:ana")))
    assert looking.me(Call(web.desk, BY_NAME["me"], far, web.room, {}))["home"] is None
    monkeypatch.setattr(looking, "default", lambda: web.room.home)
    assert home(headers={"Cookie": web.cookie("human:ana")}) is None


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


def test_who_lists_what_happens_gets_the_beginning_of_each_body_and_no_more(web: Served):
    headers = {"Authorization": f"Bearer {web.token('human:ana')}"}
    link = web.connection()
    link.request("GET", "/api/v1/stream?chars=10", headers=headers)
    stream = link.getresponse()
    _event(stream)
    sent = web.room.send("builder", "x" * 100_000, type="status", payload={"state": "y" * 5_000})
    message = _event(stream)["data"]["payload"]["message"]
    link.close()
    assert (message["id"], message["body"], message["body_chars"]) == (sent.id, "x" * 10, 100_000)
    assert message["payload"] is None
    for wrong in ("-1", "ten", "9999999"):
        assert web.get(f"/stream?chars={wrong}", headers=headers).status == 400


def test_a_stream_ends_before_the_next_event_once_its_browser_was_logged_out(web: Served):
    link = web.connection()
    link.request("GET", "/api/v1/stream", headers={"Cookie": web.cookie("human:ana")})
    stream = link.getresponse()
    _event(stream)
    web.room.send("builder", "before")
    assert _event(stream)["data"]["payload"]["message"]["body"] == "before"
    login.forget(web.room.home)
    web.room.send("builder", "after")
    assert b"after" not in stream.read()  # and it is over
    link.close()


def _event(stream) -> dict:
    found: dict = {}
    while line := stream.readline().decode().rstrip("\n"):
        key, _, value = line.partition(": ")
        found[key] = json.loads(value) if key == "data" else value
    return found


@pytest.mark.promise("web-lease")
def test_what_is_taken_and_not_settled_in_time_is_offered_again_and_an_old_claim_is_refused(open_room, clock):
    room = open_room("planner", clock=clock)
    room.join("planner")
    room.join("builder")
    room.send("builder", "one")
    with served(room) as web:
        token = web.token("builder")
        first = web.post("/inbox/take", token=token).json["mail"]
        assert web.post("/inbox/take", token=token).json["mail"] is None
        clock.advance(15_001)
        again = web.post("/inbox/take", token=token).json["mail"]
        assert again["id"] == first["id"]
        assert (first["shown_before"], again["shown_before"]) == (False, True)
        late = web.post("/inbox/settle", {"id": first["id"], "claim": first["claim"]}, token=token)
        assert (late.status, late.json["error"]) == (409, "stale_claim")
        done = web.post("/inbox/settle", {"id": again["id"], "claim": again["claim"]}, token=token)
        assert done.json["state"] == "seen"


def test_two_programs_with_tokens_of_their_own_do_not_get_the_same_message(web: Served):
    one, other = web.token("builder"), web.token("builder")
    sent = web.room.send("builder", "for one of you")
    assert web.post("/inbox/take", {"id": sent.id}, token=one).json["mail"]["id"] == sent.id
    assert web.post("/inbox/take", token=other).json["mail"] is None
    assert web.post("/inbox/take", {"id": sent.id}, token=other).json["error"] == "stale_claim"


def test_who_waits_for_mail_and_goes_away_has_claimed_nothing(web: Served):
    token = web.token("builder")
    link = web.connection()
    body = json.dumps({"timeout": 30})
    link.request("POST", "/api/v1/inbox/take", body, {"Authorization": f"Bearer {token}"})
    until(lambda: web.room.bell.waiting(web.room.known("builder").id) > 0)
    link.close()
    until(lambda: web.room.bell.waiting(web.room.known("builder").id) == 0)
    sent = web.room.send("builder", "late")
    [mail] = web.room.peek("builder")
    assert (mail.id, mail.shown_before) == (sent.id, False)


def test_a_question_is_answered_over_http_and_waiting_for_it_holds_no_thread(web: Served):
    asker, answerer = web.token("planner"), web.token("builder")
    with ThreadPoolExecutor(20) as pool:
        body = {"to": "builder", "body": "how many?", "timeout": 25, "confirm": True}
        body.pop("confirm")
        asked = [pool.submit(web.post, "/ask", body | {"body": f"{n}?"}, token=asker) for n in range(16)]
        for _ in asked:
            mail = web.post("/inbox/take", {"timeout": 20}, token=answerer).json["mail"]
            answer = web.post(f"/messages/{mail['id']}/reply", {"body": f"re {mail['body']}"}, token=answerer)
            assert answer.status == 200
        assert sorted(one.result().json["body"] for one in asked) == sorted(f"re {n}?" for n in range(16))


def test_a_question_nobody_answers_is_told_as_timed_out(web: Served):
    answer = web.post("/ask", {"to": "builder", "body": "?", "timeout": 0.05}, token=web.token("planner"))
    assert (answer.status, answer.json["error"]) == (408, "timed_out")


def test_a_rung_is_waited_for(web: Served):
    sent = web.room.send("builder", "hi")
    token = web.token("planner")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(web.get, f"/messages/{sent.id}/until?rung=acked&timeout=20", token=token)
        until(lambda: web.room.bell.waiting(web.room.known("planner").id) > 0)
        web.room.ack(sent.id, agent="builder")
        assert waiting.result().json["deliveries"][0]["state"] == "acked"


def test_the_log_of_messages_is_paged_and_filtered(web: Served):
    web.room.join("human:bob")
    for n in range(5):
        web.room.send("builder", f"note {n}")
    web.room.subscribe("news", agent="builder")
    web.room.send("topic:news", "in the topic")
    token = web.token("human:ana")
    first = web.get("/messages?limit=4", token=token).json
    assert [one["body"] for one in first["messages"]] == ["in the topic", "note 4", "note 3", "note 2"]
    rest = web.get(f"/messages?limit=4&before={first['next']}", token=token).json
    assert [one["body"] for one in rest["messages"]] == ["note 1", "note 0"]
    assert rest["next"] is None
    newest = rest["messages"][0]["seq"]
    after = web.get(f"/messages?limit=2&after={newest}", token=token).json
    assert [one["body"] for one in after["messages"]] == ["note 3", "note 2"]
    assert after["next"] == after["messages"][0]["seq"]
    topic = web.get("/messages?topic=news", token=token).json["messages"]
    assert [one["body"] for one in topic] == ["in the topic"]
    assert web.get("/messages?with=human:bob", token=token).json["messages"] == []
    found = web.get("/messages?q=topic", token=token).json["messages"]
    assert found[0]["snippet"]["text"] == "in the topic"
    assert web.get("/messages?project=elsewhere", token=token).json["messages"] == []
    assert web.get("/messages?state=dead", token=token).json["messages"] == []


def test_a_list_may_have_the_beginnings_of_bodies_alone(web: Served):
    web.room.send("builder", "x" * 100_000, sender="planner", payload={"text": "much"})
    token = web.token("human:ana")
    for query in ("chars=10", "chars=10&q=much"):
        [one] = web.get(f"/messages?{query}", token=token).json["messages"]
        assert (one["body"], one["body_chars"], one["payload"]) == ("x" * 10, 100_000, None)


def test_one_messages_timeline_tells_every_step(web: Served):
    sent = web.room.send("builder", "hi")
    web.room.take("builder")
    web.room.ack(sent.id, agent="builder")
    events = web.get(f"/messages/{sent.id}/timeline", token=web.token("planner")).json["events"]
    assert [one["type"] for one in events] == ["message.sent", "delivery.offered", "delivery.acked"]


def test_files_go_with_a_message_and_come_out_as_they_were(web: Served):
    enclosed = [{"name": "a.txt", "content": base64.b64encode(b"text").decode()}]
    body = {"to": "builder", "body": "see", "attachments": enclosed}
    sent = web.post("/messages", body, token=web.token("planner")).json
    told = web.get(f"/messages/{sent['id']}/attachments", token=web.token("builder")).json["attachments"]
    assert [(one["n"], one["name"], one["size"]) for one in told] == [(1, "a.txt", 4)]
    assert web.get(f"/messages/{sent['id']}/attachments/1", token=web.token("builder")).content == b"text"


def test_a_person_stops_and_resumes_an_agent_and_an_agent_does_not(web: Served):
    person, agent = web.token("human:ana"), web.token("planner")
    refused = web.post("/agents/builder/interrupt", {"kind": "pause"}, token=agent)
    assert (refused.status, refused.json["error"]) == (403, "lacks_scope")
    done = web.post("/agents/p%2Fbuilder/interrupt", {"kind": "pause", "reason": "wait"}, token=person).json
    assert (done["paused"], done["by"]) == (True, "human:ana")
    assert web.get("/agents/builder", token=person).json["manners"]["paused"]
    assert web.post("/agents/builder/resume", token=person).json["was_paused"]


def test_who_is_told_to_stop_behind_much_urgent_mail_is_said_to_be(web: Served):
    for n in range(25):
        web.room.send("builder", f"fire {n}", priority="urgent")
    token = web.token("human:ana")

    def is_told() -> list[bool]:
        found = web.get("/agents", token=token).json["agents"]
        return [one["told_to_stop"] for one in found if one["name"] in ("builder", "planner")]

    assert is_told() == [False, False]
    web.post("/agents/builder/interrupt", {"reason": "fire"}, token=token)
    assert is_told() == [True, False]


def test_a_supervisor_steers_its_own_agents(web: Served):
    web.room.join("builder", supervisor="planner")
    done = web.post("/agents/builder/interrupt", {"kind": "pause"}, token=web.token("planner"))
    assert (done.status, done.json["by"]) == (200, "p/planner")


def test_a_gate_is_decided_from_the_page_by_who_was_asked(web: Served):
    gate = web.room.send("human:ana", "?", type="decision_gate", payload={"question": "Deploy?"})
    headers = {"Cookie": web.cookie("human:ana"), "Origin": web.url}
    [told] = web.get("/gates", headers=headers).json["gates"]
    assert (told["message"]["id"], told["mine"]) == (gate.id, True)
    [others] = web.get("/gates", token=web.token("planner", "mail", "observe")).json["gates"]
    assert not others["mine"]
    assert web.get("/gates", token=web.token("builder")).json["gates"] == []
    done = web.post(f"/messages/{gate.id}/decide", {"option": "approve"}, headers=headers)
    assert done.json["message"]["verified"] == "page"
    assert web.room.gate(gate.id).decision is not None


def test_the_requests_to_a_caller_are_its_own_with_the_beginning_of_each_body(web: Served):
    web.room.join("builder.sub")
    own = web.room.send("builder", "Which port is free?", type="request")
    below = web.room.send("builder.sub", "And yours?", type="request")
    web.room.send("planner", "Not for builder?", type="request", sender="builder")
    token = web.token("builder")
    [told] = web.get("/inbox/requests?chars=5", token=token).json["requests"]
    assert (told["id"], told["body"], told["body_chars"]) == (own.id, "Which", 19)
    assert [one["state"] for one in told["deliveries"]] == ["stored"]
    found = web.get("/inbox/requests?agent=builder.sub", token=token).json["requests"]
    assert [one["id"] for one in found] == [below.id]
    assert web.get("/inbox/requests?agent=planner", token=token).status == 403
    web.post(f"/messages/{own.id}/reply", {"body": "8080"}, token=token)
    assert web.get("/inbox/requests", token=token).json["requests"] == []


def test_dead_letters_are_retried_by_a_person(open_room):
    room = open_room("planner", settings=UNLIMITED._replace(max_unproven=1))
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    sent = room.send("builder", "x")
    mail = room.take("builder", handed=False)
    assert mail is not None
    with room.write() as tx:
        give_back(tx, mail, room.settings)
    with served(room) as web:
        person = web.token("human:ana")
        assert [one["id"] for one in web.get("/dead", token=person).json["dead"]] == [sent.id]
        assert web.post(f"/dead/{sent.id}/retry", token=web.token("planner")).json["error"] == "lacks_scope"
        assert web.post(f"/dead/{sent.id}/retry", token=person).json["deliveries"][0]["state"] == "stored"


def test_a_program_at_the_unix_socket_is_believed_and_marked_as_unverified(web: Served):
    headers = {"Postroom-Agent": "planner"}
    answer = at_socket(web, "POST", "/messages", {"to": "builder", "body": "local"}, headers)
    assert answer["deliveries"][0]["state"] == "stored"
    [mail] = web.room.peek("builder")
    assert (mail.sender, mail.message.verified) == ("planner", "unverified")


@pytest.mark.promise("web-identity")
def test_a_program_in_an_agents_session_is_that_agent_at_the_unix_socket(web: Served):
    builder = web.room.known("builder")
    payload = {
        "id": "claude:s1:main", "runtime": "claude", "process": host.identity(), "pane": None,
        "worktree": "/x", "branch": None, "epoch": 0, "details": {},
    }  # fmt: skip
    with web.room.write() as tx:
        tx.append("session.started", builder.id, payload=payload, role="agent")
    me = at_socket(web, "GET", "/me", None, {"Postroom-Agent": "planner"})
    assert (me["agent"], me["scopes"]) == ("p/builder", ["mail"])
    answer = at_socket(web, "POST", "/messages", {"to": "planner", "body": "x", "sender": "planner"}, {})
    assert answer["error"] == "not_your_name"


def at_socket(web: Served, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    link = http.client.HTTPConnection("localhost")
    link.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.sock.settimeout(BOUND)
    link.sock.connect(web.path)
    try:
        link.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
        return json.loads(link.getresponse().read())
    finally:
        link.close()


def test_what_is_not_there_is_answered_with_where_all_that_is_stands(web: Served):
    token = web.token("planner")
    nowhere = web.get("/nope", token=token)
    assert (nowhere.status, nowhere.json["message"]) == (404, "there is no '/api/v1/nope'")
    assert "/api/v1/openapi.json" in nowhere.json["hint"]
    assert web.get("/nope.html", prefix="", token=token).json["hint"] == "See: /"
    wrong = web.post("/messages", {"to": "builder", "boddy": "x"}, token=token).json
    assert (wrong["field"], wrong["hint"]) == ("boddy", "Did you mean body? See: /api/v1/openapi.json")
    assert "limit" in web.get("/messages?zzz=1", token=token).json["hint"]
