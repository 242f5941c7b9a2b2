"""Claude Code (2.1.325).

Mid-turn mail is offered after a *batch* of tools: with parallel tools, an event of one tool tells nothing
of the others. While it is idle it watches the ring file (FileChanged with asyncRewake), and what that hook
says on standard error, ending with 2, begins a turn.
"""

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Kind, Marks, Point, Runtime, Said, Wake, Words
from postroom.runtimes.shape import beat
from postroom.text import encode

_ANSWERED = ("PostToolBatch", "Stop")  # events that come only after the model has answered once more
_WOKEN = ("Stop", "SubagentStop")
_NOT_TYPED = ("<task-notification>", "<cross-session-message", "[SYSTEM NOTIFICATION")
_MOST = 9_000  # of 10,000 characters: more is put into a file, of which the model gets 2 KB


def read(_event: str, stdin: Json) -> Beat:
    found = beat(stdin)
    if found.child and found.transcript and "agent_transcript_path" not in stdin:
        own = f"{found.transcript.removesuffix('.jsonl')}/subagents/agent-{found.child}.jsonl"
        found = found._replace(transcript=own)  # which only the last event of a subagent names
    return found._replace(prompt="") if found.prompt.startswith(_NOT_TYPED) else found


def say(point: Point, words: Words) -> Said:
    """Mail on a wake is what a failed hook says; elsewhere it is context, with which a stop goes on.

    The reason of a blocked stop would be shown to the model twice, once with the hook's command line.
    """
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
    marks=Marks(replies=('"type":"assistant"',), noise='"hook_success"'),
    wake=Wake.WATCH,
    programs=("claude",),
)
