"""What a transcript tells of an agent's tools. Only who records that reads it."""

from typing import Any, NamedTuple


class ToolFact(NamedTuple):
    """That a tool was called, or what it gave back, as a transcript tells it."""

    type: str  # `tool_call` or `tool_result`
    id: str
    tool: str  # its name; empty where the result does not say it
    value: Any  # what it was given, or gave back
    ok: bool = True
