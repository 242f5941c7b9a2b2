"""Qwen Code (0.24.4). Its timeouts are in milliseconds.

UserPromptSubmit also comes, with an empty prompt, once after all tools of an answer: then, and only then, it
implies that the model has answered since the one before. Its transcript has what was said after a tool or
with a prompt that somebody typed, and nothing of the rest. What is said when a subagent begins is not
passed on. A prompt that is stopped before an answer is a draft again, and in no request since; the transcript
keeps it.

After an error of the API it runs StopFailure in a terminal; without one it ends, and runs no hook. Its
transcript has each refused request as `qwen-code.api_error`, also those that it makes again.

An idle one is woken through the file that it was started with (`--input-file`), if it was.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Failure, Kind, Marks, Point, Runtime, Wake, text
from postroom.runtimes.shape import beat, context
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.process import Call, Sleeper
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.tool import ToolFact
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_INPUT = "--input-file"
_ANSWERED = ("loop_detected", "max_output_tokens")  # by its model, before the turn was ended
_ERROR = "qwen-code.api_error"


def read(event: str, stdin: Json) -> Beat:
    found = beat(event, stdin)
    failure = _failure(stdin) if event == "StopFailure" else None
    return found._replace(proves=not found.prompt, failure=failure, rests=found.source == "compact")


def _failure(stdin: Json) -> Failure | None:
    if stdin.get("error") in _ANSWERED:
        return None
    return Failure(text(stdin, "last_assistant_message", "error_details", "error"))


def failed(record: Json) -> Failure | None:
    told: Json = record.get("systemPayload") or {}
    event: Json = told.get("uiEvent") or {}
    if event.get("event.name") != _ERROR:
        return None
    return Failure(text(event, "error_message"))


def call(sleeper: "Sleeper", words: str) -> "Call | None":
    """A line for the file it reads; none if it was started without one."""
    from postroom.runtimes.process import Call  # noqa: PLC0415 - for wakers

    for n, word in enumerate(sleeper.command):
        name, equals, value = word.partition("=")
        if name == _INPUT:
            path = value if equals else "".join(sleeper.command[n + 1 : n + 2])
            line = encode({"type": "submit", "text": words}) + "\n"
            return Call([], {}, path if path.startswith("/") else f"{sleeper.cwd}/{path}", line)
    return None


def tools(record: Json) -> "list[ToolFact]":
    """Of a result all that the model got: what hooks said after it cannot be told from it."""
    from postroom.runtimes.tool import ToolFact  # noqa: PLC0415 - where tools are recorded

    outcome: Json = record.get("toolCallResult") or {}
    message: Json = record.get("message") or {}
    parts: list[Json] = message.get("parts") or []
    found: list[ToolFact] = []
    ok = outcome.get("status", "success") == "success"
    for part in parts:
        if call := part.get("functionCall"):
            found.append(ToolFact("tool_call", call["id"], call["name"], call.get("args")))
        elif result := part.get("functionResponse"):
            found.append(ToolFact("tool_result", result["id"], result["name"], result.get("response"), ok))
    return found


RUNTIME = Runtime(
    name="qwen",
    title="Qwen Code",
    points=(
        Point("SessionStart", Kind.START, ("UserPromptSubmit", "Stop"), recorded=False),
        Point("UserPromptSubmit", Kind.PROMPT, ("UserPromptSubmit", "Stop"), recorded=False),
        Point("PostToolUse", Kind.TOOL, ("Stop", "SubagentStop")),
        Point("Stop", Kind.STOP, ("UserPromptSubmit", "Stop"), recorded=False),
        Point("StopFailure", Kind.FAILURE),
        Point("SubagentStart", Kind.CHILD),
        Point("SubagentStop", Kind.CHILD_STOP),
        Point("PermissionRequest", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=context,
    key="${QWEN_CODE_SESSION_ID:-p$PPID}",
    session_env="QWEN_CODE_SESSION_ID",
    signs=("QWEN_CODE",),
    marks=Marks(
        reply='"type":"assistant"', prompt='"type":"user"', failure=f'"{_ERROR}"', failed=failed, retries=True
    ),
    tools=tools,
    wake=Wake.CALL,
    call=call,
    programs=("qwen", "node"),
    crowds=("--acp", "--experimental-acp", "serve"),
    milliseconds=True,
    remark="It can be woken when it is idle only if it was started with `--input-file FILE`.",
)


_SANDBOX = "executionSandbox"


def profile() -> "Profile":
    from postroom.runtimes.screen import PICKS, Composer, Dialog, Fold, Look, Most, Profile  # noqa: PLC0415 - for terminals

    rule = r"─{20,}"
    composer = Composer(
        r"[>*] ",
        above=rule,
        below=rule,
        empty=r" *Type your message",
        ghost=(Look(foreground="38;5;103"),),
        most=Most(plus=10),
        aside=12,
    )
    return Profile(
        composer,
        busy=(r"esc to cancel",),
        dialogs=(
            Dialog("trust", r"Do you trust this folder\?", is_first=True),
            Dialog("login", r"Third-party Providers", is_first=True),
            Dialog("permission", r"Allow execution of|Apply this change\?|Waiting for user confirm"),
        ),
        pasted=r"\[Pasted Content (?P<chars>\d+) chars\]",
        folds=Fold(lines=11, chars=1001),
        picks=PICKS,
        stop=("Escape",),  # once; what was asked comes back as a draft if nothing was answered yet
        queues=True,  # it steers: it is shown with the next result of a tool
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp("--acp", also=("--experimental-acp",))


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Sandbox, Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(
        _edits, _trusted, "Start qwen in this directory, and trust it.", headless=("-p",),
        hindrance=_hindrance, tools=_tools,
        sandbox=Sandbox(f"`tools.{_SANDBOX}` (bubblewrap)", "not at all", "it does not start with both"),
    )  # fmt: skip


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, Purpose, nested  # noqa: PLC0415

    return [Edit(_settings(place), {"hooks": nested(RUNTIME, place)}, Purpose.HOOKS)]


def _tools(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    trust: Json = {"trust": True} if place.allow else {}
    return served(_settings(place), "mcpServers", value=place.tools(**trust))


def _settings(place: "Place") -> str:
    return f"{place.project or place.user}/.qwen/settings.json"


def _hindrance(place: "Place", read: "Read") -> tuple[str, str] | None:
    from postroom.runtimes.wiring import loose  # noqa: PLC0415

    path = f"{place.user}/.qwen/settings.json"
    try:
        is_set = bool(loose(read(path)).get("tools", {}).get(_SANDBOX))
    except (ValueError, AttributeError):
        return None
    why = (
        f"tools.{_SANDBOX} is set: with it no hooks are run, so no mail is shown,"
        " and with our tools it does not start"
    )
    return (why, f"Take it out of {path}, or do without mail there.") if is_set else None


def _trusted(place: "Place", read: "Read") -> bool | None:
    from postroom.runtimes.wiring import is_trusted_folder  # noqa: PLC0415

    return is_trusted_folder(place, read, f"{place.user}/.qwen", by_default=True)
