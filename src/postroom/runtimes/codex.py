"""Codex CLI (0.166.0).

Its output is strict: one key that it does not know, and nothing is passed on. It has no event that comes
once for all tools of an answer, so only the end of the turn (or the transcript, which has what was said at
once) proves what was shown; a tool may end while its answer is still written, so what was said after a tool
is proven by an answer after that tool's result.

In a terminal its threads live in a server that they share, whose process then hosts several sessions; its
hooks do not name the session in their environment. A subagent has its own transcript, and no Stop.
"""

from postroom.runtimes.contract import Call, Kind, Marks, Point, Runtime, Sleeper, Wake
from postroom.runtimes.shape import beat, context

_ANSWERED = ("Stop", "SubagentStop")
_KEPT = ("HOME", "PATH", "TMPDIR")  # what its command line needs of the session's environment
_SESSIONS = "/sessions/"  # the transcripts lie below this in its own directory
_HEADLESS = ("exec", "e", "review")


def call(sleeper: Sleeper, text: str) -> Call | None:
    """Its own queue: an idle thread takes it at once, and the draft of whoever types there stays."""
    home, found, _ = sleeper.transcript.rpartition(_SESSIONS)
    if not found or sleeper.command[1:2] in ([word] for word in _HEADLESS):
        return None
    env = {name: sleeper.env[name] for name in _KEPT if name in sleeper.env} | {"CODEX_HOME": home}
    return Call([sleeper.program, "queue", "--thread", sleeper.session, "--message", text], env)


RUNTIME = Runtime(
    name="codex",
    title="Codex",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("UserPromptSubmit", Kind.PROMPT, _ANSWERED),
        Point("PostToolUse", Kind.TOOL, _ANSWERED),
        Point("Stop", Kind.STOP, _ANSWERED),
        Point("SubagentStart", Kind.CHILD, _ANSWERED),
        Point("SubagentStop", Kind.CHILD_STOP),
        Point("PermissionRequest", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=beat,
    say=context,
    session_env="CODEX_THREAD_ID",
    budget=9_000,
    marks=Marks(
        reply='"role":"assistant"',
        acts=('"type":"function_call"', '"type":"custom_tool_call"', '"type":"reasoning"'),
        result='_call_output"',
        turn=('"type":"task_started"', '"type":"task_complete"', '"type":"turn_aborted"'),
    ),
    wake=Wake.CALL,
    call=call,
    programs=("codex",),
    remark="Its hooks run only after they were reviewed: it asks at its next start.",
)
