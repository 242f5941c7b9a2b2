"""Codex CLI (0.166.0).

Its output is strict: one key that it does not know, and nothing is passed on. It has no event that comes
once for all tools of an answer, so only the end of the turn (or the transcript) proves what was shown. Its
threads may live in a shared app-server, whose process then hosts several sessions.
"""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Marks, Point, Runtime, Said, Wake, Words, text
from postroom.text import encode

_ANSWERED = ("Stop",)


def read(_event: str, stdin: Json) -> Beat:
    return Beat(
        session=text(stdin, "session_id"),
        child=text(stdin, "agent_id"),
        child_type=text(stdin, "agent_type"),
        cwd=text(stdin, "cwd"),
        transcript=text(stdin, "transcript_path"),
        source=text(stdin, "source"),
        prompt=text(stdin, "prompt"),
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
    marks=Marks(reply='"role":"assistant"'),
    wake=Wake.CALL,
    programs=("codex",),
)
