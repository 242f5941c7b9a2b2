"""Clients that mean no good, or make mistakes: each gets a refusal, and none of them anything else."""

import json
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from postroom.room.local import LocalRoom
from postroom.server import haste, login
from postroom.server.guard import LARGEST
from postroom.server.principal import Credentials
from postroom.server.rate import Rates
from tests.process import until
from tests.served import BOUND, Served, served

pytestmark = pytest.mark.promise("web-refuses")


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("human:ana")
    with served(room) as found:
        yield found


def said(web: Served) -> int:
    """How many messages there are."""
    return len(web.room.sent("planner")) + len(web.room.sent("human:ana"))


MESSAGE = {"to": "builder", "body": "x"}


def test_who_brings_nothing_is_told_how_to_log_in(web: Served):
    answer = web.get("/messages")
    assert (answer.status, answer.json["error"]) == (401, "not_logged_in")
    assert "postroom dashboard" in answer.json["hint"]
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("token", ["pr_" + "0" * 48, "x", "pr_../../../etc/passwd", "\x7f" * 10])
def test_a_wrong_token_is_none(web: Served, token: str):
    assert web.post("/messages", MESSAGE, token=token).status == 401
    assert said(web) == 0


def test_a_revoked_token_is_none(web: Served):
    from postroom.room.token import revoke

    token = web.token("planner")
    assert web.get("/me", token=token).status == 200
    revoke(web.room.home, web.room.known("planner"))
    assert web.get("/me", token=token).status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7678", "127.0.0.1.evil.example", "", "localhost@evil"]
)
def test_a_foreign_name_of_this_machine_gets_nothing(web: Served, host: str):
    """As a page has it whose own name was pointed at this machine."""
    headers = {"Host": host, "Cookie": web.cookie("human:ana")}
    for path, prefix in (("/me", "/api/v1"), ("/", ""), ("/healthz", "")):
        assert web.get(path, headers=headers, prefix=prefix).status in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9999", "[::1]:7678"])
def test_this_machine_is_reached_by_its_own_names_through_whatever_port(web: Served, host: str):
    assert web.get("/me", headers={"Host": host}, token=web.token("planner")).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "file://"]
)
def test_a_stolen_cookie_does_nothing_from_another_page(web: Served, origin: str):
    """A page at another port of this machine gets the cookie sent along: it is the Origin that tells."""
    headers = {"Cookie": web.cookie("human:ana"), "Origin": origin.format(port=web.port)}
    assert web.post("/messages", MESSAGE, headers=headers).json["error"] == "foreign_page"
    assert web.get("/messages", headers=headers).json["error"] == "foreign_page"
    assert said(web) == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_of_where_a_request_comes_from_counts(web: Served, site: str):
    headers = {"Cookie": web.cookie("human:ana"), "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert web.get("/messages", headers=headers).json["error"] == "foreign_page"
    assert web.get("/", headers=headers, prefix="").json["error"] == "foreign_page"
    lead = headers | {"Sec-Fetch-Mode": "navigate"}
    assert web.get("/", headers=lead, prefix="").status == 200
    assert web.get("/messages", headers=lead).json["error"] == "foreign_page"


def test_a_cookie_without_an_origin_changes_nothing(web: Served):
    cookie = {"Cookie": web.cookie("human:ana")}
    assert web.post("/messages", MESSAGE, headers=cookie).json["error"] == "foreign_page"
    own = cookie | {"Origin": web.url, "Sec-Fetch-Site": "same-origin"}
    assert web.post("/messages", MESSAGE, headers=own).status == 200


def test_another_site_is_told_of_no_leave_to_ask(web: Served):
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = web.ask("OPTIONS", "/messages", headers=headers)
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_session_ends_with_its_time_and_when_it_is_forgotten(web: Served, monkeypatch: pytest.MonkeyPatch):
    cookie = {"Cookie": web.cookie("human:ana")}
    assert web.get("/me", headers=cookie).status == 200
    monkeypatch.setattr(login, "LASTS", 0)
    assert web.get("/me", headers=cookie).status == 401
    monkeypatch.undo()
    assert login.forget(web.room.home) == 1
    assert web.get("/me", headers=cookie).status == 401


def test_what_is_kept_of_a_session_logs_nobody_in(web: Served):
    web.cookie("human:ana")
    directory = os.path.join(f"{web.room.home}-hooks", "logins")
    [name] = os.listdir(directory)
    assert os.stat(os.path.join(directory, name)).st_mode & 0o777 == 0o600
    assert web.get("/me", headers={"Cookie": f"{web.cookie_name}={name}"}).status == 401


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"to": "builder", "body": NaN}', b"[" * 100_000,
     b'{"to": "builder", "body": "\\ud800"}', b'{"to": "builder", "body": "x", "no": 1}',
     b'{"to": ["builder"], "body": "x"}', b'{"to": "builder", "body": "x", "attachments": ["/etc/passwd"]}',
     b'{"to": "builder", "body": "x", "attachments": [{"name": "a", "content": "no base64"}]}',
     b'{"to": "builder", "body": "x", "after": "tomorrow"}', b"1" * 5000],
)  # fmt: skip
def test_what_is_no_sound_request_is_refused_and_nothing_is_stored(web: Served, body: bytes):
    answer = web.ask("POST", "/messages", body, token=web.token("planner"))
    assert answer.status == 400
    assert {"error", "message", "hint"} <= set(answer.json)
    assert said(web) == 0


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "NaN", "1e999"])
def test_no_one_waits_for_a_time_that_is_no_number(web: Served, seconds: str):
    answer = web.get(f"/inbox/wait?timeout={seconds}", token=web.token("builder"))
    assert (answer.status, answer.json["field"]) == (400, "timeout")


def test_a_body_that_is_too_large_is_refused_before_it_has_come(web: Served):
    token = web.token("planner")
    answer = _raw(
        web,
        f"POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {LARGEST + 1}\r\n\r\n",
    )
    assert answer.startswith("HTTP/1.1 413")
    assert '"too_large"' in answer


def test_a_body_that_grows_too_large_is_refused_on_the_way(web: Served):
    token = web.token("planner")
    head = (
        f"POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = f"{1 << 20:x}\r\n{'x' * (1 << 20)}\r\n"
    assert _raw(web, head, *[chunk] * 10).startswith("HTTP/1.1 413")


def _raw(web: Served, *parts: str) -> str:
    """What is answered to bytes that no library would send, as far as it is let."""
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        try:
            for part in parts:
                link.sendall(part.encode())
        except OSError:
            pass  # it has heard enough
        heard = b""
        while more := link.recv(1 << 16):
            heard += more
            head, found, body = heard.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            if found and length and len(body) >= int(length[1]):
                break
        return heard.decode()


@pytest.mark.parametrize(
    "path",
    ["/../page.py", "/%2e%2e/page.py", "/..%2fpage.py", "/..%5cpage.py", "/page.py", "/.hidden.js",
     "/a//b.js", "//etc/passwd", "/%00.js", "/index.html/", "/static/../../app.py", "/\x01.css"],
)  # fmt: skip
def test_nothing_but_the_page_is_a_page(web: Served, path: str):
    answer = _raw(web, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] in ("404", "400"), answer[:80]
    assert "import" not in answer


def test_the_path_of_an_address_leads_to_no_other_operation(web: Served):
    token = web.token("builder")
    for path in ("/agents/../messages", "/agents/%2e%2e/messages", "/agents/p/builder/../../x", "/nothing"):
        assert web.get(path, token=token).status in (400, 404)


@pytest.mark.parametrize("text", ["GARBAGE\r\n\r\n", "GET / HTTQ/1.1\r\n\r\n", "\x00\x00\x00\x00\r\n\r\n"])
def test_what_is_no_http_is_refused(web: Served, text: str):
    assert _raw(web, text).startswith("HTTP/1.1 400")


def test_one_who_asks_too_often_waits_and_others_do_not(room: LocalRoom):
    with served(room, rate=2) as web:
        one, other = web.token("planner"), web.token("builder")
        answers = [web.get("/me", token=one) for _ in range(30)]
        late = [answer for answer in answers if answer.status == 429]
        assert late
        assert late[0].json["error"] == "rate_limited"
        assert int(late[0].headers["retry-after"]) >= 1
        assert web.get("/me", token=other).status == 200


def test_who_guesses_tokens_is_slowed_down_and_nobody_else(web: Served):
    """Each guess another token, so that no caller asks twice."""
    statuses = [web.get("/me", token=f"pr_{n:048}").status for n in range(150)]
    assert set(statuses) == {401, 429}
    assert web.get("/me", token=web.token("planner")).status == 200


def test_a_caller_may_ask_so_often_each_second_and_five_times_that_at_once():
    rates = Rates(10)
    assert [rates.take("a", 0.0) for _ in range(50)] == [0.0] * 50
    assert rates.take("a", 0.0) == pytest.approx(0.1)
    assert rates.take("b", 0.0) == 0.0
    assert rates.take("a", 0.15) == 0.0


def test_every_answer_says_what_a_browser_may_do_with_it(web: Served):
    for path, prefix in (("/", ""), ("/me", "/api/v1"), ("/none", ""), ("/healthz", "")):
        headers = web.get(path, prefix=prefix).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_an_attachment_is_given_out_as_a_file_and_nothing_else(web: Served):
    sent = web.room.send("builder", "look", attachments=[("x.html", b"<script>alert(1)</script>")])
    answer = web.get(f"/messages/{sent.id}/attachments/1", token=web.token("builder"))
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


def test_healthz_says_nothing_but_that_it_answers(web: Served):
    assert web.get("/healthz", prefix="").json == {"status": "ok"}


def test_no_error_tells_where_the_room_is_or_what_a_token_is(web: Served):
    token = web.token("planner")
    for answer in (web.get("/messages/nothing", token=token), web.get("/messages", token="pr_wrong")):
        assert web.room.home not in json.dumps(answer.json)
        assert token not in json.dumps(answer.json)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}],
)
def test_a_websocket_is_refused_before_it_is_one_and_that_is_no_error_of_ours(
    web: Served, headers: dict[str, str], caplog: pytest.LogCaptureFixture
):
    """The last has a cookie and says nothing of where it comes from, as no browser does."""
    wanted = {
        "Host": f"127.0.0.1:{web.port}", "Upgrade": "websocket", "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
        "Cookie": web.cookie("human:ana"), **headers,
    }  # fmt: skip
    lines = "".join(f"{name}: {value}\r\n" for name, value in wanted.items())
    answer = _raw(web, f"GET /ws/projects/p HTTP/1.1\r\n{lines}\r\n")
    assert answer.startswith("HTTP/1.1 403")
    assert '"foreign_page"' in answer
    assert web.get("/healthz", prefix="").status == 200  # by then that is done with
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def _ended(link: socket.socket) -> bool:
    """Wait until the server ends it."""
    try:
        while link.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("before", ["", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_who_sends_its_request_by_drops_is_left(web: Served, monkeypatch: pytest.MonkeyPatch, before: str):
    """The first one, or the next by the same connection."""
    monkeypatch.setattr(haste, "HEAD", 0.2)
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        link.sendall(before.encode())
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        assert _ended(link)
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        assert _ended(link)  # it says nothing at all
    assert web.get("/healthz", prefix="").status == 200


def test_who_sends_a_body_by_drops_is_left_and_nothing_is_stored(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(haste, "BODY", 0.2)
    head = (
        "POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {web.token('planner')}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        link.sendall(head.encode())
        link.sendall(json.dumps(MESSAGE).encode())
        assert _ended(link)
    assert said(web) == 0
    assert web.post("/messages", MESSAGE, token=web.token("planner")).status == 200


@pytest.mark.parametrize("bearer", ["", "Authorization: Bearer pr_no\r\n"])
def test_a_stranger_is_refused_before_anything_of_its_body_is_read(
    web: Served, monkeypatch: pytest.MonkeyPatch, bearer: str
):
    monkeypatch.setattr(haste, "BODY", 1.0)  # else who waits for the body would wait long
    head = f"POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGEST}\r\n{bearer}\r\n"
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        link.sendall(head.encode())
        assert link.recv(4096).startswith(b"HTTP/1.1 401 ")
    answer = web.ask("POST", "/messages", b"[" * LARGEST, token="pr_no")
    assert (answer.status, answer.json["error"]) == (401, "unknown_token")


def test_a_body_is_waited_for_only_so_long_however_much_of_it_comes(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    for name, value in (("BODY", 0.5), ("LONGEST", 1.0), ("SLOWEST", 1)):
        monkeypatch.setattr(haste, name, value)
    head = (
        "POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
        f"Authorization: Bearer {web.token('planner')}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", web.port), BOUND) as link:
        link.sendall(head.encode())
        link.sendall(b" " * 500_000)
        assert _ended(link)
    assert said(web) == 0


def test_what_a_stranger_calls_itself_is_not_kept():
    callers = {Credentials(bearer=f"{n}" * 50_000).key for n in range(9)}
    assert len(callers) == 9
    assert all(len(caller) < 100 for caller in callers)


@pytest.mark.parametrize("limits", [{"MOST_IDLE": 8, "NEWCOMER": 0.0}, {"MOST_IDLE": 4, "MOST_NEW": 8}])
def test_too_many_who_ask_for_nothing_are_too_many_and_who_asks_is_answered(
    web: Served, limits: dict[str, float], monkeypatch: pytest.MonkeyPatch
):
    for name, value in limits.items():
        monkeypatch.setattr(haste, name, value)
    with ExitStack() as stack:
        address = ("127.0.0.1", web.port)
        links = [stack.enter_context(socket.create_connection(address, BOUND)) for _ in range(40)]
        assert all(_ended(link) for link in links[:32])
        assert web.get("/me", token=web.token("planner")).status == 200
        links[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert links[-1].recv(12) == b"HTTP/1.1 200"


def test_who_has_just_come_is_listened_to_however_many_come(web: Served, monkeypatch: pytest.MonkeyPatch):
    """A thousand that come back at once are all accepted before the first of them is read."""
    monkeypatch.setattr(haste, "MOST_IDLE", 0)
    with ExitStack() as stack:
        address = ("127.0.0.1", web.port)
        links = [stack.enter_context(socket.create_connection(address, BOUND)) for _ in range(40)]
        for link in links:
            link.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [link.recv(12) for link in links] == [b"HTTP/1.1 200"] * 40


def test_who_reads_nothing_of_its_answer_is_left(web: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(haste, "STALLED", 0.2)
    for _ in range(8):
        web.room.send("builder", "x" * 1_000_000)
    token = web.token("builder")
    with socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", web.port))
        head = f"GET /api/v1/inbox HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        link.sendall(head.encode())
        until(lambda: web.open > 0)
        until(lambda: web.open == 0)
    assert len(web.get("/inbox", token=token).json["messages"]) == 8
