"""What several runtimes have in common: the way in which most name things at an event, and are answered."""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Said, Words
from postroom.text import encode


def beat(stdin: Json, prompt: str | None = None) -> Beat:
    """An event of a runtime that names its facts as Claude Code does."""
    return Beat(
        session=str(stdin.get("session_id") or ""),
        child=str(stdin.get("agent_id") or ""),
        child_type=str(stdin.get("agent_type") or ""),
        cwd=str(stdin.get("cwd") or ""),
        transcript=str(stdin.get("agent_transcript_path") or stdin.get("transcript_path") or ""),
        source=str(stdin.get("source") or ""),
        prompt=prompt,
    )


def context(point: Point, words: Words) -> Said:
    """At a stop, a reason to go on; elsewhere what is added to the conversation."""
    if not words.text:
        return Said()
    if point.kind is Kind.STOP:
        return Said(encode({"decision": "block", "reason": words.text}))
    specific = {"hookEventName": point.event, "additionalContext": words.text}
    return Said(encode({"hookSpecificOutput": specific}))


def nothing(_point: Point, _words: Words) -> Said:
    """For a runtime that shows its model nothing of what a hook prints."""
    return Said()
