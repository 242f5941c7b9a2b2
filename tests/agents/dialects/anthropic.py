"""Anthropic Messages: `POST /v1/messages`."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.agents.dialects import Event, fresh, size
from tests.agents.script import Asked, Call, Say, Tool, Turn, said


def read(body: dict[str, Any]) -> Asked:
    turns = [turn for message in body.get("messages", []) for turn in _turns(message)]
    tools = [Tool(tool["name"], tool.get("input_schema", {})) for tool in body.get("tools") or []]
    return Asked(turns, tools)


def _turns(message: dict[str, Any]) -> Iterator[Turn]:
    role, content = message["role"], message["content"]
    if role != "user":
        yield Turn("assistant" if role == "assistant" else "other", said(content))
    elif isinstance(content, str):
        yield Turn("user", content)
    else:
        for part in content:
            if part.get("type") == "tool_result":
                yield Turn("tool", said(part.get("content")))
            elif part.get("type") == "text":
                yield Turn("user", part["text"])


def document(body: dict[str, Any], acts: Sequence[Say | Call]) -> dict[str, Any]:
    calls = any(isinstance(act, Call) for act in acts)
    return {
        "id": fresh("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [_block(act) for act in acts],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": size(body), "output_tokens": 5}
        | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def _block(act: Say | Call) -> dict[str, Any]:
    if isinstance(act, Say):
        return {"type": "text", "text": act.text}
    return {"type": "tool_use", "id": fresh("toolu_"), "name": act.name, "input": act.arguments}


def stream(document: dict[str, Any]) -> Iterator[Event]:
    for data in _events(document):
        yield data["type"], data


def _events(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": document | {"content": [], "stop_reason": None}}
    for index, block in enumerate(document["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            whole = json.dumps(block["input"])
            empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": whole}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": document["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


_ERRORS = {400: "invalid_request_error", 429: "rate_limit_error", 500: "api_error"}


def error(status: int, words: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": _ERRORS[status], "message": words},
        "request_id": fresh("req_"),
    }
