"""The scripted model, asked as each agent asks it."""

import json
import os
import urllib.request
from typing import Any

import pytest

from tests.agents.dialects import anthropic, chat, gemini, responses
from tests.agents.model import Model
from tests.agents.script import Asked, Call, Say, Tool, Turn, reply

SHELL = [Tool("bash", {"properties": {"command": {"type": "string"}}, "required": ["command"]})]


def ask(model: Model, path: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{model.port}{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


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


@pytest.mark.parametrize(
    ("path", "dialect", "body"),
    [
        ("/v1/messages", anthropic, {"messages": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/responses", responses, {"input": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/chat/completions", chat, {"messages": [{"role": "user", "content": "[[bash ls]]"}]}),
        ("/v1/m:streamGenerateContent", gemini, {"contents": [{"parts": [{"text": "[[bash ls]]"}]}]}),
    ],
)
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
