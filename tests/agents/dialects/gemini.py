"""Gemini: `POST …:generateContent` and `…:streamGenerateContent`."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.agents.dialects import Event, size
from tests.agents.script import Asked, Call, Say, Tool, Turn, example


def read(body: dict[str, Any]) -> Asked:
    turns = [turn for content in body.get("contents", []) for turn in _turns(content)]
    declared = [tool for group in body.get("tools") or [] for tool in group.get("functionDeclarations", [])]
    tools = [
        Tool(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})
        for tool in declared
    ]
    return Asked(turns, tools)


def _turns(content: dict[str, Any]) -> Iterator[Turn]:
    for part in content.get("parts", []):
        if "functionResponse" in part:
            yield Turn("tool", json.dumps(part["functionResponse"].get("response")))
        elif "text" in part:
            yield Turn("assistant" if content.get("role") == "model" else "user", part["text"])


def document(body: dict[str, Any], acts: Sequence[Say | Call]) -> dict[str, Any]:
    wanted = body.get("generationConfig", {})
    if schema := wanted.get("responseJsonSchema") or wanted.get("responseSchema"):
        parts: list[dict[str, Any]] = [{"text": json.dumps(example(schema))}]  # a judgement asked in passing
    else:
        parts = [_part(act) for act in acts]
    content, asked = {"role": "model", "parts": parts}, size(body)
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": asked, "candidatesTokenCount": 5, "totalTokenCount": asked + 5},
        "modelVersion": "scripted",
    }


def _part(act: Say | Call) -> dict[str, Any]:
    if isinstance(act, Say):
        return {"text": act.text}
    return {"functionCall": {"name": act.name, "args": act.arguments}}


def stream(document: dict[str, Any]) -> Iterator[Event]:
    """A text comes in two pieces, as long ones do: hooks fire for each."""
    [candidate] = document["candidates"]
    *_, last = candidate["content"]["parts"]
    if text := last.get("text", "")[:-1]:
        begun = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        yield None, {"candidates": [begun], "modelVersion": "scripted"}
        rest = {"role": "model", "parts": [{"text": last["text"][-1]}]}
        document = document | {"candidates": [candidate | {"content": rest}]}
    yield None, document


_ERRORS = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def error(status: int, words: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": words, "status": _ERRORS[status]}}
