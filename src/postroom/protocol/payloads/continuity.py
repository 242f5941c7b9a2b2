"""Continuity: what one agent or session leaves for the next."""

from dataclasses import dataclass
from typing import Annotated, Literal

from postroom.model.payload import Template, payload_type
from postroom.protocol.payloads.field import Moment, TaskId, Text, TextOrTexts, Texts

TEMPLATES = (
    Template("standard", "Work goes from one to another.", ("needed",)),
    Template("qa_pass", "It was tested, and passed.", ("evidence",)),
    Template("qa_fail", "It was tested, and must be mended.", ("must_pass", "evidence")),
    Template("escalation", "It goes to somebody who can decide.", ("needed",)),
    Template("stage_gate", "A phase ends, if all that must pass has.", ("phase", "must_pass")),
    Template("sprint", "A sprint ends, and the next begins.", ("status", "next_steps")),
    Template("incident", "Something is broken, and who mends it changes.", ("status", "needed")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoffParty:
    """One side of a handoff."""

    agent: Annotated[Text, "its address"]
    department: Annotated[str | None, "where it belongs"] = None


@payload_type(
    "handoff",
    group="continuity",
    direction="whoever leaves off → who takes over",
    meaning="Take this over; here is all you need.",
    example={
        "template": "standard",
        "from": {"agent": "builder", "department": "engineering"},
        "to": {"agent": "tester", "department": "quality"},
        "phase": "build",
        "task_ref": "T-1",
        "priority": "high",
        "project": "parser",
        "status": "The lexer is built.",
        "files": ["src/parser/lexer.py"],
        "dependencies": ["T-0"],
        "constraints": ["No new dependencies."],
        "needed": "Test the lexer on the sample files.",
        "acceptance": ["Every sample file is read."],
        "references": ["specs/T-1.md"],
        "must_pass": ["make test"],
        "evidence": ["212 passed"],
        "next_steps": ["Build the parser."],
    },
    templates=TEMPLATES,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Handoff:
    """Work that goes from one to another, with all the other needs."""

    template: Annotated[
        Literal["standard", "qa_pass", "qa_fail", "escalation", "stage_gate", "sprint", "incident"],
        "what kind of handoff it is",
    ] = "standard"
    from_: Annotated[str | HandoffParty | None, "who leaves off"] = None
    to: Annotated[str | HandoffParty | None, "who takes over"] = None
    phase: Annotated[str | None, "how far the whole is"] = None
    task_ref: Annotated[str | None, "the task, by its id or address"] = None
    priority: Annotated[str | None, "how much it matters"] = None
    project: Annotated[str | None, "what it belongs to"] = None
    status: Annotated[str | None, "how things stand"] = None
    files: Annotated[TextOrTexts, "where the work is"] = ()
    dependencies: Annotated[TextOrTexts, "what it depends on"] = ()
    constraints: Annotated[TextOrTexts, "what must not be done"] = ()
    needed: Annotated[TextOrTexts, "what is to be done now"] = ()
    acceptance: Annotated[TextOrTexts, "by what one will know that it is done"] = ()
    references: Annotated[TextOrTexts, "what to read"] = ()
    must_pass: Annotated[TextOrTexts, "the checks that must pass"] = ()
    evidence: Annotated[TextOrTexts, "what shows how far it is"] = ()
    next_steps: Annotated[TextOrTexts, "what comes after"] = ()


@payload_type(
    "checkpoint",
    group="continuity",
    direction="agent → its own next session",
    meaning="How far I am, for whoever continues after me.",
    example={
        "agent": "builder",
        "task_id": "T-1",
        "session_id": "s-1",
        "timestamp": "2026-06-01T12:00:00Z",
        "progress_summary": "The lexer is built; the parser is begun.",
        "files_modified": ["src/parser/lexer.py"],
        "current_branch": "t-1-lexer",
        "pending_work": "Precedence of operators.",
        "domains": ["parsing"],
    },
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """How far an agent is."""

    task_id: TaskId
    progress_summary: Annotated[Text, "what is done"]
    agent: Annotated[str | None, "whose it is"] = None
    session_id: Annotated[str | None, "the session it was made in"] = None
    timestamp: Annotated[Moment | None, "when it was made"] = None
    files_modified: Annotated[Texts, "what was changed"] = ()
    current_branch: Annotated[str | None, "where the work is"] = None
    pending_work: Annotated[TextOrTexts, "what is still to be done"] = ()
    domains: Annotated[Texts, "what one must know of to continue"] = ()
