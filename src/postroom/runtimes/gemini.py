"""Gemini CLI (0.61.0). Nothing wakes it when it is idle; its timeouts are in milliseconds."""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Runtime, Said, Words, text
from postroom.text import encode

_ANSWERED = ("AfterModel", "AfterAgent")


def read(_event: str, stdin: Json) -> Beat:
    return Beat(
        session=text(stdin, "session_id"),
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
    return Said(
        encode({"hookSpecificOutput": {"hookEventName": point.event, "additionalContext": words.text}})
    )


RUNTIME = Runtime(
    name="gemini",
    title="Gemini CLI",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("BeforeAgent", Kind.PROMPT, _ANSWERED),
        Point("AfterTool", Kind.TOOL, _ANSWERED),
        Point("AfterAgent", Kind.STOP, _ANSWERED),
        Point("Notification", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    programs=("gemini", "node"),
    milliseconds=True,
)
