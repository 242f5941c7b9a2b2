"""Talk: what agents tell and ask each other. These take any further fields."""

from dataclasses import dataclass
from typing import Annotated

from postroom.model.payload import payload_type, rule
from postroom.protocol.payloads.field import Moment, Texts


@payload_type(
    "note",
    group="talk",
    direction="anyone → anyone",
    meaning="Free text; the payload is whatever you like.",
    example={"seen_in": "src/parser/lexer.py"},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """Free text."""


@payload_type(
    "status",
    group="talk",
    direction="worker → whoever follows it",
    meaning="How things stand; nothing is expected in return.",
    example={"task_id": "T-1", "status": "testing", "progress": 80},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """How things stand."""

    task_id: Annotated[str | None, "the task it is about"] = None
    status: Annotated[str | None, "how it stands, in a word"] = None
    summary: Annotated[str | None, "how it stands, in a sentence"] = None
    progress: Annotated[float | None, rule(minimum=0, maximum=100), "how far it is, in percent"] = None


@payload_type(
    "request",
    group="talk",
    direction="anyone → anyone",
    meaning="A question; an answer is expected.",
    example={"task_id": "T-1", "question": "Which grammar do you use?"},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A question."""

    task_id: Annotated[str | None, "the task it is about"] = None
    question: Annotated[str | None, "what is asked, if the body does not say it"] = None
    deadline: Annotated[Moment | None, "when an answer is too late"] = None


@payload_type(
    "response",
    group="talk",
    direction="whoever was asked → who asked",
    meaning="The answer to a request.",
    example={"task_id": "T-1", "approved": True},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """An answer."""

    task_id: Annotated[str | None, "the task it is about"] = None
    answer: Annotated[str | None, "the answer, if the body does not say it"] = None
    approved: Annotated[bool | None, "yes or no, where that was asked"] = None


@payload_type(
    "discovery",
    group="talk",
    direction="anyone → whom it may help",
    meaning="Something found out that others should know.",
    example={"topic": "the parser", "finding": "The lexer drops tabs.", "files": ["src/parser/lexer.py"]},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Discovery:
    """A finding."""

    topic: Annotated[str | None, "what it is about"] = None
    finding: Annotated[str | None, "what was found, if the body does not say it"] = None
    files: Annotated[Texts, "where"] = ()
    confidence: Annotated[float | None, rule(minimum=0, maximum=1), "how sure it is"] = None


@payload_type(
    "coordination",
    group="talk",
    direction="anyone → whoever works beside it",
    meaning="Who does what, so that nobody stands in another's way.",
    example={"action": "claim", "files": ["src/parser/"], "until": "2026-06-01T12:00:00Z"},
    free=True,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Coordination:
    """An agreement about who does what."""

    action: Annotated[str | None, "what the sender does: claim, release, wait, hand_over"] = None
    task_id: Annotated[str | None, "the task it is about"] = None
    files: Annotated[Texts, "the files it is about"] = ()
    until: Annotated[Moment | None, "how long it holds"] = None
