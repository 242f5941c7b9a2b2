"""Codex CLI (0.166.0).

Its output is strict: one key that it does not know, and nothing is passed on. It has no event that comes
once for all tools of an answer, so only the end of the turn (or the transcript, which has what was said at
once) proves what was shown; a tool may end while its answer is still written, so what was said after a tool
is proven by an answer after that tool's result.

In a terminal its threads live in a server that they share, whose process then hosts several sessions; its
hooks do not name the session in their environment, which is that of the terminal that started the server. A
minute after a thread's terminal was closed, or shows another, the thread's SessionEnd comes. A subagent has
its own transcript, and no Stop.

No hook is run when a turn ends in an error: only its transcript tells, by a `task_complete` with an `error`.
"""

import os
from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Failure, Kind, Marks, Point, Runtime, Wake, text
from postroom.runtimes.shape import beat, context

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.process import Call, Daemon, Sleeper
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.tool import ToolFact
    from postroom.runtimes.wiring import Edit, Place, Read, Reviews, Wiring

_ANSWERED = ("Stop", "SubagentStop")
_SESSIONS = "/sessions/"  # the transcripts lie below this in its own directory
_HEADLESS = ("exec", "e", "review")
_SERVER, _SHARED = "app-server", "--managed-daemon"
_NO_TERMINAL = (*_HEADLESS, _SERVER, "mcp-server", "queue", "login", "mcp", "sandbox", "apply")


def failed(record: Json) -> Failure | None:
    said: Json = record.get("payload") or {}
    error: Json | None = said.get("error")
    if said.get("type") != "task_complete" or not error:
        return None
    return Failure(text(error, "message"))


def call(sleeper: "Sleeper", words: str) -> "Call | None":
    """Its own queue: an idle thread takes it at once, and the draft of whoever types there stays."""
    from postroom.runtimes.process import Call  # noqa: PLC0415 - for wakers

    home, found, _ = sleeper.transcript.rpartition(_SESSIONS)
    if not found or not sleeper.program or sleeper.command[1:2] in ([word] for word in _HEADLESS):
        return None
    if sleeper.command[1:2] == [_SERVER] and _SHARED not in sleeper.command:
        return None  # a server of one program's own, which has no queue that others could reach
    own = sleeper.env.get("CODEX_HOME") or os.path.join(sleeper.env.get("HOME", ""), ".codex")
    if os.path.realpath(home) != os.path.realpath(own):
        return None  # its configuration is not the caller's, and would be run
    return Call([sleeper.program, "queue", "--thread", sleeper.session, "--message", words], sleeper.env)


def shows(command: list[str], cwd: str) -> str:
    """Where a `codex` works, if it is one that shows threads in a terminal."""
    if command[1:2] in ([word] for word in _NO_TERMINAL):
        return ""
    for at, word in enumerate(command):
        if word in ("-C", "--cd") and at + 1 < len(command):
            return os.path.join(cwd, command[at + 1])
        if word.startswith("--cd="):
            return os.path.join(cwd, word[5:])
    return cwd


def daemon() -> "Daemon":
    from postroom.runtimes.process import Daemon  # noqa: PLC0415 - once in a session

    return Daemon(_SHARED, "CODEX_HOME", shows)


def tools(record: Json) -> "list[ToolFact]":
    from postroom.runtimes.tool import ToolFact  # noqa: PLC0415 - where tools are recorded

    item: Json = record.get("payload") or {}
    kind = item.get("type")
    if kind in ("function_call", "custom_tool_call"):
        given = item.get("arguments", item.get("input"))
        return [ToolFact("tool_call", item["call_id"], item["name"], {"text": given})]
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [ToolFact("tool_result", item["call_id"], "", item.get("output"))]
    return []


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
        failure='"type":"task_complete"',
        failed=failed,
    ),
    tools=tools,
    wake=Wake.CALL,
    call=call,
    programs=("codex",),
    daemon=daemon,
    server="codex",
    meta="sessionId",
    remark="It runs our hooks once you have reviewed them, and its commands in a login shell.",
)


_WORKSPACE = 'sandbox_mode="workspace-write"'
_TRUST = "Start codex: it asks you to review the hooks, once. Trust them, or it skips them in silence."


def profile() -> "Profile":
    from postroom.runtimes.screen import PICKS, Composer, Dialog, Fold, Look, Most, Profile  # noqa: PLC0415 - for terminals

    # The line below has the model. While it starts and may still ask, only `? for shortcuts` is there.
    composer = Composer(
        r"\u203a ",
        below=r"  \S.* · ",
        empty=r"\S",
        prompt=Look(dim=False),
        ghost=(Look(dim=True),),
        most=Most(2 / 3, -4),
    )
    return Profile(
        composer,
        busy=(r"esc to interrupt",),
        dialogs=(
            Dialog("trust", r"Trust this folder\?", is_first=True),
            Dialog("hooks", r"Hooks need review", is_first=True),
            Dialog("login", r"^[> ] 1\. Sign in with ", is_first=True),
            Dialog("update", r"^  Update available · ", is_first=True),
            Dialog("permission", r"Would you like to [^\n]*\n|Press enter to confirm"),
            Dialog("agents", r"enter open  n new"),
            Dialog(
                "picker",
                r"^ *(?:enter(?:/tab)? (?:select|continue|confirm|insert)|Browsing transcript) · ",
            ),
        ),
        pasted=r"\[Pasted Content (?P<chars>\d+) chars\]",
        folds=Fold(chars=1001),
        picks=PICKS,
        # Once. When idle once asks for a second, which opens the transcript to go back in.
        stop=("Escape",),
        queues=True,  # what is submitted meanwhile waits for the end of the tool
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp(adapter="codex-acp", package="@zed-industries/codex-acp")


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Sandbox, Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(
        _edits, _trusted, _TRUST, skips=True, headless=("exec", "--skip-git-repo-check"),
        left_to_do=_left_to_do, confined=_confined, reviews=_reviews,
        sandbox=Sandbox("`workspace-write`", "outside", "outside"), login_shell=True, tools=_tools,
    )  # fmt: skip


def _left_to_do(place: "Place", read: "Read") -> list[str]:
    return [] if _trusted(place, read) else [_TRUST]


def _folder(place: "Place") -> str:
    if place.project:
        return f"{place.project}/.codex"
    return place.environment.get("CODEX_HOME") or f"{place.user}/.codex"


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, Purpose, nested  # noqa: PLC0415

    roots = {"sandbox_workspace_write": {"writable_roots": [place.room]}}
    return [
        Edit(f"{_folder(place)}/hooks.json", {"hooks": nested(RUNTIME, place)}, Purpose.HOOKS),
        Edit(f"{_folder(place)}/config.toml", roots, Purpose.SANDBOX),
    ]


def _tools(place: "Place") -> "list[Edit]":
    """It passes few variables on, so those that say who calls are named."""
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    more: Json = {"env_vars": ["POSTROOM_AGENT", "POSTROOM_TOKEN", "POSTROOM_PROJECT"]}
    if place.allow:
        more["default_tools_approval_mode"] = "approve"
    return served(f"{_folder(place)}/config.toml", "mcp_servers", value=place.tools(**more))


def _confined(place: "Place", read: "Read") -> tuple[str, ...]:
    """As its settings have it; where they say nothing, as it is in a trusted directory."""
    import tomllib  # noqa: PLC0415

    home = place.environment.get("CODEX_HOME") or f"{place.user}/.codex"
    try:
        settings = tomllib.loads(read(f"{home}/config.toml"))
    except ValueError:
        settings = {}
    mode = () if {"sandbox_mode", "default_permissions"} & settings.keys() else ("-c", _WORKSPACE)
    return ("sandbox", *mode, "--")


def _trusted(place: "Place", read: "Read") -> bool | None:
    """Whether its user has reviewed our hooks. That they were not changed since, only Codex can tell."""
    import tomllib  # noqa: PLC0415

    path, _, keys = _reviews(place, read)
    try:
        states = tomllib.loads(read(path)).get("hooks", {}).get("state", {})
        return bool(keys) and all(
            "trusted_hash" in states.get(key, {}) and states[key].get("enabled", True) for key in keys
        )
    except (ValueError, AttributeError, RecursionError):
        return None


def _reviews(place: "Place", read: "Read") -> "Reviews":
    """Each of our hooks by the name that Codex gives it: its file, its event, and its place among others."""
    import json  # noqa: PLC0415

    from postroom.runtimes.wiring import Reviews  # noqa: PLC0415

    path = f"{_folder(place)}/hooks.json"
    home = place.environment.get("CODEX_HOME") or f"{place.user}/.codex"
    try:
        groups = json.loads(read(path) or "{}").get("hooks", {})
        keys = [
            f"{path}:{_snake(event)}:{at}:0"
            for event, found in groups.items()
            for at, group in enumerate(found)
            if place.hook in str(group)
        ]
    except (ValueError, AttributeError, TypeError, RecursionError):
        keys = []
    return Reviews(f"{home}/config.toml", ("hooks", "state"), keys)


def _snake(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
