"""Runtime: what happens inside an agent, and what the room itself has to say."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from postroom.model.payload import payload_type
from postroom.protocol.payloads.field import Text


@payload_type(
    "tool_call",
    group="runtime",
    direction="agent → whoever follows it",
    meaning="An agent uses a tool.",
    example={"tool": "bash", "call_id": "c-1", "arguments": {"command": "make test"}},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The use of a tool."""

    tool: Annotated[Text, "the tool's name"]
    call_id: Annotated[str | None, "what its result will be known by"] = None
    arguments: Annotated[dict[str, Any], "what it is given"] = field(default_factory=dict[str, Any])


@payload_type(
    "tool_result",
    group="runtime",
    direction="agent → whoever follows it",
    meaning="What a tool gave back.",
    example={"tool": "bash", "call_id": "c-1", "ok": True, "output": "212 passed"},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool gave back."""

    tool: Annotated[Text, "the tool's name"]
    call_id: Annotated[str | None, "the call it answers"] = None
    ok: Annotated[bool, "whether it worked"] = True
    output: Annotated[Any, "what it gave back, of any kind"] = None
    error: Annotated[str | None, "what went wrong"] = None


@payload_type(
    "system",
    group="runtime",
    direction="room → anyone",
    meaning="The room's own news, such as a bounce.",
    example={"event": "the disk is nearly full"},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """The room's own news."""

    event: Annotated[str | None, "what has happened, in a word"] = None
    bounce: Annotated[dict[str, Any] | None, "what failed, for whom, and why; only the room says this"] = None
    unanswered: Annotated[dict[str, Any] | None, "who did not answer, and why; only the room says it"] = None
