"""Work that is handed out, done, merged, and decided."""

from dataclasses import dataclass
from typing import Annotated, Literal

from postroom.model.payload import payload_type, rule
from postroom.protocol.payloads.field import Branch, TaskId, Text, Texts

_FROM_OTHERS = {"task": "task_id", "files": "file_scope"}


@payload_type(
    "dispatch",
    group="work",
    direction="coordinator → lead",
    meaning="Take this task, and see that it gets done.",
    example={
        "task_id": "T-1",
        "spec_path": "specs/T-1.md",
        "capability": "builder",
        "file_scope": ["src/parser/"],
        "skip_scouts": True,
    },
    aliases=_FROM_OTHERS,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatch:
    """A task for somebody who sees that it gets done."""

    task_id: TaskId
    spec_path: Annotated[str | None, "where the task is described"] = None
    capability: Annotated[str | None, "what whoever does it must be able to do"] = None
    file_scope: Annotated[Texts, "the only files and directories it may touch"] = ()
    skip_scouts: Annotated[bool, "start at once, without looking around first"] = False
    skip_review: Annotated[bool, "merge without a review"] = False
    max_agents: Annotated[int | None, rule(minimum=1), "how many may work on it at once"] = None


@payload_type(
    "assign",
    group="work",
    direction="lead → worker",
    meaning="Do this task yourself.",
    example={
        "task_id": "T-1",
        "spec_path": "specs/T-1.md",
        "file_scope": ["src/parser/lexer.py"],
        "branch": "t-1-lexer",
    },
    aliases=_FROM_OTHERS,
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Assign:
    """A task for whoever does it."""

    task_id: TaskId
    spec_path: Annotated[str | None, "where the task is described"] = None
    capability: Annotated[str | None, "what it takes to do it"] = None
    file_scope: Annotated[Texts, "the only files and directories it may touch"] = ()
    skip_scouts: Annotated[bool, "start at once, without looking around first"] = False
    worker_name: Annotated[str | None, "who is to do it"] = None
    branch: Annotated[str | None, "the branch to work on"] = None


@payload_type(
    "worker_done",
    group="work",
    direction="worker → lead",
    meaning="The task is done, or will not be.",
    example={"task_id": "T-1", "status": "done", "summary": "The lexer is built; all tests pass."},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerDone:
    """How a task ended."""

    task_id: TaskId
    status: Annotated[str | None, "how it ended, in a word: done, failed, blocked"] = None
    summary: Annotated[str | None, "what was done, in a sentence or two"] = None
    branch: Annotated[str | None, "where the work is"] = None
    commit: Annotated[str | None, "the last commit of it"] = None
    files_modified: Annotated[Texts, "what was changed"] = ()
    exit_code: Annotated[int | None, "of the process that did it"] = None


@payload_type(
    "merge_ready",
    group="work",
    direction="worker → merger",
    meaning="This branch may be merged.",
    example={"branch": "t-1-lexer", "task_id": "T-1", "files_modified": ["src/parser/lexer.py"]},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class MergeReady:
    """A branch that may be merged."""

    branch: Branch
    task_id: Annotated[str | None, "the task it belongs to"] = None
    agent_name: Annotated[str | None, "whose work it is"] = None
    into: Annotated[str | None, "the branch to merge it into"] = None
    files_modified: Annotated[Texts, "what it changes"] = ()


@payload_type(
    "merged",
    group="work",
    direction="merger → worker",
    meaning="This branch has been merged.",
    example={"branch": "t-1-lexer", "task_id": "T-1", "commit": "4f1c2ab"},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """A branch that has been merged."""

    branch: Branch
    task_id: Annotated[str | None, "the task it belongs to"] = None
    into: Annotated[str | None, "the branch it was merged into"] = None
    commit: Annotated[str | None, "the merge commit"] = None
    tier: Annotated[str | None, "how it was merged: cleanly, by a rule, by hand"] = None


@payload_type(
    "merge_failed",
    group="work",
    direction="merger → worker",
    meaning="This branch could not be merged.",
    example={"branch": "t-1-lexer", "error_message": "conflict", "conflict_files": ["src/parser/lexer.py"]},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class MergeFailed:
    """A branch that could not be merged, and why."""

    branch: Branch
    task_id: Annotated[str | None, "the task it belongs to"] = None
    error_message: Annotated[str | None, "what went wrong"] = None
    conflict_files: Annotated[Texts, "where both sides changed something"] = ()


@payload_type(
    "escalation",
    group="work",
    direction="anyone → supervisor",
    meaning="This is beyond me: somebody above must act.",
    example={"severity": "error", "task_id": "T-1", "context": "The build host has no disk left."},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class Escalation:
    """A call for help, upwards."""

    severity: Annotated[Literal["info", "warning", "error", "critical"] | None, "how bad it is"] = None
    task_id: Annotated[str | None, "the task that suffers"] = None
    context: Annotated[str | None, "what has happened"] = None
    tried: Annotated[Texts, "what did not help"] = ()
    needed: Annotated[str | None, "what would help"] = None


@payload_type(
    "health_check",
    group="work",
    direction="supervisor → worker",
    meaning="Are you well? Answer if you are.",
    example={"agent_name": "builder", "check_type": "liveness"},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class HealthCheck:
    """A question whether an agent still works."""

    agent_name: Annotated[str | None, "who is asked about"] = None
    check_type: Annotated[str | None, "what is asked: liveness, progress"] = None
    task_id: Annotated[str | None, "what it should be working on"] = None


@payload_type(
    "decision_gate",
    group="work",
    direction="anyone → whoever decides",
    meaning="Choose one of these before work goes on.",
    example={
        "question": "Merge T-1 without a review?",
        "options": ["merge", "wait"],
        "context": "The reviewer is away until Monday.",
    },
)
@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionGate:
    """A question that needs a decision."""

    options: Annotated[tuple[Text, ...], rule(minItems=1), "what can be chosen; else approve and deny"] = ()
    question: Annotated[str | None, "what is to be decided, if the body does not say it"] = None
    context: Annotated[str | None, "what is good to know for it"] = None
    task_id: Annotated[str | None, "the task that waits"] = None
