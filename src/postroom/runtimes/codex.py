"""Codex CLI (0.166.0).

Its output is strict: one key that it does not know, and nothing is passed on. It has no event that comes
once for all tools of an answer, so only the end of the turn (or the transcript) proves what was shown. Its
threads may live in a shared app-server, whose process then hosts several sessions.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Runtime, Said, Wake, Words
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_ANSWERED = ("Stop",)


def read(event: str, stdin: Json) -> Beat:
    return Beat(
        session=str(stdin.get("session_id") or ""),
        child=str(stdin.get("agent_id") or ""),
        child_type=str(stdin.get("agent_type") or ""),
        cwd=str(stdin.get("cwd") or ""),
        transcript=str(stdin.get("transcript_path") or ""),
        source=str(stdin.get("source") or ""),
        prompt=stdin.get("prompt") if event == "UserPromptSubmit" else None,
    )


def say(point: Point, words: Words) -> Said:
    if not words.text:
        return Said()
    if point.kind is Kind.STOP:
        return Said(encode({"decision": "block", "reason": words.text}))
    specific = {"hookEventName": point.event, "additionalContext": words.text}
    return Said(encode({"hookSpecificOutput": specific}))


RUNTIME = Runtime(
    name="codex",
    title="Codex",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("UserPromptSubmit", Kind.PROMPT, _ANSWERED),
        Point("PostToolUse", Kind.TOOL, _ANSWERED),
        Point("Stop", Kind.STOP, _ANSWERED),
        Point("SubagentStart", Kind.CHILD, ("SubagentStop",)),
        Point("SubagentStop", Kind.CHILD_STOP),
        Point("PermissionRequest", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    budget=9_000,
    reply='"role":"assistant"',
    wake=Wake.CALL,
    programs=("codex",),
)


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(_edits, _trusted, ("exec", "--skip-git-repo-check"), _left_to_do)


def _folder(place: "Place") -> str:
    if place.project:
        return f"{place.project}/.codex"
    return place.environment.get("CODEX_HOME") or f"{place.user}/.codex"


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import HOOKS, SANDBOX, Edit, nested  # noqa: PLC0415

    roots = {"sandbox_workspace_write": {"writable_roots": [place.room]}}
    return [
        Edit(f"{_folder(place)}/hooks.json", {"hooks": nested(RUNTIME, place)}, HOOKS),
        Edit(f"{_folder(place)}/config.toml", roots, SANDBOX),
    ]


def _left_to_do(_: "Place") -> list[str]:
    return ["codex   # it asks you to review the new hooks, once: trust them, or they are skipped in silence"]


def _trusted(place: "Place", read: "Read") -> bool | None:
    """Whether its user has reviewed our hooks. That they were not changed since, only Codex can tell."""
    import json  # noqa: PLC0415
    import tomllib  # noqa: PLC0415

    path = f"{_folder(place)}/hooks.json"
    home = place.environment.get("CODEX_HOME") or f"{place.user}/.codex"
    try:
        states = tomllib.loads(read(f"{home}/config.toml")).get("hooks", {}).get("state", {})
        groups = json.loads(read(path) or "{}").get("hooks", {})
        keys = [
            f"{path}:{_snake(event)}:{at}:0"
            for event, found in groups.items()
            for at, group in enumerate(found)
            if place.hook in str(group)
        ]
        return bool(keys) and all(
            "trusted_hash" in states.get(key, {}) and states[key].get("enabled", True) for key in keys
        )
    except (ValueError, AttributeError):
        return None


def _snake(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
