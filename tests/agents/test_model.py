"""The scripted model, asked as each agent asks it."""

import contextlib
import http.client
import json
import os
import socket
from typing import Any

import pytest

from tests.agents.dialects import anthropic, chat, gemini, responses
from tests.agents.fault import Fault
from tests.agents.log import until
from tests.agents.model import Model
from tests.agents.script import Asked, Call, Say, Tool, Turn, reply

SHELL = [Tool("bash", {"properties": {"command": {"type": "string"}}, "required": ["command"]})]


def ask(model: Model, path: str, body: dict[str, Any]) -> str:
    status, _, said = tried(model, path, body)
    assert status == 200, said
    return said


def tried(model: Model, path: str, body: dict[str, Any], timeout: float = 10) -> tuple[int, str | None, str]:
    """The status of an answer, how long one should wait for a better one, and as much as came of it."""
    client = http.client.HTTPConnection("127.0.0.1", model.port, timeout=timeout)
    with contextlib.closing(client):
        client.request("POST", path, json.dumps(body))
        with client.getresponse() as answer:
            try:
                said = answer.read()
            except http.client.IncompleteRead as error:
                said = error.partial
            return answer.status, answer.headers["Retry-After"], said.decode()


def test_directives_are_played_one_a_response_and_then_it_is_done() -> None:
    turns = [Turn("user", "go [[both a ||| b]] [[say HALF]] [[bash c]]")]
    assert reply(Asked(turns, SHELL)).acts == [Call("bash", {"command": "a"}), Call("bash", {"command": "b"})]
    turns += [Turn("tool", "1"), Turn("tool", "2")]
    assert reply(Asked(turns, SHELL)).acts == [Say("HALF")]
    turns += [Turn("assistant", "HALF"), Turn("user", "more")]
    assert reply(Asked(turns, SHELL)).acts == [Call("bash", {"command": "c"})]
    assert reply(Asked([*turns, Turn("tool", "3")], SHELL)).acts == [Say("MODEL-DONE")]


def test_a_newer_script_replaces_an_older_one_and_a_sleep_delays_what_follows_it() -> None:
    turns = [Turn("user", "[[bash a]]"), Turn("user", "[[sleep 2]] [[say B]]")]
    assert reply(Asked(turns, SHELL)) == ([Say("B")], 2.0)


def test_a_tool_may_get_a_script_of_its_own_and_an_id_from_the_newest_result() -> None:
    turns = [
        Turn("user", '[[bash a]] [[tool wait {"for": "%agent_id%", "then": "⟦say X⟧"}]]'),
        Turn("tool", '{"agent_id": "a-1"}'),
    ]
    assert reply(Asked(turns, SHELL)).acts == [Call("wait", {"for": "a-1", "then": "[[say X]]"})]


def test_mail_that_is_shown_is_answered_once_by_its_handle_and_the_script_goes_on() -> None:
    turns = [Turn("user", "[[mail postroom reply %handle% yes]] [[bash a]] [[say HALF]]")]
    assert reply(Asked(turns, SHELL)).acts == [Call("bash", {"command": "a"})]
    note = "%%k6vqjbnn from human:ana (unverified), note 17156075, reply to 0badcafe\nHi."
    said = "request, thread 0badcafe -> postroom reply 3a10a1ff - <<'EOF'"
    request = f"%%k6vqjbnn from api (identity session), {said}\nWhich?"
    turns += [Turn("tool", f"1\n{note}\n{request}")]
    for handle in ("17156075", "3a10a1ff"):
        [call] = reply(Asked(turns, SHELL)).acts
        assert call == Call("bash", {"command": f"postroom reply {handle} yes; echo MODEL-ANSWERED {handle}"})
        turns += [Turn("tool", f"stored\nMODEL-ANSWERED {handle}")]
    assert reply(Asked(turns, SHELL)).acts == [Say("HALF")]


def test_a_directive_that_cannot_be_played_is_said_and_does_not_break_the_model() -> None:
    assert reply(Asked([Turn("user", "[[tool x {oops}]]")], SHELL)).acts == [Say("MODEL-CANNOT x {oops}")]
    assert reply(Asked([Turn("user", '[[tool x {\\"a\\": 1}]]')], SHELL)).acts == [Call("x", {"a": 1})]


def test_a_side_request_that_quotes_the_prompt_calls_no_tool() -> None:
    assert reply(Asked([Turn("user", "name this: [[bash a]] [[say X]]")], [])).acts == [Say("A title")]


dialects = pytest.mark.parametrize(
    ("path", "dialect", "body"),
    [
        ("/v1/messages", anthropic, {"messages": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/responses", responses, {"input": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/chat/completions", chat, {"messages": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/m:streamGenerateContent", gemini, {"contents": [{"parts": [{"text": "[[bash ls]]"}]}]}),
    ],
)


@dialects
def test_each_dialect_is_answered_streamed_and_logged(
    tmp_path: os.PathLike[str], path: str, dialect: Any, body: dict[str, Any]
) -> None:
    tool: dict[str, Any] = {"name": "bash", "type": "function"}
    body = body | {"stream": True, "tools": [{"functionDeclarations": [tool]} if dialect is gemini else tool]}
    with Model(os.path.join(tmp_path, "log")) as model:
        assert '"ls' in ask(model, path, body).replace("\\", "")
        assert model.log.count("[[bash ls]]") == 1
        assert model.log.wait("[[bash ls]]") <= model.log.requests()[-1].time


def test_the_log_counts_in_the_last_request_with_tools_only(tmp_path: os.PathLike[str]) -> None:
    tools = [{"name": "bash"}]
    with Model(os.path.join(tmp_path, "log")) as model:
        ask(model, "/v1/messages", {"messages": [{"role": "user", "content": "M"}], "tools": tools})
        ask(model, "/v1/messages", {"messages": [{"role": "user", "content": "M M"}], "tools": tools})
        ask(model, "/v1/messages", {"messages": [{"role": "user", "content": "M M M"}]})
        assert model.log.count("M") == 2
        assert model.log.arrival("M M M") is None


@dialects
def test_a_request_is_refused_as_its_dialect_says_so_and_the_next_is_answered(
    tmp_path: os.PathLike[str], path: str, dialect: Any, body: dict[str, Any]
) -> None:
    with Model(os.path.join(tmp_path, "log")) as model:
        for status, wait in ((429, 7), (429, None), (400, None), (500, None)):
            with model.log.fault(Fault("refuse", status, wait), times=1):
                told, after, said = tried(model, path, body)
            assert (told, after) == (status, str(wait) if wait else None)
            assert f"with {status}" in json.loads(said)["error"]["message"]
        assert ask(model, path, body)
        outcomes(model, *["refused"] * 4, "answered")
        assert [each.number for each in model.log.answered("[[bash ls]]")] == [5]


@dialects
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_connection_is_cut_before_an_answer_or_in_the_middle_of_one(
    tmp_path: os.PathLike[str], path: str, dialect: Any, body: dict[str, Any], is_streamed: bool
) -> None:
    path = path if is_streamed else path.replace(":streamG", ":g")
    body = body | ({"stream": True} if is_streamed else {})
    with Model(os.path.join(tmp_path, "log")) as model:
        with model.log.fault(Fault("cut")), pytest.raises(ConnectionResetError):
            ask(model, path, body)
        whole = ask(model, path, body)
        with model.log.fault(Fault("break")):
            part = ask(model, path, body)
        assert 0 < len(part) < len(whole) * 0.9
        outcomes(model, "cut", "answered", "broken")


def test_a_fault_meets_so_many_requests_that_have_a_text_and_no_others(tmp_path: os.PathLike[str]) -> None:
    path = "/v1/messages"
    with Model(os.path.join(tmp_path, "log")) as model:
        with model.log.fault(Fault("refuse", 500), about="MÄRK", times=2):
            ask(model, path, {"messages": [{"role": "user", "content": "other"}]})
            for _ in range(2):
                assert tried(model, path, {"messages": [{"role": "user", "content": "a MÄRK"}]})[0] == 500
            ask(model, path, {"messages": [{"role": "user", "content": "a MÄRK"}]})
        outcomes(model, "answered", "refused", "refused", "answered")


def test_a_request_is_held_until_its_client_leaves_or_the_model_may_answer(
    tmp_path: os.PathLike[str],
) -> None:
    data = json.dumps({"messages": [{"role": "user", "content": "M"}]}).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode()

    with Model(os.path.join(tmp_path, "log")) as model:

        def begin() -> socket.socket:
            count = len(model.log.requests())
            client = socket.create_connection(("127.0.0.1", model.port), timeout=10)
            client.sendall(head + data)
            until(lambda: len(model.log.requests()) > count, 10)
            return client

        with model.log.fault(Fault("hold")):
            with begin():
                assert model.log.requests()[0].outcome == ""
            until(lambda: model.log.requests()[0].outcome, 10)
            second = begin()
        with second:
            assert second.recv(12) == b"HTTP/1.1 200"
            outcomes(model, "left", "answered")
        with model.log.fault(Fault("stall")):
            third = begin()
        with third, contextlib.suppress(ConnectionResetError):
            assert third.recv(12) == b""
        outcomes(model, "left", "answered", "cut")


def test_who_hangs_up_while_the_model_thinks_was_not_answered(tmp_path: os.PathLike[str]) -> None:
    body = {"messages": [{"role": "user", "content": "[[sleep 5]] [[say X]]"}]}
    with Model(os.path.join(tmp_path, "log")) as model:
        with pytest.raises(TimeoutError):
            tried(model, "/v1/messages", body, timeout=0.2)
        outcomes(model, "left")


def outcomes(model: Model, *wanted: str) -> None:
    """An outcome is noted a moment after the client has its answer."""
    until(lambda: all(each.outcome for each in model.log.requests()), 10, "outcome")
    assert [each.outcome for each in model.log.requests()] == list(wanted)
