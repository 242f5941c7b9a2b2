"""Claude Code (2.1.325).

Mid-turn mail is offered after a *batch* of tools: with parallel tools, an event of one tool tells nothing
of the others. While it is idle it watches the ring file (FileChanged with asyncRewake), and what that hook
says on standard error, ending with 2, begins a turn.
"""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Marks, Point, Runtime, Said, Wake, Words, text
from postroom.text import encode

_ANSWERED = ("PostToolBatch", "Stop")  # events that come only after the model has answered once more
_WOKEN = ("Stop", "SubagentStop")
_NOT_TYPED = ("<task-notification>", "<cross-session-message", "[SYSTEM NOTIFICATION")
_MOST = 9_000  # of 10,000 characters: more is put into a file, of which the model gets 2 KB


def read(_event: str, stdin: Json) -> Beat:
    child, transcript = text(stdin, "agent_id"), text(stdin, "transcript_path")
    if child and transcript:  # which has a file of its own, though only its last event names it
        transcript = f"{transcript.removesuffix('.jsonl')}/subagents/agent-{child}.jsonl"
    return Beat(
        session=text(stdin, "session_id"),
        child=child,
        child_type=text(stdin, "agent_type"),
        cwd=text(stdin, "cwd"),
        transcript=text(stdin, "agent_transcript_path") or transcript,
        source=text(stdin, "source"),
        prompt="" if (prompt := text(stdin, "prompt")).startswith(_NOT_TYPED) else prompt,
    )


def say(point: Point, words: Words) -> Said:
    """Context makes a turn that is about to end go on, too; a `reason` would reach the model twice."""
    if point.kind is Kind.WAKE:
        return Said(stderr=words.text, code=2) if words.text else Said()
    specific: Json = {"hookEventName": point.event}
    if words.text:
        specific["additionalContext"] = words.text
    if words.watch:
        specific["watchPaths"] = [words.watch]
    return Said(encode({"hookSpecificOutput": specific})) if len(specific) > 1 else Said()


RUNTIME = Runtime(
    name="claude",
    title="Claude Code",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("UserPromptSubmit", Kind.PROMPT, _ANSWERED),
        Point("PostToolBatch", Kind.TOOL, _ANSWERED),
        Point("Stop", Kind.STOP, _ANSWERED),
        Point("FileChanged", Kind.WAKE, _WOKEN),
        Point("SubagentStart", Kind.CHILD, ("PostToolBatch", "SubagentStop")),
        Point("SubagentStop", Kind.CHILD_STOP, ("PostToolBatch", "SubagentStop")),
        Point("Notification", Kind.PERMISSION, matcher="permission_prompt"),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    key="${CLAUDE_CODE_SESSION_ID:-p$PPID}",
    session_env="CLAUDE_CODE_SESSION_ID",
    budget=_MOST,
    marks=Marks(reply='"type":"assistant"', noise='"hook_success"'),
    wake=Wake.WATCH,
    programs=("claude",),
)
