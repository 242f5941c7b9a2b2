"""Reactions: what a forge or a build server has found, as work for whoever can mend it."""

from dataclasses import dataclass
from typing import Annotated

from postroom.model.payload import payload_type
from postroom.protocol.payloads.field import Branch, Number, PullRequest, Text, Texts


@payload_type(
    "fix_ci_failure",
    group="reactions",
    direction="build server → worker",
    meaning="A check has failed: mend it.",
    example={"pr": 12, "check": "tests", "error": "2 failed", "url": "https://ci.example.com/runs/7"},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class FixCiFailure:
    """A check that has failed."""

    check: Annotated[Text, "the check that failed"]
    pr: Annotated[Number | None, "the pull request, by its number"] = None
    error: Annotated[str | None, "what it said"] = None
    url: Annotated[str | None, "where to read more"] = None
    branch: Annotated[str | None, "the branch it ran on"] = None
    commit: Annotated[str | None, "the commit it ran on"] = None


@payload_type(
    "changes_requested",
    group="reactions",
    direction="reviewer → worker",
    meaning="A review wants changes: make them.",
    example={"pr": 12, "reviewer": "ana", "comments": ["Name the token kinds."]},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesRequested:
    """A review that wants changes."""

    pr: PullRequest
    reviewer: Annotated[str | None, "who reviewed it"] = None
    comments: Annotated[Texts, "what is wanted"] = ()
    url: Annotated[str | None, "where to read more"] = None


@payload_type(
    "merge_conflict",
    group="reactions",
    direction="forge → worker",
    meaning="A branch no longer merges: bring it up to date.",
    example={"branch": "t-1-lexer", "base": "main", "files": ["src/parser/lexer.py"], "pr": 12},
)
@dataclass(frozen=True, kw_only=True, slots=True)
class MergeConflict:
    """A branch that no longer merges."""

    branch: Branch
    base: Annotated[str | None, "what it no longer merges into"] = None
    files: Annotated[Texts, "where both sides changed something"] = ()
    pr: Annotated[Number | None, "the pull request, by its number"] = None
    url: Annotated[str | None, "where to read more"] = None
