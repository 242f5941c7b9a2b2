"""OpenAI Responses: `POST /v1/responses`."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.agents.dialects import Event, fresh
from tests.agents.script import Asked, Call, Say, Tool, Turn, said


def read(body: dict[str, Any]) -> Asked:
    items = body.get("input", [])
    turns = [Turn("user", items)] if isinstance(items, str) else [t for item in items for t in _turns(item)]
    return Asked(turns, [Tool(_name(tool), tool.get("parameters") or {}) for tool in _declared(body)])


def _turns(item: dict[str, Any]) -> Iterator[Turn]:
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        yield Turn(role if role in ("user", "assistant") else "other", said(item.get("content")))
    elif kind.endswith("_output"):
        output = item.get("output")
        yield Turn("tool", output if isinstance(output, str) else json.dumps(output))


def _declared(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every tool, those inside a namespace too."""
    for tool in body.get("tools") or []:
        yield tool
        yield from tool.get("tools") or []


def _name(tool: dict[str, Any]) -> str:
    return tool.get("name") or tool.get("type", "")


def document(body: dict[str, Any], acts: Sequence[Say | Call]) -> dict[str, Any]:
    free_form = {_name(tool) for tool in _declared(body) if tool.get("type") == "custom"}
    spaces = {
        inner["name"]: tool["name"] for tool in body.get("tools") or [] for inner in tool.get("tools") or []
    }
    return {
        "id": fresh("resp_"),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": [_item(act, free_form, spaces) for act in acts],
        "parallel_tool_calls": True,
        "error": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        | {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    }


def _item(act: Say | Call, free_form: set[str], spaces: dict[str, str]) -> dict[str, Any]:
    done = {"status": "completed"}
    if isinstance(act, Say):
        part = {"type": "output_text", "text": act.text, "annotations": []}
        return done | {"type": "message", "id": fresh("msg_"), "role": "assistant", "content": [part]}
    call = done | {"call_id": fresh("call_"), "name": act.name}
    if act.name in free_form:
        return call | {
            "type": "custom_tool_call",
            "id": fresh("ctc_"),
            "input": act.arguments.get("input", ""),
        }
    if act.name in spaces:
        call["namespace"] = spaces[act.name]
    return call | {"type": "function_call", "id": fresh("fc_"), "arguments": json.dumps(act.arguments)}


def stream(document: dict[str, Any]) -> Iterator[Event]:
    for number, data in zip(itertools.count(), _events(document), strict=False):
        yield data["type"], data | {"sequence_number": number}


def _events(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = document | {"status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(document["output"]):
        yield from _item_events(item, {"item_id": item["id"], "output_index": index})
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": document}


def _item_events(item: dict[str, Any], at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = item | {"status": "in_progress"}
    added = {"type": "response.output_item.added", "output_index": at["output_index"]}
    if item["type"] == "message":
        [part] = item["content"]
        at = at | {"content_index": 0}
        yield added | {"item": begun | {"content": []}}
        yield at | {"type": "response.content_part.added", "part": part | {"text": ""}}
        yield at | {"type": "response.output_text.delta", "delta": part["text"]}
        yield at | {"type": "response.output_text.done", "text": part["text"]}
        yield at | {"type": "response.content_part.done", "part": part}
    elif item["type"] == "function_call":
        yield added | {"item": begun | {"arguments": ""}}
        yield at | {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
        yield at | {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}
    else:
        yield added | {"item": begun}


_ERRORS = {400: "invalid_request_error", 429: "rate_limit_exceeded", 500: "server_error"}


def error(status: int, words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": _ERRORS[status], "param": None, "code": _ERRORS[status]}}
