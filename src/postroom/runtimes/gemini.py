"""Gemini CLI (0.61.0). Nothing wakes it when it is idle; its timeouts are in milliseconds.

AfterModel is not used, though it would prove the most: it is awaited with every piece of a streamed answer,
and is given the whole conversation each time. The transcript, which has each answer before the tools of it
run, proves the same at the next tool or at AfterAgent, at no cost while there is no mail.

Inside a subagent its events have the same session id and nothing else: what a hook said there would be lost
to the main conversation. So nothing is offered after a tool between the call of a subagent and its end.

When it has cleared its conversation, nothing that a hook says at that start is passed on. When it goes on
with an earlier one, what a hook says at that start is overwritten by the history that it restores a moment
later. Mail is shown with the next prompt then. PreCompress comes before every request, too, with nothing
that tells when one is really compressed, so it is used only for the user's own `/compress`: what it
compresses by itself is not noticed.

A line of its transcript can replace all lines before it (`{"$set":{"messages":[…]}}`): when it restores a
history, compresses one, or takes back a prompt whose request failed.

AfterAgent also comes when a request was refused: it then has a text of its own in place of an answer. After
a tool it goes on by itself, once or twice, with a prompt of its own.
"""

from typing import TYPE_CHECKING

from postroom.model.message import Json
from postroom.runtimes.contract import Beat, Failure, Kind, Marks, Point, Runtime, text
from postroom.runtimes.shape import beat, context

if TYPE_CHECKING:
    from postroom.runtimes.acp import Acp
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.tool import ToolFact
    from postroom.runtimes.wiring import Edit, Place, Read, Wiring

_ANSWERED = ("AfterAgent",)
_SUBAGENT = "invoke_agent"  # the tool that runs one
_DEAF = ("clear", "resume")  # starts at which what a hook says is lost
_NO_ANSWER = "[no response text]"
_NOT_TYPED = "[System: "


def read(event: str, stdin: Json) -> Beat:
    lends = event == "BeforeTool" if stdin.get("tool_name") == _SUBAGENT else None
    found = beat(event, stdin)
    found = found._replace(lends=lends, heard=found.source not in _DEAF)
    if found.prompt.startswith(_NOT_TYPED):
        found = found._replace(prompt="")
    if event == "AfterAgent" and text(stdin, "prompt_response") == _NO_ANSWER:
        return found._replace(proves=False, failure=Failure("Gemini CLI got no answer from its model."))
    return found


def made(record: Json) -> bool:
    """Return True if a model made an answer just now; one of a history that is restored names no model."""
    return bool(record.get("model"))


def tools(record: Json) -> "list[ToolFact]":
    """An answer is written again when its tools have ended, with what came of them."""
    from postroom.runtimes.tool import ToolFact  # noqa: PLC0415 - where tools are recorded

    calls: list[Json] = record.get("toolCalls") or []
    found: list[ToolFact] = []
    for call in calls:
        found.append(ToolFact("tool_call", call["id"], call["name"], call.get("args")))
        if call.get("result"):
            given: Json = call["result"][0]["functionResponse"]["response"]
            if isinstance(output := given.get("output"), str):  # after it stands what hooks said
                given = {**given, "output": output.partition("\n\n<hook_context>")[0]}
            ok = call.get("status") == "success"
            found.append(ToolFact("tool_result", call["id"], call["name"], given, ok))
    return found


RUNTIME = Runtime(
    name="gemini",
    title="Gemini CLI",
    points=(
        Point("SessionStart", Kind.START, _ANSWERED),
        Point("BeforeAgent", Kind.PROMPT, _ANSWERED),
        Point("BeforeTool", Kind.LEND, matcher=_SUBAGENT),
        Point("AfterTool", Kind.TOOL, _ANSWERED),
        Point("AfterAgent", Kind.STOP, _ANSWERED),
        Point("PreCompress", Kind.COMPACT, matcher="manual"),
        Point("Notification", Kind.PERMISSION),
        Point("SessionEnd", Kind.END, timeout=1.0),
    ),
    read=read,
    say=context,
    key="${GEMINI_SESSION_ID:-p$PPID}",
    signs=("GEMINI_CLI",),
    marks=Marks(
        reply='"type":"gemini"',
        noise=('"type":"warning"', '"type":"info"'),  # for the person: what AfterAgent said is in one, too
        made=made,
        whole=("$set", "messages"),
        back="$rewindTo",
    ),
    tools=tools,
    programs=("gemini", "node"),
    crowds=("--acp", "--experimental-acp"),
    milliseconds=True,
    remark="Nothing wakes it when it is idle: its mail waits for the next prompt.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import PICKS, Composer, Dialog, Fold, Look, Most, Profile  # noqa: PLC0415 - for terminals

    composer = Composer(
        r" [>*] ",  # the second where it asks nothing (`--yolo`)
        more=r"   ",
        above=r"▄{20,}",
        below=r"▀{20,}",
        empty=r" *Type your message",
        ghost=(Look(foreground="38;5;248"),),
        most=Most(plus=10),
    )
    return Profile(
        composer,
        busy=(r"esc to cancel",),
        dialogs=(
            Dialog("trust", r"Do you trust the files in this folder\?", is_first=True),
            Dialog(
                "login",
                r"No authentication method selected|How would you like to authenticate",
                is_first=True,
            ),
            Dialog("key", r"Enter Gemini API Key", is_first=True),
            Dialog("picker", r"\(Press Esc to close\)|\(Use Enter to select\)"),
            Dialog("permission", r"Allow execution of|Apply this change\?|Do you want to proceed\?"),
        ),
        pasted=r"\[Pasted Text: (?:(?P<lines>\d+) lines|(?P<units>\d+) chars)\]",
        folds=Fold(lines=6, chars=501),
        picks=PICKS,
        stop=("Escape",),  # once; when idle it does nothing
        queues=True,
    )


def acp() -> "Acp":
    from postroom.runtimes.acp import Acp  # noqa: PLC0415 - hooks do without it

    return Acp("--acp", also=("--experimental-acp",))


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Sandbox, Wiring  # noqa: PLC0415 - hooks do without it

    return Wiring(
        _edits, _trusted, "Start gemini in this directory, and trust it.", headless=("-p",),
        sandbox=Sandbox("containers only, which were not tried"), tools=_tools,
    )  # fmt: skip


def _edits(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import Edit, Purpose, nested  # noqa: PLC0415

    return [Edit(_settings(place), {"hooks": nested(RUNTIME, place)}, Purpose.HOOKS)]


def _tools(place: "Place") -> "list[Edit]":
    from postroom.runtimes.wiring import served  # noqa: PLC0415

    trust: Json = {"trust": True} if place.allow else {}
    return served(_settings(place), "mcpServers", value=place.tools(**trust))


def _settings(place: "Place") -> str:
    return f"{place.project or place.user}/.gemini/settings.json"


def _trusted(place: "Place", read: "Read") -> bool | None:
    from postroom.runtimes.wiring import is_trusted_folder  # noqa: PLC0415

    return is_trusted_folder(place, read, f"{place.user}/.gemini")
