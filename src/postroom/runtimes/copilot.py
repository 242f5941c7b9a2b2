"""GitHub Copilot CLI (1.0.102).

What it passes on stands at the top of a hook's output; nested as elsewhere it is ignored. Only at the end of
a turn does it name its record of the conversation, which is written a little late. That has what was added to
a prompt or to a tool's result; of a session's start only what the hook said, and that only if it was taken:
of a hook that died it is dropped. SessionStart and the first UserPromptSubmit come at the same time. Before a
compaction there is PreCompact, and nothing after it. Inside a
subagent the session's id is the subagent's own, and there is a Stop of its own.

When a turn ends in an error, no Stop comes; its record has `session.error`. (It runs ErrorOccurred for each
error, also for those after which it asks again.)

An idle session is woken by an extension, `copilot.js` beside this module, which watches the ring file. It
runs below the session's process, and so finds by that whose session it is.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Failure, Kind, Marks, Point, Runtime, Said, Wake, Words, text
from postroom.runtimes.shape import beat, context
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.tool import ToolFact
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_ANSWERED = ("Stop", "SubagentStop")
# What such a hook said, which is not yet what the model was given.
_HOOKS = ("userPromptSubmitted", "postToolUse", "agentStop", "subagentStart", "subagentStop")


def read(event: str, stdin: Json) -> Beat:
    """Some of its events spell their names in another way."""
    session = text(stdin, "parent_agent_id", "session_id", "sessionId")
    found = beat(event, stdin)
    source = "startup" if found.source == "new" else found.source
    return found._replace(session=session, source=source)


def failed(record: Json) -> Failure | None:
    if record.get("type") != "session.error":
        return None
    about: Json = record.get("data") or {}
    return Failure(text(about, "message"))


def say(point: Point, words: Words) -> Said:
    if point.kind is Kind.STOP or not words.text:
        return context(point, words)
    return Said(encode({"additionalContext": words.text}))


def tools(record: Json) -> "list[ToolFact]":
    from postroom.runtimes.tool import ToolFact  # noqa: PLC0415 - where tools are recorded

    about: Json = record.get("data") or {}
    if record.get("type") == "tool.execution_start":
        return [ToolFact("tool_call", about["toolCallId"], about["toolName"], about.get("arguments"))]
    if record.get("type") == "tool.execution_complete":
        result: Json = about.get("result") or {}
        given = result.get("detailedContent") or result.get("content") or about.get("error")
        return [ToolFact("tool_result", about["toolCallId"], "", given, bool(about.get("success")))]
    return []


RUNTIME = Runtime(
    name="copilot",
    title="Copilot CLI",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("UserPromptSubmit", Kind.PROMPT, _ANSWERED),
        Point("PostToolUse", Kind.TOOL, _ANSWERED),
        Point("Stop", Kind.STOP, _ANSWERED),
        Point("PreCompact", Kind.COMPACT),
        Point("SubagentStart", Kind.CHILD, _ANSWERED),
        Point("SubagentStop", Kind.CHILD_STOP),
        Point("PermissionRequest", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=say,
    session_env="COPILOT_AGENT_SESSION_ID",
    signs=("COPILOT_CLI",),
    marks=Marks(
        reply='"type":"assistant.message"',
        noise=tuple(f'"hookType":"{hook}"' for hook in _HOOKS),
        failure='"type":"session.error"',
        failed=failed,
    ),
    tools=tools,
    transcript=".copilot/session-state/{}/events.jsonl",
    wake=Wake.WATCH,
    wakes_with="--experimental",
    programs=("copilot",),
    remark="It can be woken when it is idle only if it was started with `--experimental`.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import PICKS, Composer, Dialog, Fold, Most, Profile  # noqa: PLC0415 - for terminals

    rule = r"─{20,}"
    return Profile(
        Composer(r"\u276f ?", above=rule, below=rule, most=Most(1 / 2, -2)),
        busy=(r"^ \S [^\n]* esc esc ", r"^ \S Loading: "),
        dialogs=(
            Dialog("trust", r"Do you trust the files in this folder\?", is_first=True),
            Dialog("login", r"Please use /login to sign in", is_first=True),
            Dialog("permission", r"^│ Do you want to "),
            Dialog("picker", r"enter to select · esc to c"),
            Dialog("help", r"any key close help"),
        ),
        pasted=r"\[Paste #\d+ - (?P<lines>\d+) lines\]",
        folds=Fold(lines=11),
        picks=PICKS,
        # Not half a second apart. What was asked comes back as a draft if nothing was answered yet. When idle
        # they take away what somebody has typed.
        stop=("Escape", "Escape"),
        # What is submitted at work sends a running tool to the background, so nothing is, while it works.
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    retries = r"(?:Info: [^.]*\. Retrying\.\.\.)*"
    return Acp("--acp", failed=rf"{retries}Error: (?:Failed to get response from |[45]\d\d )")


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Sandbox, Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(
        _edits, _trusted, "Start copilot in this directory, and trust it.", headless=("-p",),
        hindrance=_hindrance,
        sandbox=Sandbox("`--sandbox` (bubblewrap, slirp4netns)", *("inside, in vain",) * 2), tools=_tools,
    )  # fmt: skip


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.plugin import program  # noqa: PLC0415
    from postroom.runtimes.wiring import Edit, Purpose  # noqa: PLC0415

    folder = f"{place.project}/.github/hooks" if place.project else f"{place.user}/.copilot/hooks"
    hooks: Json = {
        point.event: [
            {"type": "command", "bash": place.commands[point.event], "timeoutSec": int(point.timeout)}
        ]
        for point in RUNTIME.points
    }
    extension = f"{place.user}/.copilot/extensions/postroom/extension.mjs"
    return [
        Edit(f"{folder}/postroom.json", {"version": 1, "hooks": hooks}, Purpose.HOOKS),
        Edit(extension, program(RUNTIME.name, place.room), Purpose.WAKE),
    ]


def _tools(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    path = f"{place.project}/.github/mcp.json" if place.project else f"{place.user}/.copilot/mcp-config.json"
    return served(path, "mcpServers", value={"type": "local", **place.tools(tools=["*"])})


def _hindrance(place: "Place", read: "Read") -> tuple[str, str] | None:
    from postroom.runtimes.wiring import loose  # noqa: PLC0415

    try:
        settings = loose(read(f"{place.user}/.copilot/settings.json"))
        is_on = bool(settings.get("sandbox", {}).get("enabled"))
    except (ValueError, AttributeError):
        return None
    why = "sandbox.enabled is set: its hooks and our tools run in there and cannot work, so no mail is shown"
    return (why, "Say /sandbox disable in copilot, or do without mail there.") if is_on else None


def _trusted(place: "Place", read: "Read") -> bool | None:
    from postroom.runtimes.wiring import is_within, loose  # noqa: PLC0415

    try:
        folders = loose(read(f"{place.user}/.copilot/config.json")).get("trustedFolders", [])
        return any(is_within(place.here, folder) for folder in folders)
    except (ValueError, AttributeError):
        return None
