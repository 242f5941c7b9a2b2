"""Claude Code (2.1.325).

Mid-turn mail is offered after a *batch* of tools: with parallel tools, an event of one tool tells nothing
of the others. While it is idle it watches the ring file (FileChanged with asyncRewake), and what that hook
says on standard error, ending with 2, begins a turn.

After an error of the API it writes a line of its own into the transcript, as of an assistant: its model is
`<synthetic>`, and for an error `isApiErrorMessage` is true, with `apiErrorStatus`. It writes such a line in
other cases, too ("No response requested."). None of them is an answer.
"""

from typing import TYPE_CHECKING, Any, cast

from postroom.model.message import Json
from postroom.runtimes.contract import (
    Beat,
    Failure,
    Kind,
    Marks,
    Point,
    Runtime,
    Said,
    Wake,
    Words,
    text,
)
from postroom.text import encode

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.process import Call, Sleeper
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.stream import Meaning, Stream
    from postroom.runtimes.tool import ToolFact
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_ANSWERED = ("PostToolBatch", "Stop")  # events that come only after the model has answered once more
_WOKEN = ("Stop", "SubagentStop")
_NOT_TYPED = ("<task-notification>", "<cross-session-message", "[SYSTEM NOTIFICATION")
_MARKET, _PLUGIN = "postroom-local", "postroom@postroom-local"
_HOOKS = "plugins/postroom/hooks/hooks.json"  # in the marketplace
_COMMAND = "claude plugin"
_NO_MODEL = "<synthetic>"
_MOST = 9_000  # of 10,000 characters: more is put into a file, of which the model gets 2 KB


def read(event: str, stdin: Json) -> Beat:
    child, transcript = text(stdin, "agent_id"), text(stdin, "transcript_path")
    if child and transcript:  # which has a file of its own, though only its last event names it
        transcript = f"{transcript.removesuffix('.jsonl')}/subagents/agent-{child}.jsonl"
    return Beat(
        session=text(stdin, "session_id"),
        child=child,
        child_type=text(stdin, "agent_type"),
        cwd=text(stdin, "cwd"),
        transcript=text(stdin, "agent_transcript_path") or transcript,
        source=(source := text(stdin, "source")),
        rests=source == "compact",
        prompt="" if (prompt := text(stdin, "prompt")).startswith(_NOT_TYPED) else prompt,
        failure=_failure(stdin) if event == "StopFailure" else None,
    )


def _failure(stdin: Json) -> Failure | None:
    """None where the model has answered, and only at too great a length."""
    if stdin.get("error") == "max_output_tokens":
        return None
    return Failure(text(stdin, "last_assistant_message", "error_details", "error"))


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


def call(sleeper: "Sleeper", words: str) -> "Call | None":
    """By the socket at which its sessions talk to each other: sooner than by its watch, and undocumented."""
    from postroom.runtimes.process import Call  # noqa: PLC0415 - for wakers

    line = encode({"type": "user", "message": {"role": "user", "content": words}})
    return Call([], {}, sleeper.socket, f"{line}\n", is_socket=True) if sleeper.socket else None


def made(record: Json) -> bool:
    """Whether a model made an answer, and not Claude Code itself."""
    message: Json = record.get("message") or {}
    return message.get("model") != _NO_MODEL and not record.get("isApiErrorMessage")


def failed(record: Json) -> Failure | None:
    if record.get("isApiErrorMessage") is not True:
        return None
    if record.get("error") == "max_output_tokens":
        return None
    return Failure(_shown(record.get("message") or {}))


def tools(record: Json) -> "list[ToolFact]":
    from postroom.runtimes.tool import ToolFact  # noqa: PLC0415 - where tools are recorded

    message: Json = record.get("message") or {}
    content: Any = message.get("content")
    found: list[ToolFact] = []
    for part in cast("list[Json]", content) if isinstance(content, list) else ():
        if part["type"] == "tool_use":
            found.append(ToolFact("tool_call", part["id"], part["name"], part["input"]))
        elif part["type"] == "tool_result":
            ok = not part.get("is_error")
            found.append(ToolFact("tool_result", part["tool_use_id"], "", part.get("content"), ok))
    return found


RUNTIME = Runtime(
    name="claude",
    title="Claude Code",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("UserPromptSubmit", Kind.PROMPT, _ANSWERED),
        Point("PostToolBatch", Kind.TOOL, (*_ANSWERED, "SubagentStop")),  # the last of a subagent's own
        Point("Stop", Kind.STOP, _ANSWERED),
        Point("StopFailure", Kind.FAILURE),
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
    signs=("CLAUDECODE", "AI_AGENT"),
    budget=_MOST,
    marks=Marks(
        reply='"type":"assistant"',
        amid=('"type":"tool_result"', '"stop_reason":"tool_use"'),
        interruption="[Request interrupted by user",
        noise=('"hook_success"',),
        queue='"queue-operation"',
        made=made,
        failure='"isApiErrorMessage":true',
        failed=failed,
        prompt='"type":"user"',
        parent="parentUuid",
    ),
    tools=tools,
    wake=Wake.WATCH,
    call=call,
    socket_env="CLAUDE_CODE_MESSAGING_SOCKET",
    programs=("claude",),
)


def profile() -> "Profile":
    from postroom.runtimes.screen import Composer, Dialog, Fold, Look, Most, Profile  # noqa: PLC0415 - for terminals

    rule = r"─{20,}"
    menu = r"^ *\u276f (?:\d\. |No|Yes|✔)[^\n]*\n(?:.*\n)*? *(?:Enter to|Esc to) "
    return Profile(
        Composer(r"\u276f[\u00a0 ]", above=rule, below=rule, ghost=(Look(dim=True),), most=Most(1 / 2, -5)),
        busy=(r"esc to interrupt", r"^[✻✽✢✳✶·*] \S.*…(?: \(.*)? *$"),  # with a draft only the second is shown
        dialogs=(
            Dialog("trust", r"Yes, I trust this folder", is_first=True),
            Dialog("key", r"Do you want to use this API key\?", is_first=True),
            Dialog("bypass", r"Yes, I accept\b", is_first=True),
            Dialog("theme", r"Choose the text style|Press Enter to continue…", is_first=True),
            Dialog("login", r"Select login method", is_first=True),
            Dialog("permission", r"^ Do you want to [^\n]*\n(?:.*\n)*? *\u276f *\d\. "),
            Dialog("question", r"Enter to select · "),
            Dialog(
                "agents", r"describe a task for a new session| · enter to return · "
            ),  # starts another agent
            Dialog("picker", menu),
        ),
        pasted=r"\[Pasted text #\d+(?: \+(?P<breaks>\d+) lines)?\]",
        folds=Fold(lines=4, chars=801),
        bare=400,
        # Once. What was asked comes back as a draft if nothing was answered yet, and what was queued begins.
        # When idle once does nothing, twice opens a list of what to go back to.
        stop=("Escape",),
        deaf=(
            r"^  -- (?:VISUAL|NORMAL)",
        ),  # normal mode shows nothing now, and takes a paste and Enter as ever
        queues=True,
    )


def stream() -> "Stream":
    from postroom.runtimes.stream import Stream  # noqa: PLC0415 - for who speaks to it so

    return Stream(
        arguments=(
            ("-p",), ("--input-format", "stream-json"), ("--output-format", "stream-json"), ("--verbose",),
            ("--replay-user-messages",),  # else nothing tells when a text was taken in
        ),
        say=_say_line,
        stop=_stop_line,
        read=_meaning,
        answer=_answer_line,
    )  # fmt: skip


def _say_line(id: str, words: str) -> Json:
    return {"type": "user", "uuid": id, "message": {"role": "user", "content": words}}


def _stop_line(id: str) -> Json:
    return {"type": "control_request", "request_id": id, "request": {"subtype": "interrupt"}}


def _answer_line(asked: Json, yes: bool) -> Json:
    """A yes gives back what it wants to do, as it was asked."""
    wanted = _object(_object(asked, "request"), "input")
    said = (
        {"behavior": "allow", "updatedInput": wanted}
        if yes
        else {"behavior": "deny", "message": "Nobody allowed it."}
    )
    done: Json = {"subtype": "success", "request_id": text(asked, "request_id"), "response": said}
    return {"type": "control_response", "response": done}


def _meaning(line: Json) -> "Meaning":
    """What a subagent says is nothing to us, nor is what Claude Code says in place of a model that failed."""
    from postroom.runtimes.stream import Meaning, Sign  # noqa: PLC0415

    message = _object(line, "message")
    match line.get("type"):
        case "system" if line.get("subtype") == "init":
            return Meaning(Sign.BEGUN)
        case "user" if line.get("isReplay"):
            return Meaning(Sign.TAKEN, text(line, "uuid"))
        case "assistant" if not line.get("parent_tool_use_id") and message.get("model") != _NO_MODEL:
            return Meaning(Sign.ANSWERED, text(message, "id"), _shown(message))
        case "result" if line.get("is_error") and line.get("subtype") == "success":  # so it tells of its API
            return Meaning(Sign.FAILED, words=text(line, "result") or "its turn ended in an error")
        case "result":
            return Meaning(Sign.ENDED)
        case _:
            return _control(line)


def _shown(message: Json) -> str:
    content: Any = message.get("content")
    parts = cast("list[Json]", content) if isinstance(content, list) else []
    return "\n".join(filter(None, (text(part, "text", "name") for part in parts)))


def _control(line: Json) -> "Meaning":
    from postroom.runtimes.stream import Meaning, Sign  # noqa: PLC0415

    request = _object(line, "request")
    match line.get("type"):
        case "control_request" if request.get("subtype") == "can_use_tool":
            from json import dumps  # noqa: PLC0415 - where it asks

            wanted = dumps(_object(request, "input"), ensure_ascii=False, indent=1)
            return Meaning(Sign.ASKS, text(line, "request_id"), text(request, "tool_name"), wanted)
        case "control_cancel_request":
            return Meaning(Sign.ASKS_NO_MORE, text(line, "request_id"))
        case "control_response":
            return Meaning(Sign.STOPPED, text(_object(line, "response"), "request_id"))
        case _:
            return Meaning(Sign.NOTHING)


def _object(line: Json, name: str) -> Json:
    found = line.get(name)
    return cast("Json", found) if isinstance(found, dict) else {}


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp(adapter="claude-agent-acp", package="@agentclientprotocol/claude-agent-acp")


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Sandbox, Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(
        _edits, _trusted, "Start claude in this directory, and trust it.", headless=("-p",),
        left_to_do=_left_to_do, left_to_undo=_left_to_undo, hook_files=_hook_files,
        sandbox=Sandbox("`sandbox.enabled` (bubblewrap, socat)", "outside", "outside"), tools=_tools,
    )  # fmt: skip


def _folder(place: "Place") -> str:
    return f"{place.project}/.claude" if place.project else _own(place)


def _own(place: "Place") -> str:
    return place.environment.get("CLAUDE_CONFIG_DIR") or f"{place.user}/.claude"


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, Purpose  # noqa: PLC0415

    # What names paths of this machine is nothing to share with others who have the project.
    settings = f"{_folder(place)}/{'settings.local.json' if place.project else 'settings.json'}"
    edits = _plugin(place) if place.plugin else [Edit(settings, {"hooks": _hooks(place)}, Purpose.HOOKS)]
    edits.append(Edit(settings, {"sandbox": {"filesystem": {"allowWrite": [place.room]}}}, Purpose.SANDBOX))
    if place.allow:
        edits.append(Edit(settings, {"permissions": {"allow": ["Bash(postroom:*)"]}}, Purpose.ALLOW))
    return edits


def _tools(place: "Place") -> "list[Edit]":
    """In its own file, also for one project: what is in the project's `.mcp.json` is for all who have it."""
    from postroom.runtimes.wiring import Edit, Purpose, served  # noqa: PLC0415

    base = place.environment.get("CLAUDE_CONFIG_DIR") or place.user
    where = ("projects", place.project) if place.project else ()
    edits = served(f"{base}/.claude.json", *where, "mcpServers", value={"type": "stdio", **place.tools()})
    if place.allow:
        settings = f"{_folder(place)}/{'settings.local.json' if place.project else 'settings.json'}"
        edits.append(Edit(settings, {"permissions": {"allow": ["mcp__postroom"]}}, Purpose.ALLOW))
    return edits


def _hooks(place: "Place") -> Json:
    from postroom.runtimes.wiring import nested  # noqa: PLC0415

    hooks = nested(RUNTIME, place)
    for group in hooks["FileChanged"]:
        for command in group["hooks"]:
            command["asyncRewake"] = True
    return hooks


def _plugin(place: "Place") -> "list[Edit]":
    """A marketplace of one plugin, which Claude Code reads where it lies."""
    from postroom.runtimes.wiring import Edit, Purpose, pretty  # noqa: PLC0415

    about = "Mail for agents: what others write to this agent is shown to it."
    plugin = {"name": "postroom", "description": about}
    listed = {**plugin, "source": "./plugins/postroom"}
    market = {"name": _MARKET, "owner": {"name": "Postroom"}, "plugins": [listed]}
    inner = f"{place.plugin}/plugins/postroom"
    return [
        Edit(f"{place.plugin}/.claude-plugin/marketplace.json", pretty(market), Purpose.MARKETPLACE),
        Edit(f"{inner}/.claude-plugin/plugin.json", pretty({**plugin, "version": "1.0.0"}), Purpose.MANIFEST),
        Edit(f"{place.plugin}/{_HOOKS}", pretty({"hooks": _hooks(place)}), Purpose.HOOKS),
    ]


def _installed(place: "Place", read: "Read") -> tuple[str, bool, bool]:
    """What Claude Code knows of the plugin: where its marketplace lies; is it installed; is it enabled."""
    from postroom.runtimes.wiring import loose  # noqa: PLC0415

    own = _own(place)
    try:
        markets = loose(read(f"{own}/plugins/known_marketplaces.json"))
        plugins = loose(read(f"{own}/plugins/installed_plugins.json"))
        enabled = loose(read(f"{own}/settings.json")).get("enabledPlugins", {})
        where = str(markets.get(_MARKET, {}).get("source", {}).get("path") or "")
        return where, _PLUGIN in plugins.get("plugins", {}), enabled.get(_PLUGIN) is not False
    except (ValueError, AttributeError):
        return "", False, True


def _left_to_do(place: "Place", read: "Read") -> list[str]:
    if not place.plugin:
        return []
    from shlex import quote  # noqa: PLC0415

    where, is_installed, is_enabled = _installed(place, read)
    add, install = f"{_COMMAND} marketplace add {quote(place.plugin)}", f"{_COMMAND} install {_PLUGIN}"
    if where != place.plugin:
        return [*([f"{_COMMAND} marketplace remove {_MARKET}"] if where else []), add, install]
    if not is_installed:
        return [install]
    return [] if is_enabled else [f"{_COMMAND} enable {_PLUGIN}"]


def _left_to_undo(place: "Place", read: "Read") -> list[str]:
    where, is_installed, _ = _installed(place, read)
    if not place.plugin or where != place.plugin:
        return []
    uninstall = [f"{_COMMAND} uninstall {_PLUGIN}"] if is_installed else []
    return [*uninstall, f"{_COMMAND} marketplace remove {_MARKET}"]


def _hook_files(place: "Place", read: "Read") -> list[str]:
    """Those of the plugin, while it is installed and enabled: it is read where it lies."""
    where, is_installed, is_enabled = _installed(place, read)
    return [f"{where}/{_HOOKS}"] if where and is_installed and is_enabled else []


def _trusted(place: "Place", read: "Read") -> bool | None:
    """Whether hooks run in its terminal here: only in a directory that its user has trusted."""
    import json  # noqa: PLC0415
    import os  # noqa: PLC0415

    base = place.environment.get("CLAUDE_CONFIG_DIR") or place.user
    try:
        projects = json.loads(read(f"{base}/.claude.json") or "{}").get("projects", {})
        here = place.here
        while True:
            if projects.get(here, {}).get("hasTrustDialogAccepted"):
                return True
            above = os.path.dirname(here)
            if above == here:
                return False
            here = above
    except (ValueError, AttributeError, RecursionError):
        return None
