"""What several runtimes have in common: the way in which most name things at an event, and are answered."""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Point, Said, Words, text
from postroom.text import encode


def beat(_event: str, stdin: Json) -> Beat:
    """An event of a runtime that names its facts as Claude Code does."""
    return Beat(
        session=text(stdin, "session_id"),
        child=text(stdin, "agent_id"),
        child_type=text(stdin, "agent_type"),
        cwd=text(stdin, "cwd"),
        transcript=text(stdin, "agent_transcript_path", "transcript_path"),
        source=text(stdin, "source"),
        prompt=text(stdin, "prompt"),
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
