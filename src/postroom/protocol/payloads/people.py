"""People: what comes from them, what goes to them, and what stops an agent."""

from dataclasses import dataclass
from typing import Annotated, Literal

from postroom.model.payload import payload_type, rule
from postroom.protocol.payloads.field import Texts


@payload_type(
    "human_message",
    group="people",
    direction="person → agent",
    meaning="What a person wrote, through some channel.",
    example={"channel": "discord", "author": "ana"},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class HumanMessage:
    """What a person wrote."""

    channel: Annotated[str | None, "through what it came: terminal, discord, sms"] = None
    author: Annotated[str | None, "the person's name there"] = None
    external_id: Annotated[str | None, "the message's id there"] = None
    external_thread: Annotated[str | None, "the conversation's id there"] = None
    mentions: Annotated[Texts, "who else was named"] = ()


@payload_type(
    "agent_message",
    group="people",
    direction="agent → person",
    meaning="What an agent wants a person to read.",
    example={"channel": "discord", "markdown": True},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class AgentMessage:
    """What an agent wrote for a person."""

    channel: Annotated[str | None, "through what it should go"] = None
    markdown: Annotated[bool, "whether the body is Markdown"] = False
    task_id: Annotated[str | None, "the task it is about"] = None


@payload_type(
    "voice_transcript",
    group="people",
    direction="person → agent",
    meaning="What a person said, as a machine heard it; the body is the text.",
    example={"language": "en", "confidence": 0.93, "duration_seconds": 4.2},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class VoiceTranscript:
    """What a person said."""

    channel: Annotated[str | None, "through what it came"] = None
    speaker: Annotated[str | None, "who spoke"] = None
    language: Annotated[str | None, "as a tag: en, de-CH"] = None
    confidence: Annotated[float | None, rule(minimum=0, maximum=1), "how sure the machine is"] = None
    duration_seconds: Annotated[float | None, rule(minimum=0), "how long it took to say"] = None
    final: Annotated[bool, "false while more of the sentence may come"] = True


@payload_type(
    "interrupt",
    group="people",
    direction="person or supervisor → agent",
    meaning="Stop, pause or cancel what you are doing.",
    example={"kind": "pause", "reason": "The specification changes today."},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupt:
    """An order to stop."""

    kind: Annotated[Literal["stop", "pause", "cancel"], "what to do: end, wait, or drop the task"]
    reason: Annotated[str | None, "why"] = None
    task_id: Annotated[str | None, "the task it is about; all, if none is named"] = None
