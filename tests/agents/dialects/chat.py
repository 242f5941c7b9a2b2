"""OpenAI chat completions: `POST /v1/chat/completions`."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.agents.dialects import Event, fresh, size
from tests.agents.script import Asked, Call, Say, Tool, Turn, said

_ROLES = ("user", "assistant", "tool")


def read(body: dict[str, Any]) -> Asked:
    turns = [
        Turn(message["role"] if message["role"] in _ROLES else "other", said(message.get("content")))
        for message in body.get("messages", [])
    ]
    declared = [tool.get("function", tool) for tool in body.get("tools") or []]
    return Asked(turns, [Tool(tool["name"], tool.get("parameters") or {}) for tool in declared])


def document(body: dict[str, Any], acts: Sequence[Say | Call]) -> dict[str, Any]:
    asked, text = size(body), "".join(act.text for act in acts if isinstance(act, Say))
    calls = [_call(act) for act in acts if isinstance(act, Call)]
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
    return {
        "id": fresh("chatcmpl-"),
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5},
    }


def _call(act: Call) -> dict[str, Any]:
    function = {"name": act.name, "arguments": json.dumps(act.arguments)}
    return {"id": fresh("call_"), "type": "function", "function": function}


def stream(document: dict[str, Any]) -> Iterator[Event]:
    [choice] = document["choices"]
    message = choice["message"]
    base = {key: document[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": message["content"] or ""})
    for index, call in enumerate(message.get("tool_calls", [])):
        yield chunk({"tool_calls": [call | {"index": index}]})
    yield chunk({}, choice["finish_reason"])
    yield None, base | {"choices": [], "usage": document["usage"]}
    yield None, "[DONE]"


_ERRORS = {400: "invalid_request_error", 429: "rate_limit_exceeded", 500: "server_error"}


def error(status: int, words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": _ERRORS[status], "param": None, "code": _ERRORS[status]}}
