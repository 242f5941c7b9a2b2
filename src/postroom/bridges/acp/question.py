"""What an agent asks before it does something, in our words: all that it says of what it wants to do."""

import json

from acp.schema import PermissionOption, ToolCallProgress, ToolCallStart, ToolCallUpdate

from postroom.bridges.contract import Option, Question
from postroom.bridges.inquiry import inquiry
from postroom.model.message import Json

Call = ToolCallStart | ToolCallProgress | ToolCallUpdate


class Calls:
    """The tools that an agent has told of: a question about one may say less than was told before."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._known: dict[str, Json] = {}

    def note(self, call: Call) -> Json:
        """All that is known of a call now."""
        told = call.model_dump(mode="json", exclude_none=True, exclude={"session_update", "field_meta"})
        known = self._known.pop(call.tool_call_id, {}) | told
        self._known[call.tool_call_id] = known
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return known

    def clear(self) -> None:
        self._known.clear()


def question(number: str, call: Json, options: list[PermissionOption]) -> Question:
    title = str(call.get("title") or call.get("kind") or "it wants to use a tool")
    offered = [Option(one.option_id, one.name, one.kind) for one in options]
    return inquiry(number, title, _details(call), offered)


def _details(call: Json) -> str:
    places: list[Json] = call.get("locations") or []
    contents: list[Json] = call.get("content") or []
    parts = [str(call["title"])] if call.get("title") else []
    parts += [f"in {one['path']}" for one in places]
    parts += [text for one in contents if (text := _content(one))]
    if call.get("raw_input"):
        parts.append(_written(call["raw_input"]))
    return "\n".join(dict.fromkeys(parts))


def _content(one: Json) -> str:
    match one.get("type"):
        case "diff":
            old, new = one.get("old_text") or "", one.get("new_text") or ""
            removed, added = (
                [f"{sign} {line}" for line in text.splitlines()] for sign, text in (("-", old), ("+", new))
            )
            return "\n".join([f"in {one.get('path')}:", *removed, *added])
        case "content" if one.get("content", {}).get("type") == "text":
            return str(one["content"]["text"])
        case _:
            return _written(one)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
